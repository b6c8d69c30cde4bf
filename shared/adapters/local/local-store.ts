import { LastgoodError } from "../../base/errors.js";
import { assertKey, assertKeyForWriting, assertPrefix } from "../../storage/keys.js";
import type {
  Etag,
  Key,
  Listing,
  LogFile,
  ObjectStore,
  OpenLogOptions,
  RemoveOutcome,
  Stored,
  StoreTraits,
  WriteOutcome,
} from "../../storage/object-store.js";
import { assertObjectSize } from "../../storage/refusals.js";
import { pause, randomId, sha256Hex } from "../system.js";
import type { CrashPoint } from "./crash-points.js";
import type { Disk, Platform } from "./disk.js";
import { explainErrno } from "./errno.js";
import { Folders, type FoundPlace } from "./folders.js";
import type { FsOps } from "./fs-ops.js";
import { folderOf, listKeys } from "./list-keys.js";
import { nodeFsOps } from "./node-fs-ops.js";
import { errnoOf } from "./open-flags.js";
import { openLogFile } from "./open-log.js";
import { lookAtFile, readChunksAt, readFileAt } from "./read-file.js";
import { createFile, replaceFile } from "./replace-file.js";
import { folderSynced, type Place } from "./stage-file.js";
import { Turns } from "./turns.js";

export interface LocalStoreOptions {
  /** The folder that keys are relative to. It must be there. */
  readonly root: string;
  /** Default nodeFsOps; blockingFsOps for a process that does nothing but write; a simulated disk in tests. */
  readonly fs?: FsOps;
  /** Default: by the platform we run on. */
  readonly platform?: Platform;
  /** Called between the steps of the durable sequences, so that a test can stop or end the process there. */
  readonly atCrashPoint?: (name: CrashPoint) => void | Promise<void>;
}

/**
 * Opens the object store over one folder of a local disk.
 *
 * Errors: not-found when the folder is not there.
 */
export async function openLocalStore(options: LocalStoreOptions): Promise<ObjectStore> {
  const { root, fs = nodeFsOps } = options;
  const disk: Disk = {
    fs,
    // A UUID comes from a pool and costs nothing; fresh random bytes would be a tenth of the whole write.
    stagedRandom: () => randomId().replaceAll("-", "").slice(0, 16),
    sha256Hex,
    platform: options.platform ?? (process.platform === "win32" ? "windows" : "posix"),
    pause,
    atCrashPoint: options.atCrashPoint ?? (() => undefined),
  };
  return new LocalStore(disk, root, localTraits(await probeFolderSync(fs, root)));
}

/** Asks once whether folders can be synced here at all, because the store's promise hangs on it. */
async function probeFolderSync(fs: FsOps, root: string): Promise<"synced" | "unsupported"> {
  try {
    return await fs.syncDirectory(root);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") {
      throw explainErrno(error, {
        doing: "open the folder",
        path: root,
        stillTrue: "Nothing was changed.",
      });
    }
    throw new LastgoodError(
      "not-found",
      `There is no folder ${root}. Nothing was made. Check the path, or make the folder first.`,
      { subject: root, cause: error },
    );
  }
}

function localTraits(folders: "synced" | "unsupported"): StoreTraits {
  return {
    kind: "local",
    tornTailPossible: true,
    // Without a sync of the folder a rename may be undone by a power loss, though never by a kill.
    survives: folders === "synced" ? "power-loss" : "process-kill",
    replaceIsConditionalFor: "this-process",
    createIsConditionalFor: "this-host",
    removeIsConditional: true,
    listFollowsWrites: true,
    holdersShareProcessTable: true,
  };
}

class LocalStore implements ObjectStore {
  readonly traits: StoreTraits;
  readonly #disk: Disk;
  readonly #root: string;
  readonly #folders: Folders;

  constructor(disk: Disk, root: string, traits: StoreTraits) {
    this.#disk = disk;
    this.#root = root;
    this.#folders = new Folders(disk, root);
    this.traits = traits;
  }

  async read(key: Key): Promise<Stored | "absent"> {
    const place = await this.#folders.find(assertKey(key));
    if (place === "absent") return "absent";
    return await this.#readAt(place);
  }

  async replace(key: Key, bytes: Uint8Array, expected: Etag | "absent"): Promise<WriteOutcome> {
    assertKeyForWriting(key);
    assertObjectSize(key, bytes);
    const place = await this.#folders.make(key);
    if (expected === "absent") return await this.#create(place, bytes);
    return await turnsOf(this.#disk.fs).take(turnName(place), () =>
      this.#replaceIf(place, bytes, expected),
    );
  }

