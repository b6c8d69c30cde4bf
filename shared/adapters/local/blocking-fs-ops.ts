import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import type { FileAccess, FileStat, FsOps, OpenFile } from "./fs-ops.js";
import {
  accessChanges,
  creationMode,
  errnoOf,
  folderFlags,
  foldersNeverSync,
  openFlags,
  toFileStat,
  toFolderEntry,
} from "./open-flags.js";

/**
 * The same system calls made at once, in the calling thread. A synced append is mostly the device's own time, and
 * the way to the thread pool and back would add a third to it. The price: the event loop stands still meanwhile,
 * so this form is for a process or worker thread that writes and does little else.
 */
export const blockingFsOps: FsOps = {
  async open(path, mode) {
    const fd = openSync(path, openFlags(mode), creationMode(mode));
    try {
      if (mode.kind === "create-exclusive" && mode.access !== undefined)
        giveAccess(fd, mode.access);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    return new BlockingFile(fd);
  },
  rename: async (from, to) => renameSync(from, to),
  link: async (from, to) => linkSync(from, to),
  unlink: async (path) => unlinkSync(path),
  mkdir: async (path) => void mkdirSync(path),
  readdir: async (path) => readdirSync(path, { withFileTypes: true }).map(toFolderEntry),
  async lstat(path) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? "absent" : toFileStat(stats);
  },
  async syncDirectory(path) {
    if (process.platform === "win32") return "unsupported";
    const fd = openSync(path, folderFlags);
    try {
      fsyncSync(fd);
      return "synced";
    } catch (error) {
      if (foldersNeverSync(error)) return "unsupported";
      throw error;
    } finally {
      closeSync(fd);
    }
  },
};

class BlockingFile implements OpenFile {
  #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  async stat(): Promise<FileStat> {
    return toFileStat(fstatSync(this.#fd, { bigint: true }));
  }

  async read(into: Uint8Array, atByte: number): Promise<number> {
    return readSync(this.#fd, into, 0, into.length, atByte);
  }

  async append(bytes: Uint8Array): Promise<number> {
    return writeSync(this.#fd, bytes, 0, bytes.length, null);
  }

  async truncate(sizeBytes: number): Promise<void> {
    ftruncateSync(this.#fd, sizeBytes);
  }

  async sync(): Promise<void> {
    fsyncSync(this.#fd);
  }

  async close(): Promise<void> {
    const fd = this.#fd;
    // The system hands a closed number out again at once: used twice, it would reach somebody else's file.
    this.#fd = -1;
    closeSync(fd);
  }
}

function giveAccess(fd: number, wanted: FileAccess): void {
  const change = accessChanges(wanted, toFileStat(fstatSync(fd, { bigint: true })).access);
  if (change.owner) {
    try {
      fchownSync(fd, wanted.userId, wanted.groupId);
    } catch (error) {
      // Only root may give a file away. Everybody else keeps what any replacing of a file does: it becomes theirs.
      if (errnoOf(error) !== "EPERM") throw error;
    }
  }
  if (change.mode) fchmodSync(fd, wanted.mode);
}
