/**
 * Every interleaving, within bounds, of writers that run the real update code, with crashes, take-overs of the lease,
 * lost and late replies, a foreign writer and a person who puts an old version back.
 *
 * Each store call is one moment. On the local store the condition of a replace is looked at in one moment and the
 * rename happens in another; in a bucket they are one. A state is what is stored, who holds the lease, and where each
 * writer stands; each state is visited once, and judged.
 */
import { keptVersionKey } from "../../shared/format/keys.js";
import { run } from "../support/build-run.js";
import {
  type Cause,
  causeText,
  documentAt,
  effectsOf,
  emptyWorld,
  firstText,
  foreignMoves,
  handMoves,
  headAt,
  idsOf,
  keyOf,
  lateMoves,
  type Move,
  reliable,
  type Scenario,
  sorted,
  type World,
  type Writer,
  withWriter,
} from "./world.js";
import { type Result, WriterCode } from "./writer-code.js";

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** Broken promises, each with its shortest history. */
  readonly violations: ReadonlyMap<string, string>;
  /** How writers ended, over all histories. */
  readonly outcomes: ReadonlyMap<string, number>;
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
