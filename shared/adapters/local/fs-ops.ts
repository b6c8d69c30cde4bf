/**
 * The seam at system-call height. Everything the local store does to a disk goes through these calls, one
 * call one effect, so that a simulated disk can stop between any two of them and lie about what reached the
 * platter. Nothing above this file imports node:fs.
 *
 * Errors: node's own errors with `code` (ENOENT, EEXIST, ENOSPC …); callers translate them.
 */
export interface FileStat {
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  /** Device and inode: the identity of a file behind a name. */
  readonly identity: string;
  readonly mode: number;
}

/** One open file. Writes are unsynced until `sync` resolves. */
export interface OpenFile {
  stat(): Promise<FileStat>;
  /** Bytes read; 0 at the end of the file. */
  read(into: Uint8Array, atByte: number): Promise<number>;
  /** Bytes written, which may be fewer than given (a short write). */
  write(bytes: Uint8Array, atByte: number): Promise<number>;
  truncate(sizeBytes: number): Promise<void>;
  /** Contents and size on the device. After a failure what is on the device is unknown; never ask again. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export type OpenMode =
  | { readonly kind: "read" }
  | { readonly kind: "create-exclusive"; readonly mode: number }
  | { readonly kind: "read-write" }
  | { readonly kind: "read-write-create"; readonly mode: number };

export interface FsOps {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  readFile(path: string): Promise<Uint8Array>;
  rename(from: string, to: string): Promise<void>;
  /** Hard link; fails with EEXIST when `to` is there. */
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string): Promise<void>;
  /** Names in a folder, unordered. */
  readdir(
    path: string,
  ): Promise<readonly { readonly name: string; readonly kind: FileStat["kind"] }[]>;
  /** Does not follow a symbolic link. */
  lstat(path: string): Promise<FileStat | "absent">;
  /**
   * The folder's entries on the device. "unsupported" where the platform has no such call (Windows):
   * the guarantee table says what that costs.
   */
  syncDirectory(path: string): Promise<"synced" | "unsupported">;
}
