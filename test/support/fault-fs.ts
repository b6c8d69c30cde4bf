/**
 * A simulated disk. It stands in for the system calls of the local store (FsOps) and can do what no real disk does
 * on demand: stop between any two calls, and then show every state a real one could have been left in.
 *
 * THE MODEL (after SQLite's test6.c, with directory entries added)
 *
 * There are two worlds. The *live* one is what a running process sees: every call takes effect in it at once. The
 * *device* is what a power loss leaves. Between them lies one list of pending changes, in the order they were made:
 *
 *   write      bytes added to a file                 became durable by `sync` of that file
 *   truncate   a file made shorter                   became durable by `sync` of that file
 *   entry      a name set to a file, or removed      became durable by `syncDirectory` of its folder
 *   rename     two entries of one folder, together   became durable by `syncDirectory` of that folder
 *
 * A sync moves the matching changes to the device, and only those: syncing a file says nothing about its name, and
 * syncing a folder says nothing about the bytes of the files in it. That is all POSIX promises, and it is why a
 * replaced document needs both.
 *
 * A CRASH keeps or drops each pending change independently of all others. A write can also be *torn*:
 *
 *   cut        only its first bytes arrived
 *   nul-tail   its first bytes arrived, the size is recorded in full, the rest reads as NUL
 *   garbage    the same, and the rest reads as whatever was in those blocks before
 *   hole       its last bytes arrived and its first did not
 *
 * So a file whose entry was never synced may be gone, an unsynced rename may be undone or may survive without the
 * bytes it was made for, and a log may end in NULs. A killed process is the one fate where everything is kept.
 *
 * WHAT THE DEVICE PROMISES is data (DevicePromises), and each promise takes fates away: `metadata: "in-order"`
 * is a journal (a later entry never survives an earlier one); `sectorBytes` is the grain of a tear.
 * `anyDevice` promises nothing, and what holds on it holds on every disk that does what sync says.
 *
 * A FAILED SYNC of a file leaves the changes it was to save forsaken: they stay visible, they may or may not be on the device,
 * and no later sync of the same file will save them. That is how Linux behaves, and why a sync is never retried.
 *
 * FAULTS: by the number of a call, refuse it with an errno (before or after its effect) or write fewer bytes than
 * asked; or lose power once so many changes were made, at the moment of the next one. From then on every call throws
 * PowerLost, so whatever the code under test still tries (its own cleaning up) has no effect. A restart is a new
 * FaultFs made from one surviving state.
 */
import type {
  FileStat,
  FolderEntry,
  FsOps,
  OpenFile,
  OpenMode,
} from "../../shared/adapters/local/fs-ops.js";
import { type Change, type DiskState, type Node, plainAccess, refusal } from "./disk-state.js";

export interface DevicePromises {
  readonly metadata: "any-order" | "in-order";
  /** A tear happens only at multiples of this, counted from the start of the file. */
  readonly sectorBytes: number;
}

/** Promises nothing beyond what sync says. */
export const anyDevice: DevicePromises = { metadata: "any-order", sectorBytes: 1 };

/** A journalling file system on whole sectors, as most disks are. */
export const journalDevice: DevicePromises = { metadata: "in-order", sectorBytes: 512 };

export type Fault =
  | {
      readonly kind: "refuse";
      readonly call: number;
      readonly errno: string;
      readonly effect: "none" | "taken";
    }
  | { readonly kind: "short-write"; readonly call: number; readonly bytes: number }
  | { readonly kind: "power-loss"; readonly afterChanges: number };

/** One system call as it was made; `changes` counts the calls up to this one that can change what a crash leaves. */
export interface Call {
  readonly name: string;
  readonly path: string;
  readonly changes: number;
}

export class PowerLost extends Error {
  override readonly name = "PowerLost";
}

/** A change that no sync has confirmed. */
export interface PendingChange {
  readonly change: Change;
  /** A sync that was to save it failed: no later one will. */
  readonly forsaken: boolean;
}

export interface LeftToChance {
  readonly promises: DevicePromises;
  /** What is on the device for sure. */
  readonly device: DiskState;
  /** What a crash now may or may not add to it, in the order in which it was done. */
  readonly pending: readonly PendingChange[];
}

export class FaultFs implements FsOps {
  readonly calls: Call[] = [];
  readonly #promises: DevicePromises;
  readonly #live: DiskState;
  readonly #device: DiskState;
  #pending: PendingChange[] = [];
  readonly #faults: readonly Fault[];
  #changeCount = 0;
  #powerLost = false;

  constructor(
    state: DiskState,
    faults: readonly Fault[] = [],
    promises: DevicePromises = anyDevice,
  ) {
    this.#promises = promises;
    this.#live = state.copy();
    this.#device = state.copy();
    this.#faults = faults;
  }

