/** What a person names on a command line, turned into roots: folders, or one file with its neighbours. */
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LastgoodError } from "../../shared/base/errors.js";
import { visibleText } from "../../shared/base/text.js";
import type { ScanRoot } from "./collect-evidence.js";
import { errnoOf, sayErrno } from "./file-reading.js";

export interface NamedRoot extends ScanRoot {
  /** The one file whose findings are asked for; undefined: all. */
  readonly only: string | undefined;
}

/**
 * Errors: `not-found`, `not-permitted` or `io-failed` when the path cannot be looked at; `not-a-file` for a pipe,
 * socket or device.
 */
export async function toRoot(path: string): Promise<NamedRoot> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return { folder: path, name: withoutEndSlash(path), only: undefined };
    if (found.isFile()) return fileRoot(path);
  } catch (error) {
    // A document that is gone is a finding, not a wrong word, as long as its versions are there.
    if (errnoOf(error) === "ENOENT" && (await hasVersionsFolder(path))) return onlyFile(path);
    throw explained(path, error);
  }
  throw new LastgoodError(
    "not-a-file",
    `${visibleText(path)} is neither a file nor a folder: it is not read, since reading it could wait for ever.`,
    { subject: path },
  );
}

/** `runs/` and `runs` are one root, and finding ids must not depend on how a shell completed the name. */
function withoutEndSlash(path: string): string {
  return path.replace(/(?<=.)\/+$/, "");
}

async function fileRoot(path: string): Promise<NamedRoot> {
  // A link named by a person is followed: its neighbours are those of the file it leads to.
  const isLink = (await lstat(path)).isSymbolicLink();
  const file = isLink ? await realpath(path) : path;
  const name = basename(file);
  const folder = dirname(file);
  return { folder, name: folder, only: name, wants: neighboursOf(name) };
}

const copyFolders: ReadonlySet<string> = new Set([
  "backup",
  "backups",
  "version",
  "versions",
  "history",
  "snapshot",
  "snapshots",
  ".history",
  "archive",
]);

async function hasVersionsFolder(path: string): Promise<boolean> {
  const stem = stemOf(basename(path));
  if (stem === basename(path)) return false;
  try {
    return (await stat(join(dirname(path), stem))).isDirectory();
  } catch {
    return false;
  }
}

function onlyFile(path: string): NamedRoot {
  const name = basename(path);
  const folder = dirname(path);
  return { folder, name: folder, only: name, wants: neighboursOf(name) };
}

/** Kept versions, backups, temporary files, leases and rotated parts of a file, by their names. */
export function neighboursOf(name: string): (path: string) => boolean {
  const stem = stemOf(name);
  return (path) => {
    const parts = path.split("/");
    const first = parts[0] ?? "";
    if (parts.length === 1) return path === name || first.includes(stem);
    if (parts.length > 2) return false;
    // A folder itself ends in "/", so its second part is empty.
    return first === stem || copyFolders.has(first.toLowerCase());
  };
}

function stemOf(name: string): string {
  return name.replace(/(?<=.)\.[^.]*$/, "");
}

function explained(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  const shown = visibleText(path);
  if (errno === "ENOENT" || errno === "ENOTDIR")
    return new LastgoodError("not-found", `${shown} is not there.`, { subject: path });
  const code = errno === "EACCES" || errno === "EPERM" ? "not-permitted" : "io-failed";
  return new LastgoodError(code, `${shown} cannot be looked at: ${sayErrno(errno)} (${errno}).`, {
    subject: path,
  });
}
