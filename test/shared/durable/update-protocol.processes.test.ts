/**
 * R2 to R5 with real processes on a real disk: killed at random, killed and stopped at each named point, taken over.
 * What they acknowledged is counted against what the document holds in the end.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLocalStore } from "../../../shared/adapters/local/local-store.js";
import { updateCrashPoints } from "../../../shared/durable/run-crash-points.js";
import type { UpdateOutcome } from "../../../shared/durable/run-outcomes.js";
import { openRunStore } from "../../../shared/durable/run-store.js";
import {
  claimAt,
  headAt,
  keptAt,
  put,
  run,
  runOptions,
  seededRandom,
} from "../../support/build-run.js";
import { killWorkers, startWorker, type Worker } from "../../support/child-process.js";
import { report } from "../../support/crash-matrix.js";
import { countOne, isAcknowledged, type TallyDocument } from "../../support/run-tally.js";
import type { WorkerMessage, WorkerOrders } from "../../support/run-worker.js";
import { seedOf } from "../../support/seed.js";

const isFull = process.env.LASTGOOD_TEST_FULL === "1";
const workerFile = new URL("../../support/run-worker.ts", import.meta.url);

let root: string;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "lastgood-runs-"));
  mkdirSync(join(root, "runs"));
  const { runs } = await openRuns();
  await runs.createRun(run, { workers: {} });
});

afterEach(async () => {
  await killWorkers();
  rmSync(root, { recursive: true, force: true });
});

async function openRuns() {
  const store = await openLocalStore({ root });
  return { store, runs: openRunStore(runOptions(store)) };
}

function start(orders: Partial<WorkerOrders> & Pick<WorkerOrders, "name">): Worker {
  const all: WorkerOrders = {
    root,
    from: 1,
    to: 1,
    updatesPerLease: 1,
    leaseMs: 30_000,
    ledgerWindowCount: 64,
    ...orders,
  };
  return startWorker(workerFile, [JSON.stringify(all)]);
}

async function answer(worker: Worker): Promise<WorkerMessage> {
  return (await worker.next()) as WorkerMessage;
}

/** The answer to the update, whatever the worker tells besides. */
async function acknowledgement(worker: Worker): Promise<WorkerMessage> {
  for (;;) {
    const message = await answer(worker);
    if (message.kind !== "helped") return message;
  }
}

async function tally(): Promise<TallyDocument["workers"]> {
  const head = JSON.parse(readFileSync(join(root, headAt), "utf8")) as TallyDocument;
  return head.workers;
}

interface Fleet {
  readonly workers: number;
  readonly updatesEach: number;
  readonly seed: number;
}

interface FleetCount {
  kills: number;
  acknowledged: number;
  absorbed: number;
  helped: number;
  askedAgain: number;
}

/** Workers that update until each has all its updates in, however often they are killed on the way. */
async function runFleet({ workers, updatesEach, seed }: Fleet): Promise<FleetCount> {
  const random = seededRandom(seed);
  const count: FleetCount = { kills: 0, acknowledged: 0, absorbed: 0, helped: 0, askedAgain: 0 };

  async function follow(name: string): Promise<void> {
    let from = 1;
    while (from <= updatesEach) {
      const worker = start({
        name,
        from,
        to: updatesEach,
        updatesPerLease: 1 + Math.floor(random() * 6),
        // A killed worker asks again only after the others have gone on: their updates must not push its id out.
        ledgerWindowCount: 2_000,
      });
      const acknowledgementsToLive = 1 + Math.floor(random() * (isFull ? 40 : 10));
      const lateByMs = random() * 12;
      let seen = 0;
      for (;;) {
        const message = await answer(worker).catch(() => undefined);
        if (message === undefined || message.kind === "finished") break;
        if (message.kind === "refused")
          throw new Error(`refused: ${JSON.stringify(message.outcome)}`);
        if (message.kind === "helped") count.helped += 1;
        if (message.kind === "asking-again") count.askedAgain += 1;
        if (message.kind !== "acknowledged") continue;
        expect(message.number).toBe(from);
        from = message.number + 1;
        count.acknowledged += 1;
        if (message.as === "already-applied") count.absorbed += 1;
        seen += 1;
        if (seen !== acknowledgementsToLive || from > updatesEach) continue;
        // Somewhere inside the next update: where exactly is up to the machine.
        await new Promise((resolve) => setTimeout(resolve, lateByMs));
        count.kills += 1;
        await worker.kill("SIGKILL");
        from = drained(worker, from, count);
        break;
      }
    }
  }

  await Promise.all(Array.from({ length: workers }, (_, i) => follow(`w${i + 1}`)));
  return count;
}

/** Acknowledgements that were still on their way when the worker was killed. */
function drained(worker: Worker, from: number, count: FleetCount): number {
  let next = from;
  for (const message of worker.drain() as WorkerMessage[]) {
    if (message.kind !== "acknowledged") continue;
    next = message.number + 1;
    count.acknowledged += 1;
  }
  return next;
}

