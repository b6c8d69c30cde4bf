/** What both node-backed forms of FsOps share: how a mode is spelled to the system, how its answers are read. */
import { type BigIntStats, constants, type Dirent } from "node:fs";
import type { FileAccess, FileStat, FolderEntry, OpenMode } from "./fs-ops.js";

// Absent on Windows, where neither symbolic links nor pipes turn up under such names.
const noFollow = constants.O_NOFOLLOW ?? 0;
/** A pipe in a workspace would otherwise hold the opener until somebody writes to it. */
const noWait = constants.O_NONBLOCK ?? 0;

/** For syncing a folder: a file under its name is refused, instead of synced in its place. */
export const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0);

export function openFlags(mode: OpenMode): number {
  switch (mode.kind) {
    case "read":
      return constants.O_RDONLY | noFollow | noWait;
    case "create-exclusive":
      return (
        constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | noFollow
      );
    case "append":
      return constants.O_RDWR | constants.O_APPEND | noFollow | noWait;
    case "append-create":
      return constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow | noWait;
    case "cut":
      return constants.O_RDWR | noFollow | noWait;
  }
}

/** Permission bits at creation: a staged file is never open to more people than its target, not even for a moment. */
export function creationMode(mode: OpenMode): number {
  return mode.kind === "create-exclusive" && mode.access !== undefined
    ? mode.access.mode & 0o777
    : 0o666;
}

export function toFileStat(stats: BigIntStats): FileStat {
  return {
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    modifiedMs: Number(stats.mtimeMs),
    identity: `${stats.dev}:${stats.ino}`,
    access: {
      mode: Number(stats.mode) & 0o7777,
      userId: Number(stats.uid),
      groupId: Number(stats.gid),
    },
  };
}

export function toFolderEntry(entry: Dirent): FolderEntry {
  return { name: entry.name, kind: kindOf(entry) };
}

/** What still has to change so that a file just created is as accessible as `wanted`. */
export function accessChanges(
  wanted: FileAccess,
  found: FileAccess,
): { readonly owner: boolean; readonly mode: boolean } {
  const owner = wanted.userId !== found.userId || wanted.groupId !== found.groupId;
  // Giving a file away clears some bits, so the mode is set again after that.
  return { owner, mode: owner || wanted.mode !== found.mode };
}

export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Some network file systems take the call and answer that folders are nothing to sync. */
export function foldersNeverSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(errnoOf(error) ?? "");
}

interface Kinds {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

function kindOf(of: Kinds): FileStat["kind"] {
  if (of.isFile()) return "file";
  if (of.isDirectory()) return "directory";
  return of.isSymbolicLink() ? "symlink" : "other";
}