  /** Calls made so far that can change what a crash leaves: the crash points. */
  get changeCount(): number {
    return this.#changeCount;
  }

  get hasPower(): boolean {
    return !this.#powerLost;
  }

  /** Everything that a crash at this moment could make of the disk, not yet decided; see everyFate. */
  get leftToChance(): LeftToChance {
    const device = this.#device.copy();
    for (const { change } of this.#pending) device.adopt(change, this.#live);
    return { promises: this.#promises, device, pending: [...this.#pending] };
  }

  /** What a killed process leaves: the system goes on and every change arrives. */
  afterKill(): DiskState {
    return this.#live.copy();
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    const creates = mode.kind === "create-exclusive" || mode.kind === "append-create";
    return await this.#call(`open ${mode.kind}`, path, creates ? "changes" : "looks", () => {
      const { folder, name } = this.#live.place(path);
      const found = folder.entries.get(name);
      if (found !== undefined && mode.kind === "create-exclusive") throw refusal("EEXIST", path);
      if (found !== undefined) return this.#opened(path, mode, this.#live.node(found));
      if (!creates) throw refusal("ENOENT", path);
      const access = mode.kind === "create-exclusive" ? mode.access : undefined;
      const made = this.#live.addFile(access ?? plainAccess);
      this.#change({ kind: "entry", folder: folder.id, name, node: made.id });
      return this.#handle(path, made);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#call("rename", `${from} -> ${to}`, "changes", () => {
      const source = this.#live.place(from);
      const target = this.#live.place(to);
      if (source.folder !== target.folder) throw refusal("EXDEV", to);
      const node = source.folder.entries.get(source.name);
      if (node === undefined) throw refusal("ENOENT", from);
      // POSIX: when both names are one file already, rename does nothing and leaves both.
      if (target.folder.entries.get(target.name) === node) return;
      this.#change({
        kind: "rename",
        folder: source.folder.id,
        from: source.name,
        to: target.name,
        node,
      });
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.#call("link", `${from} -> ${to}`, "changes", () => {
      const source = this.#live.place(from);
      const target = this.#live.place(to);
      const node = source.folder.entries.get(source.name);
      if (node === undefined) throw refusal("ENOENT", from);
      if (target.folder.entries.has(target.name)) throw refusal("EEXIST", to);
      this.#change({ kind: "entry", folder: target.folder.id, name: target.name, node });
    });
  }

  unlink(path: string): Promise<void> {
    return this.#call("unlink", path, "changes", () => {
      const { folder, name } = this.#live.place(path);
      if (!folder.entries.has(name)) throw refusal("ENOENT", path);
      this.#change({ kind: "entry", folder: folder.id, name, node: undefined });
    });
  }

  mkdir(path: string): Promise<void> {
    return this.#call("mkdir", path, "changes", () => {
      const { folder, name } = this.#live.place(path);
      if (folder.entries.has(name)) throw refusal("EEXIST", path);
      const made = this.#live.addFolder();
      this.#change({ kind: "entry", folder: folder.id, name, node: made.id });
    });
  }

  readdir(path: string): Promise<readonly FolderEntry[]> {
    return this.#call("readdir", path, "looks", () => {
      const { folder } = this.#live.place(`${path}/any`);
      return [...folder.entries].map(([name, id]) => ({ name, kind: this.#live.node(id).kind }));
    });
  }

  lstat(path: string): Promise<FileStat | "absent"> {
    return this.#call("lstat", path, "looks", () => {
      const node = this.#live.find(path);
      return node === undefined ? "absent" : statOf(node);
    });
  }

  /** When it fails its changes stay pending; the next one that succeeds saves them too, as a journal would. */
  syncDirectory(path: string): Promise<"synced" | "unsupported"> {
    return this.#call("sync folder", path, "changes", () => {
      const { folder } = this.#live.place(`${path}/any`);
      this.#settle((change) => "folder" in change && change.folder === folder.id);
      return "synced";
    });
  }

  #opened(path: string, mode: OpenMode, node: Node): OpenFile {
    if (node.kind === "directory" && mode.kind !== "read") throw refusal("EISDIR", path);
    return this.#handle(path, node);
  }

  #handle(path: string, node: Node): OpenFile {
    const file = () => {
      if (node.kind !== "file") throw refusal("EISDIR", path);
      return node;
    };
    const ofFile = (change: Change) => "file" in change && change.file === node.id;
    return {
      stat: () => this.#call("fstat", path, "looks", () => statOf(node)),
      read: (into, atByte) =>
        this.#call("read", path, "looks", () => {
          const part = file().bytes.subarray(atByte, atByte + into.length);
          into.set(part);
          return part.length;
        }),
      append: (bytes) =>
        this.#call("write", path, "changes", (taken) => {
          const count = Math.min(taken ?? bytes.length, bytes.length);
          const atByte = file().bytes.length;
          this.#change({ kind: "write", file: node.id, atByte, bytes: bytes.slice(0, count) });
          return count;
        }),
      truncate: (sizeBytes) =>
        this.#call("truncate", path, "changes", () =>
          this.#change({ kind: "truncate", file: file().id, sizeBytes }),
        ),
      sync: () =>
        this.#call(
          "sync file",
          path,
          "changes",
          () => this.#settle(ofFile),
          () => this.#forsake(ofFile),
        ),
      close: () => this.#call("close", path, "looks", () => undefined),
    };
  }

  /**
   * Every call comes through here, in one turn: it is counted, refused if a fault says so, or carried out.
   */
  async #call<T>(
    name: string,
    path: string,
    kind: "changes" | "looks",
    effect: (shortTo?: number) => T,
    refused: () => void = () => undefined,
  ): Promise<T> {
    // An answer from a device never comes in the same turn; giving others a turn lets races happen.
    await Promise.resolve();
    if (kind === "changes") this.#losePowerIfDue();
    if (this.#powerLost) throw new PowerLost(`${name} ${path}`);
    const number = this.calls.length;
    if (kind === "changes") this.#changeCount += 1;
    this.calls.push({ name, path, changes: this.#changeCount });
    const fault = this.#faults.find((one) => one.kind !== "power-loss" && one.call === number);
    if (fault?.kind === "refuse") {
      if (fault.effect === "taken") effect();
      else refused();
      throw refusal(fault.errno, path);
    }
    return effect(fault?.kind === "short-write" ? fault.bytes : undefined);
  }

  #losePowerIfDue(): void {
    this.#powerLost ||= this.#faults.some(
      (fault) => fault.kind === "power-loss" && fault.afterChanges <= this.#changeCount,
    );
  }

  #change(change: Change): void {
    this.#live.apply(change);
    this.#pending.push({ change, forsaken: false });
  }

  /** The matching changes reach the device, in their order. */
  #settle(matches: (change: Change) => boolean): void {
    const last = this.#pending.findLastIndex(({ change }) => "folder" in change && matches(change));
    const reaches = ({ change, forsaken }: PendingChange, index: number): boolean => {
      if (forsaken) return false;
      if (matches(change)) return true;
      // A journal that has one entry has every entry before it.
      return this.#promises.metadata === "in-order" && "folder" in change && index < last;
    };
    const settled = this.#pending.filter(reaches).map((one) => one.change);
    this.#pending = this.#pending.filter((one, index) => !reaches(one, index));
    for (const change of settled) {
      this.#device.adopt(change, this.#live);
      this.#device.apply(change);
      if (change.kind === "truncate") this.#dropForsakenBehind(change.file, change.sizeBytes);
    }
  }

  /** What lay behind the new end of a file can no longer arrive there. */
  #dropForsakenBehind(file: number, sizeBytes: number): void {
    this.#pending = this.#pending.filter(
      ({ change, forsaken }) =>
        !(
          forsaken &&
          change.kind === "write" &&
          change.file === file &&
          change.atByte >= sizeBytes
        ),
    );
  }

  #forsake(matches: (change: Change) => boolean): void {
    this.#pending = this.#pending.map((one) =>
      matches(one.change) ? { ...one, forsaken: true } : one,
    );
  }
}

