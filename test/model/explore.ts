/**
 * Every interleaving, within bounds, of writers that run the real update code, with crashes, take-overs of the lease,
 * lost and late replies, a foreign writer and a person who puts an old version back.
 *
 * Each store call is one moment. On the local store the condition of a replace is looked at in one moment and the
 * rename happens in another; in a bucket they are one. A state is what is stored, who holds the lease, and where each
 * writer stands; each state is visited once, and judged.
 */
import { createHash } from "node:crypto";
import { headKey, keptVersionKey, readKey } from "../../shared/format/keys.js";
import { readRunDocument } from "../../shared/format/run-document.js";
import { run } from "../support/build-run.js";
import { type Operation, type Result, WriterCode, type WriterState } from "./writer-code.js";

export interface Scenario {
  readonly mode: "local" | "bucket";
  readonly updates: readonly {
    readonly updateId: string;
    readonly dependsOn?: readonly string[];
  }[];
  /** How many of each may happen in one history. */
  readonly crashes: number;
  readonly takeOvers: number;
  readonly lostReplies: number;
  /** Which writes can lose their reply, their request, or arrive late. */
  readonly lossy: "commits" | "every write";
  readonly foreignWrites: number;
  readonly handRestores: number;
}

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** Broken promises, each with its shortest history. */
  readonly violations: ReadonlyMap<string, string>;
  /** How writers ended, over all histories. */
  readonly outcomes: ReadonlyMap<string, number>;
}

const headAt = headKey(run);
export const firstText = '{"version":1,"applied_ids":[],"attempts":0}';

type Writer =
  | { readonly kind: "running"; readonly state: WriterState; readonly checked: boolean }
  | { readonly kind: "dead" }
  | { readonly kind: "ended" };

interface World {
  readonly objects: Readonly<Record<string, string>>;
  readonly holder: number | undefined;
  readonly writers: readonly Writer[];
  readonly acknowledged: readonly string[];
  /** Writes on their way that may still arrive. */
  readonly late: readonly LateWrite[];
  /** The head that the foreign writer has read and not yet replaced. */
  readonly foreignRead: string | undefined;
  readonly left: {
    readonly crashes: number;
    readonly takeOvers: number;
    readonly lostReplies: number;
    readonly foreignWrites: number;
    readonly handRestores: number;
  };
}

type LateWrite = Extract<Operation, { verb: "create" | "replace" }>;

/** What led from one state to the next; put into words only where a promise is broken. */
type Cause =
  | string
  | {
      readonly writer: number;
      readonly operation: Operation;
      readonly how: string;
      readonly result: Result;
    };

interface Move {
  readonly cause: Cause;
  readonly world: World;
  /** What a rename put in the place of something its writer had not read. */
  readonly overwrote?: string;
}

export async function explore(scenario: Scenario): Promise<Exploration> {
  const explorer = new Explorer(scenario);
  return explorer.run();
}

interface Visit {
  readonly world: World;
  readonly history: History;
}

/** Outlives the world it led to, so that millions of states leave only their way behind. */
interface History {
  readonly before: History | undefined;
  readonly cause: Cause;
}