describe("workers killed at random and started again", () => {
  test.each([
    [2, isFull ? 2_500 : 60],
    [8, isFull ? 625 : 15],
  ])(
    "%i of them lose nothing and apply nothing twice",
    async (workers, updatesEach) => {
      const seed = seedOf(`fleet of ${workers}`);
      const startedAtMs = Date.now();
      const count = await runFleet({ workers, updatesEach, seed });
      const sum = (updatesEach * (updatesEach + 1)) / 2;
      for (const [name, part] of Object.entries(await tally())) {
        expect(part, name).toEqual({ count: updatesEach, sum });
      }
      expect(Object.keys(await tally())).toHaveLength(workers);
      expect(count.acknowledged).toBe(workers * updatesEach);
      const { runs } = await openRuns();
      const head = await runs.read(run);
      // One version for each update, no more and no fewer.
      expect(head.kind === "run" && head.version).toBe(1 + workers * updatesEach);
      report(
        `${workers} workers, seed ${seed}: ${workers * updatesEach} updates, ${count.kills} kills, ` +
          `${count.absorbed} retries absorbed, ${count.helped} claims finished for others, ` +
          `${count.askedAgain} asked again: 0 lost, 0 applied twice, in ${Date.now() - startedAtMs} ms`,
      );
    },
    isFull ? 1_800_000 : 120_000,
  );
});

describe("a worker that is killed at a named point, and asks again", () => {
  const storePoints = [
    "replace: staged",
    "replace: about to rename",
    "replace: renamed",
    "create: linked",
  ];
  const theirs = JSON.stringify({
    version: 2,
    applied_ids: ["theirs:1"],
    workers: { theirs: { count: 1, sum: 1 } },
  });

  /** Some points lie only on the way through what somebody else left behind. */
  async function prepare(point: string): Promise<void> {
    const { store } = await openRuns();
    const first = readFileSync(join(root, headAt), "utf8");
    if (point.startsWith("help-")) await put(store, claimAt(first, 2), theirs);
    if (point === "torn-claim-set-aside") await put(store, claimAt(first, 2), theirs.slice(0, 40));
    if (point === "head-kept") rmSync(join(root, keptAt(1)));
  }

  /** The first update of a worker, made by this process in its stead. */
  async function updateHere(name: string): Promise<UpdateOutcome> {
    const { runs } = await openRuns();
    const request = { updateId: `${name}:1`, onStale: "refuse" } as const;
    return runs.update<TallyDocument>(run, request, (document) => countOne(document, name, 1));
  }

  test.each([...updateCrashPoints, ...storePoints])("“%s”: absorbed once", async (point) => {
    await prepare(point);
    const dying = start({ name: "w1", at: { point, nth: 1, signal: "SIGKILL" } });
    expect(await dying.exited).toMatchObject({ signal: "SIGKILL" });
    for (const name of ["w2", "w1"]) expect(isAcknowledged(await updateHere(name))).toBe(true);
    expect(await tally()).toMatchObject({ w1: { count: 1, sum: 1 }, w2: { count: 1, sum: 1 } });
    if (point.startsWith("help-")) expect(await tally()).toHaveProperty("theirs");
  });
});

describe("a worker that is stopped at a named point while its lease runs out", () => {
  const leaseMs = 250;

  async function stopAndTakeOver(point: string): Promise<{ stopped: Worker; head: string }> {
    const stopped = start({ name: "w1", leaseMs, at: { point, nth: 1, signal: "SIGSTOP" } });
    await stopped.stopped();
    const other = start({ name: "w2", to: 3, leaseMs });
    for (const number of [1, 2, 3]) {
      expect(await acknowledgement(other)).toMatchObject({ kind: "acknowledged", number });
    }
    await other.exited;
    const head = readFileSync(join(root, headAt), "utf8");
    await stopped.kill("SIGCONT");
    return { stopped, head };
  }

  test.each([
    "look-begun",
    "looked",
    "change-made",
    "claimed",
    "next-version-looked-for",
    "lease-checked",
    "committed",
    "kept",
  ])("“%s”: goes on without undoing what the new holder did", async (point) => {
    const { stopped } = await stopAndTakeOver(point);
    await stopped.exited;
    const messages = stopped.drain() as WorkerMessage[];
    expect(messages.filter(({ kind }) => kind === "acknowledged")).toHaveLength(1);
    expect(await tally()).toEqual({ w1: { count: 1, sum: 1 }, w2: { count: 3, sum: 6 } });
  });

  test("“replace: about to rename”: its late rename is named head-behind, and nothing is lost", async () => {
    const { stopped, head } = await stopAndTakeOver("replace: about to rename");
    await stopped.exited;
    const { runs } = await openRuns();
    const update = await runs.update(run, { updateId: "next", onStale: "refuse" }, () => undefined);
    expect(update).toMatchObject({ kind: "head-behind", newestKept: 5 });
    expect(readFileSync(join(root, keptAt(5)), "utf8")).toBe(head);
  });
});
