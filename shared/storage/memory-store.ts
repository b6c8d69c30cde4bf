import { invariant } from "../base/assert.js";
import { concatBytes } from "../base/bytes.js";
import { limits } from "../base/limits.js";
import { assertKey, assertKeyForWriting, assertPrefix, isStagedName, nameOf } from "./keys.js";
import { supersededKey } from "./log-names.js";
import type {
  AppendOutcome,
  Etag,
  Key,
  Listing,
  LogFile,
  ObjectStore,
  OpenLogOptions,
  RemoveOutcome,
  Stored,
  StoreTraits,
  TailRepair,
  WriteOutcome,
} from "./object-store.js";
import { assertObjectSize, lostTheLog, writerStopped } from "./refusals.js";
import { judgeTail, lastLineOf, lineEnd } from "./tail.js";

/** One stored object. Replacing puts a new one under the key; appending changes the one that is there. */
interface Entry {
  bytes: Uint8Array;
  etag: Etag;
}

/** The port in memory: every condition holds, nothing survives the process. */
export function createMemoryStore(): ObjectStore {
  return new MemoryStore();
}

class MemoryStore implements ObjectStore {
  readonly traits: StoreTraits = {
    kind: "memory",
    tornTailPossible: false,
    survives: "nothing",
    replaceIsConditionalFor: "this-process",
    createIsConditionalFor: "this-process",
    removeIsConditional: true,
    listFollowsWrites: true,
    holdersShareProcessTable: true,
  };
  readonly #entries = new Map<Key, Entry>();
  #writeCount = 0;

  async read(key: Key): Promise<Stored | "absent"> {
    const entry = this.#entries.get(assertKey(key));
    return entry === undefined ? "absent" : { bytes: entry.bytes.slice(), etag: entry.etag };
  }

  async replace(key: Key, bytes: Uint8Array, expected: Etag | "absent"): Promise<WriteOutcome> {
    assertKeyForWriting(key);
    assertObjectSize(key, bytes);
    const currentEtag = this.#entries.get(key)?.etag ?? "absent";
    if (currentEtag !== expected) return { kind: "conflict", currentEtag };
    const entry = this.#put(key, bytes.slice());
    return { kind: "written", etag: entry.etag };
  }

  async list(prefix: string, countMax: number): Promise<Listing> {
    assertPrefix(prefix);
    const all = [...this.#entries.keys()].filter(
      (key) => key.startsWith(prefix) && !isStagedName(nameOf(key)),
    );
    all.sort(byCodeUnits);
    return { keys: all.slice(0, countMax), complete: all.length <= countMax };
  }

  async remove(key: Key, expected: Etag): Promise<RemoveOutcome> {
    const currentEtag = this.#entries.get(assertKey(key))?.etag ?? "absent";
    if (currentEtag !== expected) return { kind: "conflict", currentEtag };
    this.#entries.delete(key);
    return { kind: "removed" };
  }

  async openLog(key: Key, options: OpenLogOptions): Promise<LogFile> {
    assertKeyForWriting(key);
    const there = this.#entries.get(key);
    const found = there ?? this.#put(key, new Uint8Array());
    const tailRepair = await this.#repairTail(key, found, options);
    const entry = there === undefined ? found : this.#takeOver(key, found, options);
    return new MemoryLog(key, entry, tailRepair, {
      leadsTo: () => this.#entries.get(key) === entry,
      setBytes: (bytes) => this.#setBytes(entry, bytes),
    });
  }

  async *readLog(key: Key, fromByte = 0): AsyncIterable<Uint8Array> {
    assertKey(key);
    const bytes = this.#entries.get(key)?.bytes ?? new Uint8Array();
    for (let at = fromByte; at < bytes.length; at += limits.readChunkBytes) {
      yield bytes.slice(at, at + limits.readChunkBytes);
    }
  }

  async #repairTail(key: Key, entry: Entry, options: OpenLogOptions): Promise<TailRepair> {
    const size = entry.bytes.length;
    const tail = judgeTail(lastLineOf(entry.bytes), size, options.isWholeRecord);
    if (tail.kind === "ended") return { kind: "none" };
    const isCut = tail.kind === "cut";
    const cut = isCut ? tail : { fromByte: tail.endByte, bytes: tail.debris };
    if (cut.bytes.length > 0) await options.setAside({ ...cut, bytes: cut.bytes.slice() });
    // Whoever appended while the bytes were being set aside would lose their record to the cut.
    if (this.#entries.get(key) !== entry || entry.bytes.length !== size) throw lostTheLog(key);
    const kept = entry.bytes.slice(0, cut.fromByte);
    this.#setBytes(entry, isCut ? kept : concatBytes([kept, Uint8Array.of(lineEnd)]));
    return cut.bytes.length > 0
      ? { kind: "cut", fromByte: cut.fromByte, bytes: cut.bytes.length }
      : { kind: "line-ended", atByte: cut.fromByte };
  }

  #takeOver(key: Key, entry: Entry, options: OpenLogOptions): Entry {
    if (options.takeOver === "in-place") return entry;
    const superseded = supersededKey(key, options.takeOver.token);
    // The same token twice: this holder took the log over before and only opens it again.
    if (this.#entries.has(superseded)) return entry;
    this.#entries.set(superseded, entry);
    return this.#put(key, entry.bytes.slice());
  }

  #put(key: Key, bytes: Uint8Array): Entry {
    const entry = { bytes, etag: this.#nextEtag() };
    this.#entries.set(key, entry);
    return entry;
  }

  #setBytes(entry: Entry, bytes: Uint8Array): void {
    entry.bytes = bytes;
    entry.etag = this.#nextEtag();
  }

  #nextEtag(): Etag {
    this.#writeCount += 1;
    return `m${this.#writeCount}` as Etag;
  }
}

interface LogPlace {
  leadsTo(): boolean;
  setBytes(bytes: Uint8Array): void;
}

class MemoryLog implements LogFile {
  readonly tailRepair: TailRepair;
  readonly #key: Key;
  readonly #entry: Entry;
  readonly #place: LogPlace;
  #sizeBytes: number;
  #stopped = false;

  constructor(key: Key, entry: Entry, tailRepair: TailRepair, place: LogPlace) {
    this.#key = key;
    this.#entry = entry;
    this.tailRepair = tailRepair;
    this.#place = place;
    this.#sizeBytes = entry.bytes.length;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array): Promise<AppendOutcome> {
    invariant(bytes.at(-1) === lineEnd, "whole lines are appended, each with its line end");
    if (this.#stopped) throw writerStopped(this.#key);
    if (!this.#place.leadsTo() || this.#entry.bytes.length !== this.#sizeBytes) {
      this.#stopped = true;
      return { kind: "displaced" };
    }
    this.#place.setBytes(concatBytes([this.#entry.bytes, bytes]));
    this.#sizeBytes += bytes.length;
    return { kind: "appended", endByte: this.#sizeBytes };
  }

  async close(): Promise<void> {
    this.#stopped = true;
  }
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