class Explorer {
  readonly #scenario: Scenario;
  readonly #codes: readonly WriterCode[];
  readonly #probe: WriterCode;
  readonly #probed = new Map<string, Probe>();
  readonly #violations = new Map<string, string>();
  readonly #outcomes = new Map<string, number>();

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#codes = scenario.updates.map(
      (update) =>
        new WriterCode(scenario.mode, {
          onStale: "refuse",
          updateId: update.updateId,
          ...(update.dependsOn === undefined ? {} : { basedOn: 1, dependsOn: update.dependsOn }),
        }),
    );
    this.#probe = new WriterCode(scenario.mode, { updateId: "probe", onStale: "refuse" });
  }

  async run(): Promise<Exploration> {
    const first: World = {
      objects: { [headAt]: firstText, [keptVersionKey(run, 1)]: firstText },
      holder: undefined,
      writers: await Promise.all(this.#codes.map((code) => this.#started(code))),
      acknowledged: [],
      late: [],
      foreignRead: undefined,
      left: { ...this.#scenario },
    };
    const seen = new Set([keyOf(first)]);
    // Breadth first, in generations, so that the first history of a violation is a shortest one.
    let generation: Visit[] = [{ world: first, history: { before: undefined, cause: "start" } }];
    let moves = 0;
    while (generation.length > 0) {
      const following: Visit[] = [];
      for (const visit of generation) {
        await this.#judge(visit);
        for (const move of await this.#moves(visit.world)) {
          moves += 1;
          const history = { before: visit.history, cause: move.cause };
          const next = { world: move.world, history };
          if (move.overwrote !== undefined) await this.#judgeOverwritten(next, move.overwrote);
          const key = keyOf(move.world);
          if (seen.has(key)) continue;
          seen.add(key);
          following.push(next);
        }
      }
      generation = following;
    }
    const { size: states } = seen;
    return { states, moves, violations: this.#violations, outcomes: this.#outcomes };
  }

  async #started(code: WriterCode): Promise<Writer> {
    return { kind: "running", state: await code.start(), checked: false };
  }

  async #moves(world: World): Promise<Move[]> {
    const moves: Move[] = [];
    for (const [i, writer] of world.writers.entries()) {
      if (writer.kind === "ended") continue;
      if (writer.kind === "dead") {
        const code = this.#codes[i];
        if (code === undefined) continue;
        moves.push({
          cause: `W${i} restarts`,
          world: withWriter(world, i, await this.#started(code)),
        });
        continue;
      }
      moves.push(...(await this.#writerMoves(world, i, writer)));
    }
    moves.push(...foreignMoves(world), ...handMoves(world), ...lateMoves(world));
    return moves;
  }

  async #writerMoves(
    world: World,
    i: number,
    writer: Extract<Writer, { kind: "running" }>,
  ): Promise<Move[]> {
    const { step } = writer.state;
    if (step.kind === "ended") return [];
    const { operation } = step;
    const moves: Move[] = [];
    const answered = async (given: World, result: Result, how = ""): Promise<Move> => ({
      cause: { writer: i, operation, how, result },
      world: await this.#advance(given, i, writer, result),
    });
    for (const effect of effectsOf(world, this.#scenario, i, operation, writer.checked)) {
      if (effect.kind === "checked") {
        const checked = withWriter(world, i, { ...writer, checked: true });
        const cause = { writer: i, operation, how: " looks at the condition", result: "it holds" };
        moves.push({ cause, world: checked });
        continue;
      }
      const move = await answered(effect.world, effect.result, effect.how);
      moves.push(effect.overwrote === undefined ? move : { ...move, overwrote: effect.overwrote });
    }
    const isUnderway = operation.verb !== "acquire lease" && world.left.crashes > 0;
    if (isUnderway) {
      const left = { ...world.left, crashes: world.left.crashes - 1 };
      moves.push({
        cause: `W${i} DIES`,
        world: withWriter({ ...world, left }, i, { kind: "dead" }),
      });
    }
    return moves;
  }

  /** The writer has its answer: it goes on to its next operation, or ends, or asks again with the same id. */
  async #advance(
    world: World,
    i: number,
    writer: Extract<Writer, { kind: "running" }>,
    result: Result,
  ): Promise<World> {
    const code = this.#codes[i];
    if (code === undefined) return world;
    let state = await code.after(writer.state, result);
    let now = world;
    // Giving the lease back has no moment of its own: nobody waits for it, and nothing follows from its order.
    while (state.step.kind === "operation" && state.step.operation.verb === "release lease") {
      if (now.holder === i) now = { ...now, holder: undefined };
      state = await code.after(state, "released");
    }
    if (state.step.kind === "operation") {
      return withWriter(now, i, { kind: "running", state, checked: false });
    }
    const { outcome } = state.step;
    this.#outcomes.set(outcome.kind, (this.#outcomes.get(outcome.kind) ?? 0) + 1);
    const id = this.#scenario.updates[i]?.updateId ?? "";
    switch (outcome.kind) {
      case "applied":
      case "already-applied":
        return withWriter(
          { ...now, acknowledged: [...new Set([...now.acknowledged, id])].sort() },
          i,
          { kind: "ended" },
        );
      case "lease-lost":
      case "in-doubt":
        return withWriter(now, i, await this.#started(code));
      default:
        return withWriter(now, i, { kind: "ended" });
    }
  }

  async #judge(visit: Visit): Promise<void> {
    const { objects, acknowledged } = visit.world;
    const head = documentAt(objects);
    if (head === undefined) return this.#broken("R1 the head is not a document", visit);
    if (new Set(head.ids).size !== head.ids.length || head.attempts !== head.ids.length) {
      this.#broken("R3 an update was absorbed twice", visit);
    }
    const lateIds = this.#scenario.updates.filter((update) => update.dependsOn !== undefined);
    for (const { updateId } of lateIds) {
      if (head.ids.indexOf(updateId) > 0)
        this.#broken("R6 committed although its inputs had moved", visit);
    }
    const missing = acknowledged.filter((id) => !head.ids.includes(id));
    const probe = await this.#probeOf(objects);
    if (probe.kind === "stuck") this.#broken("a fresh writer alone never comes to an end", visit);
    if (missing.length > 0 && !isReportedOrHealed(probe, missing)) {
      this.#broken("R4 an acknowledged update was lost and nothing says so", visit);
    }
  }

  async #judgeOverwritten(visit: Visit, overwritten: string): Promise<void> {
    const lost = idsOf(overwritten);
    const head = documentAt(visit.world.objects);
    if (head === undefined || lost.every((id) => head.ids.includes(id))) return;
    // What a person or a foreign writer put there is not acknowledged by us; their bytes are named in the guarantee table.
    const { foreignWrites, handRestores } = visit.world.left;
    const isForeign = lost.includes("foreign") || handRestores < this.#scenario.handRestores;
    if (
      isForeign &&
      foreignWrites + handRestores < this.#scenario.foreignWrites + this.#scenario.handRestores
    )
      return;
    if (isReportedOrHealed(await this.#probeOf(visit.world.objects), lost)) return;
    this.#broken(
      "R5 a former holder's late rename hid another's version, and nothing says so",
      visit,
    );
  }

  #broken(promise: string, visit: Visit): void {
    if (this.#violations.has(promise)) return;
    const labels: string[] = [];
    for (let at: History | undefined = visit.history; at !== undefined; at = at.before)
      labels.push(causeText(at.cause));
    const stored = JSON.stringify(visit.world.objects, undefined, 1);
    this.#violations.set(promise, `${labels.reverse().join("\n  ")}\n${stored}`);
  }

  /** What a fresh writer, all alone, makes of what is stored. */
  async #probeOf(objects: World["objects"]): Promise<Probe> {
    const key = JSON.stringify(sorted(objects));
    const known = this.#probed.get(key);
    if (known !== undefined) return known;
    const probe = await this.#probeAlone(objects);
    this.#probed.set(key, probe);
    return probe;
  }

  async #probeAlone(objects: World["objects"]): Promise<Probe> {
    let state = await this.#probe.start();
    let world: World = { ...emptyWorld, objects };
    for (let steps = 0; steps < 500; steps += 1) {
      if (state.step.kind === "ended") {
        const { kind } = state.step.outcome;
        return kind === "applied"
          ? { kind: "applied", ids: idsOf(world.objects[headAt]) }
          : { kind: "refused", by: kind };
      }
      const { operation } = state.step;
      const [first] = effectsOf({ ...world, holder: 0 }, reliable, 0, operation, false);
      if (first === undefined || first.kind === "checked") break;
      world = first.world;
      state = await this.#probe.after(state, first.result);
    }
    return { kind: "stuck" };
  }
}

