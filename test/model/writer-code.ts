/**
 * The real update code as an automaton. A writer is started over a store that answers from a list of results; the
 * first call beyond the list is the operation that the writer wants to make next. Since the code depends on nothing
 * but those results, the list *is* the writer's state, and can be continued in several ways.
 */
import { sha256Hex } from "../../shared/adapters/system.js";
import type { UpdateOutcome, UpdateRequest } from "../../shared/durable/run-outcomes.js";
import { openRunStore } from "../../shared/durable/run-store.js";
import type { Etag, ObjectStore, StoreTraits } from "../../shared/storage/object-store.js";
import { run } from "../support/build-run.js";

/** What a writer does next. Texts stand for bytes, and are their own etags: equal bytes have equal etags. */
export type Operation =
  | { readonly verb: "read"; readonly key: string }
  | { readonly verb: "list"; readonly prefix: string }
  | { readonly verb: "create"; readonly key: string; readonly text: string }
  | {
      readonly verb: "replace";
      readonly key: string;
      readonly text: string;
      readonly expected: string;
    }
  | { readonly verb: "remove"; readonly key: string; readonly expected: string }
  | { readonly verb: "acquire lease" }
  | { readonly verb: "check lease" }
  | { readonly verb: "release lease" };

/** What a writer is told: a text, names, or the word of an outcome. */
export type Result = string | readonly string[];

export type Step =
  | { readonly kind: "operation"; readonly operation: Operation }
  | { readonly kind: "ended"; readonly outcome: UpdateOutcome };

export interface WriterState {
  /** Equal ids: the code cannot tell the two states apart. */
  readonly id: number;
  readonly results: readonly Result[];
  readonly step: Step;
}

const localTraits: StoreTraits = {
  kind: "local",
  tornTailPossible: true,
  survives: "power-loss",
  replaceIsConditionalFor: "this-process",
  createIsConditionalFor: "this-host",
  removeIsConditional: true,
  listFollowsWrites: true,
  holdersShareProcessTable: true,
};

const bucketTraits: StoreTraits = {
  ...localTraits,
  kind: "bucket",
  tornTailPossible: false,
  replaceIsConditionalFor: "all-clients",
  createIsConditionalFor: "all-clients",
};

const digests = new Map<string, string>();
const decoder = new TextDecoder();

function digestOf(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  let digest = digests.get(text);
  if (digest === undefined) {
    digest = sha256Hex(bytes);
    digests.set(text, digest);
  }
  return digest;
}

export class WriterCode {
  readonly #mode: "local" | "bucket";
  readonly #request: UpdateRequest;
  readonly #next = new Map<string, WriterState>();
  /** States at the beginning of a look: what came before is forgotten, except for what was tried. */
  readonly #looks = new Map<string, WriterState>();
  #count = 0;

  constructor(mode: "local" | "bucket", request: UpdateRequest) {
    this.#mode = mode;
    this.#request = request;
  }

  start(): Promise<WriterState> {
    return this.#known("start", []);
  }

  /** The state after the operation of `state` was answered with `result`. */
  after(state: WriterState, result: Result): Promise<WriterState> | WriterState {
    const name = `${state.id} ${JSON.stringify(result)}`;
    return this.#next.get(name) ?? this.#known(name, [...state.results, result]);
  }

  async #known(name: string, results: readonly Result[]): Promise<WriterState> {
    const { step, look } = await this.#run(results);
    const same = look === undefined ? undefined : this.#looks.get(look);
    const state = same ?? { id: this.#count, results, step };
    if (same === undefined) this.#count += 1;
    if (look !== undefined) this.#looks.set(look, state);
    this.#next.set(name, state);
    return state;
  }

  /** Runs the code until it wants something that `results` does not answer. */
  #run(results: readonly Result[]): Promise<{ step: Step; look: string | undefined }> {
    return new Promise((resolve, reject) => {
      let answered = 0;
      let atLook = false;
      const tried = new Set<string>();
      const ask = (operation: Operation): Promise<Result> => {
        if (operation.verb === "create") tried.add(operation.text);
        const result = results[answered];
        if (result === undefined) {
          // After an answer in doubt the code remembers more than what it tried: then its whole past counts.
          const isPlain = !results.includes("in doubt");
          const look = atLook && isPlain ? JSON.stringify([...tried].sort()) : undefined;
          resolve({ step: { kind: "operation", operation }, look });
          return new Promise(() => {});
        }
        answered += 1;
        atLook = false;
        return Promise.resolve(result);
      };
      const runs = openRunStore({
        store: scriptedStore(this.#mode === "local" ? localTraits : bucketTraits, ask),
        sha256: digestOf,
        now: () => 0,
        random: () => 0,
        pause: async () => {},
        setAside: async () => {},
        updateAttemptsMax: 1_000,
        acquireLease:
          this.#mode === "bucket"
            ? "not-needed"
            : async (target) => {
                await ask({ verb: "acquire lease" });
                return {
                  target,
                  token: 1,
                  check: async () =>
                    (await ask({ verb: "check lease" })) === "held" ? "held" : "lost",
                  renew: async () => "held",
                  release: async () => void (await ask({ verb: "release lease" })),
                };
              },
        atCrashPoint: (point) => {
          if (point === "look-begun") atLook = true;
        },
      });
      runs
        .update<{ attempts: number }>(run, this.#request, (document) => {
          document.attempts += 1;
          return undefined;
        })
        .then((outcome) => resolve({ step: { kind: "ended", outcome }, look: undefined }), reject);
    });
  }
}

function scriptedStore(
  traits: StoreTraits,
  ask: (operation: Operation) => Promise<Result>,
): ObjectStore {
  const encoder = new TextEncoder();
  return {
    traits,
    read: async (key) => {
      const text = await ask({ verb: "read", key });
      if (typeof text !== "string" || text === "absent") return "absent";
      return { bytes: encoder.encode(text), etag: text as Etag };
    },
    list: async (prefix) => {
      const keys = await ask({ verb: "list", prefix });
      return { keys: typeof keys === "string" ? [] : keys, complete: true };
    },
    replace: async (key, bytes, expected) => {
      const text = decoder.decode(bytes);
      const result = await (expected === "absent"
        ? ask({ verb: "create", key, text })
        : ask({ verb: "replace", key, text, expected }));
      if (result === "written") return { kind: "written", etag: text as Etag };
      if (result === "in doubt") return { kind: "in-doubt", reason: "reply-lost" };
      return { kind: "conflict", currentEtag: "absent" };
    },
    remove: async (key, expected) => {
      const result = await ask({ verb: "remove", key, expected });
      return result === "removed"
        ? { kind: "removed" }
        : { kind: "conflict", currentEtag: "absent" };
    },
    openLog: () => Promise.reject(new Error("no log in this model")),
    readLog: async function* () {},
  };
}
