/** Files and folders of the simulated disk as values, and the changes that turn one state into the next. */
import { posix } from "node:path";
import type { FileAccess } from "../../shared/adapters/local/fs-ops.js";

export interface FileNode {
  readonly id: number;
  readonly kind: "file";
  readonly access: FileAccess;
  /** Never changed in place, so that copies of a state can share it. */
  bytes: Uint8Array;
}

export interface FolderNode {
  readonly id: number;
  readonly kind: "directory";
  readonly entries: Map<string, number>;
}

export type Node = FileNode | FolderNode;

export type Change =
  | {
      readonly kind: "write";
      readonly file: number;
      readonly atByte: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: "truncate"; readonly file: number; readonly sizeBytes: number }
  | {
      readonly kind: "entry";
      readonly folder: number;
      readonly name: string;
      readonly node: number | undefined;
    }
  | {
      readonly kind: "rename";
      readonly folder: number;
      readonly from: string;
      readonly to: string;
      readonly node: number;
    };

export const plainAccess: FileAccess = { mode: 0o644, userId: 0, groupId: 0 };

const rootId = 1;

export class DiskState {
  readonly #nodes = new Map<number, Node>();
  #nextId = rootId + 1;

  constructor() {
    this.#nodes.set(rootId, { id: rootId, kind: "directory", entries: new Map() });
  }

  /** A disk on which everything named here is long since durable. Folders are made as needed. */
  static with(
    files: Readonly<Record<string, string | Uint8Array>>,
    folders: readonly string[] = [],
  ) {
    const state = new DiskState();
    for (const path of folders) state.#makeFolders(path);
    for (const [path, content] of Object.entries(files)) {
      const folder = state.#makeFolders(posix.dirname(path));
      const file = state.addFile(plainAccess);
      file.bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      folder.entries.set(posix.basename(path), file.id);
    }
    return state;
  }

  copy(): DiskState {
    const copy = new DiskState();
    for (const node of this.#nodes.values()) copy.#nodes.set(node.id, copyOf(node));
    copy.#nextId = this.#nextId;
    return copy;
  }

  addFile(access: FileAccess = plainAccess): FileNode {
    const file: FileNode = { id: this.#takeId(), kind: "file", access, bytes: new Uint8Array() };
    this.#nodes.set(file.id, file);
    return file;
  }

  addFolder(): FolderNode {
    const folder: FolderNode = { id: this.#takeId(), kind: "directory", entries: new Map() };
    this.#nodes.set(folder.id, folder);
    return folder;
  }

  node(id: number): Node {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new Error(`the simulated disk has no node ${id}`);
    return node;
  }

  /** The folder that a path lies in, and the last part of the path. */
  place(path: string): { readonly folder: FolderNode; readonly name: string } {
    const folder = this.find(posix.dirname(path));
    if (folder === undefined) throw refusal("ENOENT", path);
    if (folder.kind === "file") throw refusal("ENOTDIR", path);
    return { folder, name: posix.basename(path) };
  }

  find(path: string): Node | undefined {
    let node: Node | undefined = this.node(rootId);
    for (const name of path.split("/").filter((part) => part !== "")) {
      if (node === undefined) return undefined;
      if (node.kind === "file") throw refusal("ENOTDIR", path);
      const id: number | undefined = node.entries.get(name);
      node = id === undefined ? undefined : this.node(id);
    }
    return node;
  }

  /** The bytes of a file as a running process would see them. */
  bytes(path: string): Uint8Array | "absent" {
    const node = this.find(path);
    return node?.kind === "file" ? node.bytes : "absent";
  }

  text(path: string): string {
    const bytes = this.bytes(path);
    return bytes === "absent" ? bytes : new TextDecoder().decode(bytes);
  }

  /** Names in a folder, in order. */
  names(path: string): string[] {
    const node = this.find(path);
    return node?.kind === "directory" ? [...node.entries.keys()].sort() : [];
  }

  apply(change: Change): void {
    if (change.kind === "write" || change.kind === "truncate") {
      const file = this.node(change.file);
      if (file.kind === "file") file.bytes = changedBytes(file.bytes, change);
      return;
    }
    const folder = this.node(change.folder);
    if (folder.kind !== "directory") return;
    if (change.kind === "rename") {
      // Only if the old name still leads to that file: on a crash the change that made it may have been dropped.
      if (folder.entries.get(change.from) === change.node) folder.entries.delete(change.from);
      folder.entries.set(change.to, change.node);
    } else if (change.node === undefined) folder.entries.delete(change.name);
    else folder.entries.set(change.name, change.node);
  }

  /** Makes the nodes that a change speaks of known here, still empty, if they are not. */
  adopt(change: Change, from: DiskState): void {
    for (const id of nodesOf(change)) {
      if (this.#nodes.has(id)) continue;
      const node = from.node(id);
      this.#nodes.set(
        id,
        node.kind === "file"
          ? { ...node, bytes: new Uint8Array() }
          : { id, kind: "directory", entries: new Map() },
      );
      this.#nextId = Math.max(this.#nextId, id + 1);
    }
  }

  /** Equal for two states in which a process would find the same: names, identities and bytes. */
  fingerprint(): string {
    const seen: string[] = [];
    const walk = (folder: FolderNode, path: string): void => {
      for (const [name, id] of [...folder.entries].sort()) {
        const node = this.node(id);
        seen.push(`${path}/${name} ${id}`);
        if (node.kind === "directory") walk(node, `${path}/${name}`);
        else seen.push(Buffer.from(node.bytes).toString("latin1"));
      }
    };
    const root = this.node(rootId);
    if (root.kind === "directory") walk(root, "");
    return seen.join("\n");
  }

  #makeFolders(path: string): FolderNode {
    let folder = this.node(rootId);
    for (const name of path.split("/").filter((part) => part !== "")) {
      if (folder.kind === "file") break;
      const id = folder.entries.get(name);
      const next = id === undefined ? this.addFolder() : this.node(id);
      folder.entries.set(name, next.id);
      folder = next;
    }
    if (folder.kind === "file") throw refusal("ENOTDIR", path);
    return folder;
  }

  #takeId(): number {
    this.#nextId += 1;
    return this.#nextId - 1;
  }
}

/** An error as node throws it. */
export function refusal(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code });
}

function changedBytes(
  bytes: Uint8Array,
  change: Extract<Change, { kind: "write" | "truncate" }>,
): Uint8Array {
  const sizeBytes =
    change.kind === "truncate"
      ? change.sizeBytes
      : Math.max(bytes.length, change.atByte + change.bytes.length);
  // A gap, left by an earlier write that was dropped, reads as NUL.
  const changed = new Uint8Array(sizeBytes);
  changed.set(bytes.subarray(0, sizeBytes));
  if (change.kind === "write") changed.set(change.bytes, change.atByte);
  return changed;
}

function nodesOf(change: Change): number[] {
  if (change.kind === "write" || change.kind === "truncate") return [change.file];
  return change.node === undefined ? [change.folder] : [change.folder, change.node];
}

function copyOf(node: Node): Node {
  return node.kind === "file" ? { ...node } : { ...node, entries: new Map(node.entries) };
}