type Probe =
  | { readonly kind: "applied"; readonly ids: readonly string[] }
  | { readonly kind: "refused"; readonly by: string }
  | { readonly kind: "stuck" };

function isReportedOrHealed(probe: Probe, ids: readonly string[]): boolean {
  if (probe.kind === "refused") return true;
  return probe.kind === "applied" && ids.every((id) => probe.ids.includes(id));
}

type StoreKind = Pick<Scenario, "mode" | "lossy">;

/** For a writer alone: nobody acts between a look and a write. */
const reliable: StoreKind = { mode: "bucket", lossy: "commits" };

const emptyWorld: World = {
  objects: {},
  holder: undefined,
  writers: [],
  acknowledged: [],
  late: [],
  foreignRead: undefined,
  left: { crashes: 0, takeOvers: 0, lostReplies: 0, foreignWrites: 0, handRestores: 0 },
};

type Effect =
  | { readonly kind: "checked" }
  | {
      readonly kind: "done";
      readonly world: World;
      readonly result: Result;
      readonly how?: string;
      readonly overwrote?: string;
    };

/** All that can come of an operation at this moment. */
function effectsOf(
  world: World,
  store: StoreKind,
  i: number,
  operation: Operation,
  checked: boolean,
): readonly Effect[] {
  const { objects } = world;
  switch (operation.verb) {
    case "read":
      return [done(world, objects[operation.key] ?? "absent")];
    case "list":
      return [
        done(
          world,
          Object.keys(objects)
            .filter((key) => key.startsWith(operation.prefix))
            .sort(),
        ),
      ];
    case "acquire lease":
      return acquireEffects(world, i);
    case "check lease":
      return [done(world, world.holder === i ? "held" : "lost")];
    case "release lease":
      return [done(world, "released")];
    case "remove": {
      if (checked) return [done(without(world, operation.key), "removed")];
      if (objects[operation.key] !== operation.expected) return [done(world, "conflict")];
      // Nowhere is a removal bound to what was looked at before.
      return store.mode === "local"
        ? [{ kind: "checked" }]
        : [done(without(world, operation.key), "removed")];
    }
    case "replace":
    case "create":
      return writeEffects(world, store, i, operation, checked);
  }
}

