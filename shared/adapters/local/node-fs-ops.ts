import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  unlink,
} from "node:fs/promises";
import type { FileAccess, FileStat, FsOps, OpenFile, OpenMode } from "./fs-ops.js";
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
 * The system calls on node's thread pool: the event loop stays free while the device writes. A process that
 * does nothing but write is better served by blockingFsOps, which saves the way to the pool and back.
 */
export const nodeFsOps: FsOps = {
  async open(path, mode) {
    const handle = await open(path, openFlags(mode), creationMode(mode));
    return new NodeFile(await withAccess(handle, mode));
  },
  rename,
  link,
  unlink,
  mkdir: async (path) => void (await mkdir(path)),
  readdir: async (path) => (await readdir(path, { withFileTypes: true })).map(toFolderEntry),
  async lstat(path) {
    try {
      return toFileStat(await lstat(path, { bigint: true }));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return "absent";
      throw error;
    }
  },
  async syncDirectory(path) {
    if (process.platform === "win32") return "unsupported";
    const folder = await open(path, folderFlags);
    try {
      await folder.sync();
      return "synced";
    } catch (error) {
      if (foldersNeverSync(error)) return "unsupported";
      throw error;
    } finally {
      await folder.close();
    }
  },
};

class NodeFile implements OpenFile {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async stat(): Promise<FileStat> {
    return toFileStat(await this.#handle.stat({ bigint: true }));
  }

  async read(into: Uint8Array, atByte: number): Promise<number> {
    return (await this.#handle.read(into, 0, into.length, atByte)).bytesRead;
  }

  async append(bytes: Uint8Array): Promise<number> {
    return (await this.#handle.write(bytes, 0, bytes.length, null)).bytesWritten;
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#handle.truncate(sizeBytes);
  }

  sync(): Promise<void> {
    return this.#handle.sync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

async function withAccess(handle: FileHandle, mode: OpenMode): Promise<FileHandle> {
  if (mode.kind !== "create-exclusive" || mode.access === undefined) return handle;
  try {
    await giveAccess(handle, mode.access);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function giveAccess(handle: FileHandle, wanted: FileAccess): Promise<void> {
  const found = toFileStat(await handle.stat({ bigint: true })).access;
  const change = accessChanges(wanted, found);
  if (change.owner) {
    // Only root may give a file away. Everybody else keeps what any replacing of a file does: it becomes theirs.
    await handle.chown(wanted.userId, wanted.groupId).catch(unlessNotPermitted);
  }
  if (change.mode) await handle.chmod(wanted.mode);
}

function unlessNotPermitted(error: unknown): void {
  if (errnoOf(error) !== "EPERM") throw error;
}
