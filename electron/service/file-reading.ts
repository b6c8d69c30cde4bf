/**
 * Reading from a folder that others may be writing: the port that the collection of evidence stands on, so that
 * a refusing or moving disk can be put in its place.
 */
import { type BigIntStats, constants } from "node:fs";
import { lstat, open, opendir } from "node:fs/promises";

export type EntryKind = "file" | "folder" | "symbolic link" | "pipe" | "socket" | "device";

export interface EntryFacts {
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Changes whenever the contents may have: size, times and identity in one text, compared and never parsed. */
  readonly stamp: string;
  /** Device and inode. */
  readonly identity: string;
}

export interface OpenReading {
  look(): Promise<EntryFacts>;
  /** Bytes read into `target`; 0 at the end. */
  read(target: Uint8Array, atByte: number): Promise<number>;
  close(): Promise<void>;
}

/** Every method rejects with the system's own error, whose `code` is the errno. */
export interface FileReading {
  /** Names as bytes: a file system does not promise UTF-8. At most `countMax`. */
  names(folder: Buffer, countMax: number): Promise<readonly Buffer[]>;
  /** Never follows a link. */
  look(path: Buffer): Promise<EntryFacts>;
  open(path: Buffer): Promise<OpenReading>;
}

export const nodeFileReading: FileReading = {
  async names(folder, countMax) {
    const names: Buffer[] = [];
    // The types know "buffer" only for readdir; a folder with a million names must not be listed whole.
    const entries = await opendir(folder as unknown as string, {
      encoding: "buffer" as BufferEncoding,
    });
    for await (const entry of entries) {
      names.push(entry.name as unknown as Buffer);
      if (names.length >= countMax) break;
    }
    return names;
  },

  async look(path) {
    return toFacts(await lstat(path, { bigint: true }));
  },

  async open(path) {
    // A name may have become a pipe or a link since it was listed: neither may hang us or lead us elsewhere.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
    const handle = await open(path, flags);
    return {
      look: async () => toFacts(await handle.stat({ bigint: true })),
      read: async (target, atByte) =>
        (await handle.read(target, 0, target.length, atByte)).bytesRead,
      close: () => handle.close(),
    };
  },
};

function toFacts(stats: BigIntStats): EntryFacts {
  const identity = `${stats.dev}:${stats.ino}`;
  return {
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    modifiedMs: Number(stats.mtimeMs),
    stamp: `${identity}:${stats.size}:${stats.mtimeNs}`,
    identity,
  };
}

function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  if (stats.isSymbolicLink()) return "symbolic link";
  if (stats.isFIFO()) return "pipe";
  if (stats.isSocket()) return "socket";
  return "device";
}

/** The errno of a system's refusal; undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

const errnoWords: Readonly<Record<string, string>> = {
  EACCES: "this user may not open it",
  EPERM: "the system does not allow it",
  ENOENT: "it vanished while it was being read",
  EIO: "the device reported an error",
  EISDIR: "a folder stands under that name",
  ENOTDIR: "a part of its path is not a folder",
  ELOOP: "it is a symbolic link, and links are not followed",
  EMFILE: "this process has too many files open",
  ENFILE: "the system has too many files open",
  EBUSY: "something else holds it",
  ETXTBSY: "something else holds it",
  ENXIO: "nothing stands behind that name",
  ENODEV: "the device is gone",
  ESTALE: "the network file system lost the file",
  ETIMEDOUT: "the file system did not answer in time",
  ENAMETOOLONG: "its name is too long to be opened",
  EINVAL: "the file system does not take that name",
};

/** The errno in words that complete "… cannot be read: …". */
export function sayErrno(errno: string): string {
  return errnoWords[errno] ?? "the system refused";
}