function acquireEffects(world: World, i: number): readonly Effect[] {
  const { holder, left } = world;
  const holderState = holder === undefined ? undefined : world.writers[holder];
  const isFree = holder === undefined || holder === i || holderState?.kind !== "running";
  if (isFree) return [done({ ...world, holder: i }, "granted")];
  if (left.takeOvers === 0) return [];
  const taken = { ...world, holder: i, left: { ...left, takeOvers: left.takeOvers - 1 } };
  return [{ ...done(taken, "granted"), how: " TAKES OVER" }];
}

function writeEffects(
  world: World,
  { mode, lossy }: StoreKind,
  i: number,
  operation: LateWrite,
  checked: boolean,
): readonly Effect[] {
  const there = world.objects[operation.key];
  const written = done(withObject(world, operation.key, operation.text), "written");
  if (operation.verb === "replace" && mode === "local") {
    if (!checked)
      return there === operation.expected ? [{ kind: "checked" }] : [done(world, "conflict")];
    const isUnread = there !== operation.expected && there !== operation.text;
    const isFormerHolder = world.holder !== i;
    return [
      isFormerHolder && isUnread && there !== undefined
        ? { ...written, overwrote: there }
        : written,
    ];
  }
  const holds = isConditionTrue(operation, there);
  const plain = holds ? written : done(world, "conflict");
  const canBeLost = mode === "bucket" && (lossy === "every write" || operation.verb === "replace");
  if (!canBeLost || world.left.lostReplies === 0) return [plain];
  const left = { ...world.left, lostReplies: world.left.lostReplies - 1 };
  const arrived = { ...plain.world, left };
  const lost = { ...world, left };
  const late = { ...lost, late: [...world.late, operation] };
  return [
    plain,
    { ...done(arrived, "in doubt"), how: " (reply lost)" },
    { ...done(lost, "in doubt"), how: " (request lost)" },
    { ...done(late, "in doubt"), how: " (request late)" },
  ];
}

function isConditionTrue(operation: LateWrite, there: string | undefined): boolean {
  return operation.verb === "create" ? there === undefined : there === operation.expected;
}

function lateMoves(world: World): Move[] {
  return world.late.map((operation, i) => {
    const rest = { ...world, late: world.late.filter((_, at) => at !== i) };
    const holds = isConditionTrue(operation, world.objects[operation.key]);
    return {
      cause: `a late write arrives: ${describe(operation)}`,
      world: holds ? withObject(rest, operation.key, operation.text) : rest,
    };
  });
}

