/**
 * The seam at system-call height. Everything the local store does to a disk goes through these calls, one
 * call one effect, so that a simulated disk can stop between any two of them and lie about what reached the
 * platter. No other file of the local store imports node:fs.
 *
 * Errors: node's own errors with `code` (ENOENT, EEXIST, ENOSPC …); callers translate them.
 */
export interface FileStat {
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  /** Device and inode: the identity of a file behind a name. */
  readonly identity: string;
  readonly access: FileAccess;
}

/** Who may do what with a file. */
export interface FileAccess {
  /** Permission bits alone, without the kind of file. */
  readonly mode: number;
  readonly userId: number;
  readonly groupId: number;
}

/** One open file. What is added is unsynced until `sync` resolves. */
export interface OpenFile {
  stat(): Promise<FileStat>;
  /** Bytes read; 0 at the end of the file. */
  read(into: Uint8Array, atByte: number): Promise<number>;
  /**
   * Adds bytes at the end of the file, wherever the end is at that moment (O_APPEND), so that two writers can
   * never overwrite each other. Answers how many were added, which may be fewer than given (a short write).
   */
  append(bytes: Uint8Array): Promise<number>;
  truncate(sizeBytes: number): Promise<void>;
  /** Contents and size on the device. After a failure what is on the device is unknown; never ask again. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A symbolic link is never followed: opening one fails with ELOOP. Opening a pipe never waits. */
export type OpenMode =
  | { readonly kind: "read" }
  /** `access` exactly as given, as far as the system lets us; without it, what the process gives new files. */
  | { readonly kind: "create-exclusive"; readonly access?: FileAccess }
  | { readonly kind: "append" }
  | { readonly kind: "append-create" }
  /** For truncating alone: Windows does not let an appending handle cut a file. */
  | { readonly kind: "cut" };

export interface FsOps {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  /** Hard link; fails with EEXIST when `to` is there. */
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string): Promise<void>;
  /** Names in a folder, unordered. */
  readdir(path: string): Promise<readonly FolderEntry[]>;
  /** Does not follow a symbolic link. */
  lstat(path: string): Promise<FileStat | "absent">;
  /**
   * The folder's entries on the device. "unsupported" where the platform (Windows) or the file system (some
   * network shares) has no such call: the store's traits say what that costs.
   */
  syncDirectory(path: string): Promise<"synced" | "unsupported">;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: FileStat["kind"];
}
