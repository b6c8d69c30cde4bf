/** Runs in any state a test needs, and the effects a run store asks for, all under the test's control. */

import { sha256Hex } from "../../shared/adapters/system.js";
import { LastgoodError } from "../../shared/base/errors.js";
import type { HeldLease } from "../../shared/durable/lease.js";
import type { UpdateRequest } from "../../shared/durable/run-outcomes.js";
import {
  openRunStore,
  type RunStore,
  type RunStoreOptions,
} from "../../shared/durable/run-store.js";
import { headKey, keptVersionKey, pendingKey, type RunName } from "../../shared/format/keys.js";
import { createMemoryStore } from "../../shared/storage/memory-store.js";
import type { DoubtReason, Key, ObjectStore } from "../../shared/storage/object-store.js";

export const run: RunName = "runs/run_9d4a";

/** Effects for a run store over `store`: no waiting, and the same "random" numbers each time. */
export function runOptions(
  store: ObjectStore,
  given: Partial<RunStoreOptions> = {},
): RunStoreOptions {
  return {
    store,
    sha256: sha256Hex,
    now: () => 1_795_953_600_000,
    random: seededRandom(1),
    pause: async () => {},
    acquireLease: async (target) => heldLease(target),
    ...given,
  };
}

export interface BuiltRun {
  readonly store: ObjectStore;
  readonly runs: RunStore;
}

export function buildRuns(given: Partial<RunStoreOptions> = {}): BuiltRun {
  const store = given.store ?? createMemoryStore();
  return { store, runs: openRunStore(runOptions(store, given)) };
}

/** A lease in memory: held until `lose` is called. */
export function heldLease(target: Key): HeldLease & { lose(): void; readonly released: boolean } {
  let state: "held" | "lost" = "held";
  let released = false;
  return {
    target,
    token: 1,
    check: async () => state,
    renew: async () => state,
    release: async () => {
      released = true;
    },
    lose: () => {
      state = "lost";
    },
    get released() {
      return released;
    },
  };
}

/** Small, fast and seeded (mulberry32): a failing test can be run again as it was. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Puts bytes under a key whatever is there: the foreign writer, or the person with an editor. */
export async function put(store: ObjectStore, key: Key, text: string): Promise<void> {
  const there = await store.read(key);
  await store.replace(
    key,
    new TextEncoder().encode(text),
    there === "absent" ? "absent" : there.etag,
  );
}

export async function removeKey(store: ObjectStore, key: Key): Promise<void> {
  const there = await store.read(key);
  if (there !== "absent") await store.remove(key, there.etag);
}

export async function textAt(store: ObjectStore, key: Key): Promise<string | "absent"> {
  const there = await store.read(key);
  return there === "absent" ? "absent" : new TextDecoder().decode(there.bytes);
}

/** Every key with its text: what a test compares to see that nothing was written. */
export async function everything(store: ObjectStore): Promise<Record<Key, string>> {
  const all: Record<Key, string> = {};
  for (const key of (await store.list("", 1_000)).keys) all[key] = await textAt(store, key);
  return all;
}

export const headAt = headKey(run);
export const keptAt = (version: number): Key => keptVersionKey(run, version);

/** Where the claim for the version after `headText` stands. */
export function claimAt(headText: string, version: number): Key {
  return pendingKey(run, version, sha256Hex(new TextEncoder().encode(headText)));
}

/** What goes wrong with one write. "…-lost" and "directory-sync-failed" end in doubt, "refused" is an error. */
export type Fault = "none" | "request-lost" | "reply-lost" | "directory-sync-failed" | "refused";

/** A store whose writes go wrong where the test says so; `verb` is create, replace or remove. */
export function faultyStore(
  store: ObjectStore,
  faultOf: (verb: "create" | "replace" | "remove", key: Key) => Fault,
): ObjectStore {
  const write = async <Outcome>(
    fault: Fault,
    key: Key,
    perform: () => Promise<Outcome>,
  ): Promise<Outcome | { readonly kind: "in-doubt"; readonly reason: DoubtReason }> => {
    if (fault === "refused") {
      throw new LastgoodError("storage-full", `no space for ${key}`, { subject: key });
    }
    if (fault === "request-lost") return { kind: "in-doubt", reason: "reply-lost" };
    const outcome = await perform();
    return fault === "none" ? outcome : { kind: "in-doubt", reason: fault };
  };
  return {
    traits: store.traits,
    read: (key) => store.read(key),
    list: (prefix, countMax) => store.list(prefix, countMax),
    openLog: (key, options) => store.openLog(key, options),
    readLog: (key, fromByte) => store.readLog(key, fromByte),
    replace: (key, bytes, expected) =>
      write(faultOf(expected === "absent" ? "create" : "replace", key), key, () =>
        store.replace(key, bytes, expected),
      ),
    remove: (key, expected) =>
      write(faultOf("remove", key), key, () => store.remove(key, expected)),
  };
}

/** The fault, the first `times` times that `matches` holds. */
export function faultFor(
  fault: Fault,
  matches: (verb: string, key: Key) => boolean,
  times = 1,
): (verb: string, key: Key) => Fault {
  let left = times;
  return (verb, key) => {
    if (left <= 0 || !matches(verb, key)) return "none";
    left -= 1;
    return fault;
  };
}

/** The document that tests of updates work on. */
export interface Pipeline {
  attempts: number;
  findings: { clause: string }[];
  report?: { text: string; based_on_version?: number };
  tasks: { id: string; status: string }[];
}

export const request = (updateId: string, more: Partial<UpdateRequest> = {}): UpdateRequest => ({
  updateId,
  onStale: "refuse",
  ...more,
});
export const countUp = (document: Pipeline): undefined => {
  document.attempts += 1;
};