/** A writer that knows neither claims nor leases: reads the head, and later replaces it with the next version. */
function foreignMoves(world: World): Move[] {
  const { foreignRead, left, objects } = world;
  const head = objects[headAt];
  if (foreignRead !== undefined) {
    const document = readRunDocument(new TextEncoder().encode(foreignRead));
    if (document.kind !== "run") return [];
    const next = JSON.stringify({
      version: document.version + 1,
      applied_ids: [...document.appliedIds, "foreign"],
      attempts: Number(document.value.attempts) + 1,
    });
    const replaced = withObject({ ...world, foreignRead: undefined }, headAt, next);
    return [{ cause: `the foreign writer replaces the head by ${next}`, world: replaced }];
  }
  if (left.foreignWrites === 0 || head === undefined) return [];
  const reading = {
    ...world,
    foreignRead: head,
    left: { ...left, foreignWrites: left.foreignWrites - 1 },
  };
  return [{ cause: "the foreign writer reads the head", world: reading }];
}

/** A person copies an older kept version over the head. */
function handMoves(world: World): Move[] {
  const { left, objects } = world;
  const head = documentAt(objects);
  if (left.handRestores === 0 || head === undefined) return [];
  const moves: Move[] = [];
  for (const [key, text] of Object.entries(objects)) {
    const meaning = readKey(key);
    if (meaning.kind !== "kept-version" || meaning.version >= head.version) continue;
    const restored = { ...world, left: { ...left, handRestores: left.handRestores - 1 } };
    moves.push({
      cause: `A PERSON puts version ${meaning.version} back`,
      world: withObject(restored, headAt, text),
    });
  }
  return moves;
}

function done(world: World, result: Result): Extract<Effect, { kind: "done" }> {
  return { kind: "done", world, result };
}

function withObject(world: World, key: string, text: string): World {
  return { ...world, objects: { ...world.objects, [key]: text } };
}

function without(world: World, key: string): World {
  const { [key]: _gone, ...objects } = world.objects;
  return { ...world, objects };
}

function withWriter(world: World, i: number, writer: Writer): World {
  return { ...world, writers: world.writers.with(i, writer) };
}

interface Head {
  readonly version: number;
  readonly ids: readonly string[];
  readonly attempts: unknown;
}

const heads = new Map<string, Head | undefined>();

function documentAt(objects: World["objects"]): Head | undefined {
  const text = objects[headAt];
  if (text === undefined) return undefined;
  if (!heads.has(text)) heads.set(text, headOf(text));
  return heads.get(text);
}

function headOf(text: string): Head | undefined {
  const document = readRunDocument(new TextEncoder().encode(text));
  if (document.kind !== "run") return undefined;
  return { version: document.version, ids: idsOf(text), attempts: document.value.attempts };
}

function idsOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : (JSON.parse(text) as { applied_ids: string[] }).applied_ids;
}

function sorted(objects: World["objects"]): [string, string][] {
  return Object.entries(objects).sort(([a], [b]) => (a < b ? -1 : 1));
}

function keyOf(world: World): string {
  const writers = world.writers.map((writer) =>
    writer.kind === "running" ? `${writer.state.id}${writer.checked ? "c" : ""}` : writer.kind,
  );
  const { objects, holder, acknowledged, late, foreignRead } = world;
  const { crashes, takeOvers, lostReplies, foreignWrites, handRestores } = world.left;
  const left = [crashes, takeOvers, lostReplies, foreignWrites, handRestores];
  const all = [sorted(objects), holder, writers, acknowledged, late, foreignRead, left];
  // A short digest in the place of a kilobyte: millions of states are held at once.
  return createHash("sha256").update(JSON.stringify(all)).digest("base64").slice(0, 22);
}

function describe(operation: Operation): string {
  if (!("key" in operation)) return operation.verb;
  const name = operation.key.slice(run.length - "run_9d4a".length);
  return "text" in operation
    ? `${operation.verb} ${name} as ${operation.text}`
    : `${operation.verb} ${name}`;
}

function causeText(cause: Cause): string {
  if (typeof cause === "string") return cause;
  const { writer, operation, how, result } = cause;
  return `W${writer} ${describe(operation)}${how} → ${describeResult(result)}`;
}

function describeResult(result: Result): string {
  return typeof result === "string" ? result : `${result.length} names`;
}