  async list(prefix: string, countMax: number): Promise<Listing> {
    // Through the same looks as any key, so that a listing leaves the workspace by no link either.
    const folder = await this.#folders.find(`${folderOf(assertPrefix(prefix))}any`);
    if (folder === "absent") return { keys: [], complete: true };
    return await listKeys(this.#disk.fs, this.#root, prefix, countMax);
  }

  async remove(key: Key, expected: Etag): Promise<RemoveOutcome> {
    const place = await this.#folders.find(assertKey(key));
    if (place === "absent") return { kind: "conflict", currentEtag: "absent" };
    return await turnsOf(this.#disk.fs).take(turnName(place), () =>
      this.#removeIf(place, expected),
    );
  }

  async openLog(key: Key, options: OpenLogOptions): Promise<LogFile> {
    const place = await this.#folders.make(assertKeyForWriting(key));
    return await openLogFile(this.#disk, place, options);
  }

  async *readLog(key: Key, fromByte = 0): AsyncIterable<Uint8Array> {
    const place = await this.#folders.find(assertKey(key));
    if (place !== "absent") yield* readChunksAt(this.#disk, place, fromByte);
  }

  async #create(place: Place, bytes: Uint8Array): Promise<WriteOutcome> {
    // A cheap look first: most losers of a race then need no staged file.
    if ((await lookAtFile(this.#disk, place)) !== "absent") return await this.#conflict(place);
    const outcome = await createFile(this.#disk, place, bytes);
    if (outcome.kind === "exists") return await this.#conflict(place);
    return outcome.kind === "created" ? this.#written(bytes) : outcome;
  }

  async #replaceIf(place: Place, bytes: Uint8Array, expected: Etag): Promise<WriteOutcome> {
    const found = await lookAtFile(this.#disk, place);
    if (found === "absent") return { kind: "conflict", currentEtag: "absent" };
    const stillExpected = async () => (await this.#etagAt(place)) === expected;
    const outcome = await replaceFile(this.#disk, place, bytes, found.access, stillExpected);
    if (outcome.kind === "changed-meanwhile") return await this.#conflict(place);
    return outcome.kind === "replaced" ? this.#written(bytes) : outcome;
  }

  async #removeIf(place: Place, expected: Etag): Promise<RemoveOutcome> {
    const currentEtag = await this.#etagAt(place);
    if (currentEtag !== expected) return { kind: "conflict", currentEtag };
    try {
      await this.#disk.fs.unlink(place.path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return { kind: "conflict", currentEtag: "absent" };
      throw explainErrno(error, {
        doing: "remove",
        path: place.path,
        stillTrue: "It is still there.",
      });
    }
    return (await folderSynced(this.#disk, place.folder))
      ? { kind: "removed" }
      : { kind: "in-doubt", reason: "directory-sync-failed" };
  }

  #written(bytes: Uint8Array): WriteOutcome {
    return { kind: "written", etag: this.#etagOf(bytes) };
  }

  async #conflict(place: Place): Promise<WriteOutcome> {
    return { kind: "conflict", currentEtag: await this.#etagAt(place) };
  }

  async #etagAt(place: Place): Promise<Etag | "absent"> {
    const found = await this.#readAt(place);
    return found === "absent" ? "absent" : found.etag;
  }

  /** From the bytes, never from time and size: two writes within one tick of the clock may have equal sizes. */
  #etagOf(bytes: Uint8Array): Etag {
    return this.#disk.sha256Hex(bytes) as Etag;
  }

  async #readAt(place: Place): Promise<Stored | "absent"> {
    const bytes = await readFileAt(this.#disk, place);
    return bytes === "absent" ? "absent" : { bytes, etag: this.#etagOf(bytes) };
  }
}

/**
 * One line of waiting per name, shared by all stores of this process over the same disk: the comparison and the
 * rename are two steps, and only this keeps another write of ours out from between them.
 */
const turnsByDisk = new WeakMap<FsOps, Turns>();

function turnsOf(fs: FsOps): Turns {
  const turns = turnsByDisk.get(fs) ?? new Turns();
  turnsByDisk.set(fs, turns);
  return turns;
}

/** By the folder's identity, so that two spellings of one path wait for each other too. */
function turnName(place: FoundPlace): string {
  return `${place.folderIdentity}/${place.name}`;
}