function statOf(node: Node): FileStat {
  return {
    kind: node.kind,
    sizeBytes: node.kind === "file" ? node.bytes.length : 0,
    modifiedMs: 0,
    identity: `simulated:${node.id}`,
    access: node.kind === "file" ? node.access : plainAccess,
  };
}

/**
 * The same disk as one of several processes uses it: `before` is awaited ahead of each of its calls, so that a test
 * can hold this process between any two of them while the others go on.
 */
export function pausing(fs: FsOps, before: () => Promise<void>): FsOps {
  const paused =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await before();
      return await call(...args);
    };
  return {
    open: paused(async (path: string, mode: OpenMode) => {
      const file = await fs.open(path, mode);
      return {
        stat: paused(() => file.stat()),
        read: paused((into: Uint8Array, atByte: number) => file.read(into, atByte)),
        append: paused((bytes: Uint8Array) => file.append(bytes)),
        truncate: paused((sizeBytes: number) => file.truncate(sizeBytes)),
        sync: paused(() => file.sync()),
        close: paused(() => file.close()),
      };
    }),
    rename: paused((from: string, to: string) => fs.rename(from, to)),
    link: paused((from: string, to: string) => fs.link(from, to)),
    unlink: paused((path: string) => fs.unlink(path)),
    mkdir: paused((path: string) => fs.mkdir(path)),
    readdir: paused((path: string) => fs.readdir(path)),
    lstat: paused((path: string) => fs.lstat(path)),
    syncDirectory: paused((path: string) => fs.syncDirectory(path)),
  };
}
