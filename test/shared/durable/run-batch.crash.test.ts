/**
 * R2, R7 and R8 for batches: power lost at every change on a simulated disk, and real processes killed at every
 * named point and at random. Effects are counted per key in an outbox of the receiver.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { openLocalStore } from "../../../shared/adapters/local/local-store.js";
import { pause, sha256Hex } from "../../../shared/adapters/system.js";
import {
  batchCrashPoints,
  checkpointCrashPoints,
} from "../../../shared/durable/checkpoint-crash-points.js";
import { runBatch } from "../../../shared/durable/run-batch.js";
import { createItemFold } from "../../../shared/format/item-state.js";
import { readLogLine } from "../../../shared/format/log-record.js";
import {
  acknowledgedPath,
  type BatchWorkerOrder,
  batchLog,
  effectsByKey,
  keyOf,
  linesAt,
  noting,
  outboxPath,
  runSlice,
} from "../../support/batch-worker.js";
import { seededRandom } from "../../support/build-run.js";
import { killWorkers, startWorker, type Worker } from "../../support/child-process.js";
import { type Crash, crashMatrix, report } from "../../support/crash-matrix.js";
import { DiskState } from "../../support/disk-state.js";
import { anyDevice, type DevicePromises, FaultFs, journalDevice } from "../../support/fault-fs.js";

const full = process.env.LASTGOOD_TEST_FULL === "1";
const log = "runs/checkpoint.jsonl";
const nowMs = Date.parse("2026-11-29T12:00:00.000Z");
const logPath = `/work/${log}`;
const cut = '{"seq":2,"id":"a","ph';
const logText = `{"seq":1,"id":"z","phase":"done"}\n${cut}`;
const otherHost = {
  holder: "w0",
  token: 4,
  host: "there",
  pid: 1,
  operation: "batch",
  acquiredAt: "2026-11-29T11:00:00.000Z",
  renewedAt: "2026-11-29T11:00:00.000Z",
  durationMs: 30_000,
  earlierHolder: "stopped",
};

/** Nobody was there before; or somebody on another host, whose lease has expired and who may still be writing. */
const beginnings: readonly (readonly [string, DiskState, DevicePromises])[] = [
  ["a cut tail", DiskState.with({ [logPath]: logText }), anyDevice],
  [
    "a cut tail of a holder who may be alive",
    DiskState.with({
      [logPath]: logText,
      "/work/runs/checkpoint.lease.4.0.json": JSON.stringify(otherHost),
    }),
    full ? anyDevice : journalDevice, // the first has a thousand states more
  ],
];

afterEach(killWorkers);

/** A receiver that remembers, outside the disk under test, what it was asked to do. */
async function batchOn(
  fs: FaultFs,
  process: number,
  receiver: string[],
  acknowledge: (records: string) => void = () => undefined,
) {
  const store = await openLocalStore({ root: "/work", fs });
  return await runBatch<string>({
    items: ["a", "b", "c"],
    id: (item) => item,
    key: (item) => `k:${item}`,
    effect: async (_item, { key }) => {
      // What a process does after its power is gone reaches nobody.
      if (!fs.hasPower) throw new Error("no power");
      receiver.push(key);
      return { kind: "done" };
    },
    store: noting(store, acknowledge),
    log,
    worker: `w${process}`,
    process: { host: "here", pid: process, processStartedAt: undefined },
    processAlive: (pid) => (pid === process ? "alive" : "gone"),
    now: () => nowMs,
    sha256: sha256Hex,
    pause,
    concurrency: 2,
  });
}

test.each(beginnings)(
  "power lost at any change of a batch over %s: nothing done twice, no confirmed record lost, nothing glued, cut bytes kept",
  async (name, before, device) => {
    let received: string[] = [];
    const retries = { ran: 0, refused: 0 };
    await crashMatrix({
      name: `run-batch over ${name}`,
      promise:
        "with no effect twice, every confirmed record kept, nothing glued, cut bytes in evidence",
      before,
      device,
      act: async (fs, acknowledge) => {
        received = [];
        const outcome = await batchOn(fs, 1, received, acknowledge);
        if (outcome.kind !== "ran") throw new Error(outcome.kind);
      },
      judge: async (crash) => {
        expectCutBytesSomewhere(crash.state);
        retries[await expectRetryRepeatsNothing(crash, received)] += 1;
      },
    });
    report(
      `run-batch after power loss: over ${name}: ${retries.ran} retries went through, ${retries.refused} refused to guess at a torn line`,
    );
    expect(retries.ran).toBeGreaterThan(retries.refused);
  },
);

async function expectRetryRepeatsNothing(
  crash: Crash,
  received: readonly string[],
): Promise<"ran" | "refused"> {
  const found = crash.state.bytes(logPath);
  const torn = found === "absent" ? "" : crash.state.text(logPath);
  const confirmed = crash.acknowledged.flatMap((records) => records.split("\n"));
  for (const line of confirmed) expect(torn.split("\n"), "confirmed records").toContain(line);
  const all = [...received];
  const after = new FaultFs(crash.state);
  const outcome = await batchOn(after, 2, all);
  if (outcome.kind === "log-unreadable") {
    // A hole in the middle of a group that was never confirmed. It is not known what stood there, so nothing is done.
    expect(all).toEqual(received);
    expect(torn).toMatch(/\0|\ufffd/);
    return "refused";
  }
  if (outcome.kind !== "ran") throw new Error(`the retry did not start: ${outcome.kind}`);
  expect(new Set(all).size, `effects ${all.join(", ")}`).toBe(all.length);
  for (const { key, kind } of outcome.results) {
    const wasConfirmed = (phase: string) =>
      confirmed.some((line) => line.includes(`"phase":"${phase}"`) && line.includes(`"${key}"`));
    if (wasConfirmed("done")) expect(kind, key).toBe("already-done");
    else if (wasConfirmed("intent")) expect(kind, key).toMatch(/^(held|already-done)$/);
    if (received.includes(key)) expect(kind, key).toMatch(/^(held|already-done)$/);
  }
  expectWholeLines(after.afterKill().text(logPath));
  return "ran";
}

function expectWholeLines(text: string): void {
  expect(text.endsWith("\n")).toBe(true);
  for (const line of text.slice(0, -1).split("\n")) {
    expect(readLogLine(new TextEncoder().encode(line)).kind, line).toBe("record");
  }
}

/** In the log, in the old file of a take-over under way, or in evidence. */
function expectCutBytesSomewhere(state: DiskState): void {
  const texts = ["/work/runs", "/work/.lastgood/evidence"].flatMap((path) => {
    const folder = state.find(path);
    const names = folder?.kind === "directory" ? [...folder.entries.keys()] : [];
    return names
      .filter((name) => !name.endsWith(".tmp"))
      .map((name) => state.text(`${path}/${name}`));
  });
  expect(texts.filter((text) => text.includes(cut))).not.toEqual([]);
}

// Real processes from here on.

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function workspace(logText?: string): string {
  const folder = mkdtempSync(join(tmpdir(), "lastgood-batch-"));
  folders.push(folder);
  const root = join(folder, "work");
  mkdirSync(join(root, "runs"), { recursive: true });
  if (logText !== undefined) writeFileSync(join(root, batchLog), logText);
  return root;
}

const workerFile = new URL("../../support/batch-worker.ts", import.meta.url);

function start(order: BatchWorkerOrder): Worker {
  return startWorker(workerFile, [JSON.stringify(order)]);
}

/** What must hold at any time, whoever was killed where. */
function expectNothingTwiceNothingLost(root: string, note: string): void {
  for (const [key, times] of effectsByKey(root)) expect(times, `${note}: ${key}`).toBe(1);
  const stored = new Set(linesAt(join(root, batchLog)));
  for (const line of linesAt(acknowledgedPath(root))) {
    expect(stored.has(line), `${note}: confirmed and not in the log: ${line}`).toBe(true);
  }
}

/** What must hold once a retry has gone through: every line a record, and no operation with two effects. */
function expectGoodLog(root: string, note: string): void {
  const operations = createItemFold();
  for (const [index, line] of linesAt(join(root, batchLog)).entries()) {
    const reading = readLogLine(new TextEncoder().encode(line));
    if (reading.kind !== "record") throw new Error(`${note}: line ${index + 1} is glued: ${line}`);
    operations.add({ ...reading.record, line: index + 1, byteOffset: 0 });
  }
  for (const state of operations.items()) {
    expect(state.dones.length, `${note}: ${state.identity}`).toBeLessThanOrEqual(1);
    expect(state.overlaps, `${note}: ${state.identity}`).toEqual([]);
    expect(state.redos, `${note}: ${state.identity}`).toEqual([]);
  }
}

const storePoints = [
  "create: staged",
  "create: linked",
  "append: about to write",
  "append: written",
  "append: synced",
  "append: looked",
  "open log: about to set aside",
  "open log: about to cut",
  "open log: cut",
];

test("a process killed at any named point is followed by one that repeats nothing and finishes the rest", async () => {
  const points = [...checkpointCrashPoints, ...batchCrashPoints, ...(full ? storePoints : [])];
  const times = full ? [1, 2, 3, 4, 5, 6, 7, 8] : [1];
  let killed = 0;
  for (const point of points) {
    for (const time of times) {
      // An intent of somebody long gone, for the settling, and a cut line behind it, for the repair.
      const doubtful = `{"id":"item-0","key":"${keyOf(0)}","phase":"intent","attempt":1}\n`;
      const root = workspace(`${doubtful}{"id":"item-`);
      const order = { root, items: 4, slice: 4, concurrency: 2, seed: 1 };
      const dieAt = { point, time };
      const exit = await start({ ...order, worker: "w1", rechecks: "yes", dieAt }).exited;
      const note = `${point}, time ${time}`;
      if (exit.signal === "SIGKILL") killed += 1;
      else expect(exit.code, note).toBe(0); // came there less often
      if (time === 1) expect(exit.signal, note).toBe("SIGKILL");
      expectNothingTwiceNothingLost(root, note);
      const holding: BatchWorkerOrder = { ...order, worker: "w2", rechecks: "no" };
      const store = await openLocalStore({ root });
      const held = await runSlice(holding, store, 0, () => undefined);
      expect(held.kind, note).toBe("ran");
      expectNothingTwiceNothingLost(root, note);
      expectGoodLog(root, note);
      const asking: BatchWorkerOrder = { ...order, worker: "w3", rechecks: "yes" };
      const asked = await runSlice(asking, store, 0, () => undefined);
      expect(asked.kind === "ran" && asked.results.map(({ kind }) => kind), note).not.toContain(
        "held",
      );
      expectNothingTwiceNothingLost(root, note);
      expect(effectsByKey(root).size, note).toBe(4);
    }
  }
  report(
    `run-batch: killed ${killed} times at ${points.length} named points: nothing twice, nothing confirmed lost`,
  );
}, 600_000);

const sleepPoints = [
  "append: about to write",
  "append: written",
  "item: intent recorded",
  "item: effect done",
];
const moreSleepPoints = [
  "open: lease granted",
  "open: log opened",
  "append: lease checked",
  "append: synced",
  "append: records stored",
  "open: log read",
];

test.each([...sleepPoints, ...(full ? moreSleepPoints : [])])(
  "a process that slept through its lease at '%s' wakes and neither repeats nor unsettles anything",
  async (point) => {
    const root = workspace();
    const order = { root, items: 4, slice: 4, concurrency: 2, seed: 1, leaseMs: 400 };
    const sleeper = start({ ...order, worker: "w1", rechecks: "no", sleepAt: point });
    await sleeper.stopped();
    const store = await openLocalStore({ root });
    const next: BatchWorkerOrder = { ...order, worker: "w2", rechecks: "no" };
    const early = await runSlice(next, store, 0, () => undefined);
    expect(early.kind).toBe("held-by"); // asleep is not gone
    await pause(400);
    const outcome = await runSlice(next, store, 0, () => undefined);
    expect(outcome).toMatchObject({ kind: "ran", tookOver: { because: "expired" } });
    expectNothingTwiceNothingLost(root, "asleep");
    await sleeper.kill("SIGCONT");
    expect((await sleeper.exited).code).toBe(0);
    expectNothingTwiceNothingLost(root, "awake");
    expectGoodLog(root, "awake");
    const last: BatchWorkerOrder = { ...order, worker: "w3", rechecks: "yes" };
    const asked = await runSlice(last, store, 0, () => undefined);
    expect(asked.kind === "ran" && asked.results.map(({ kind }) => kind)).not.toContain("held");
    expectNothingTwiceNothingLost(root, "asked");
    expect(effectsByKey(root).size).toBe(4);
  },
);

test.each(full ? [2, 8, 2, 8] : [2, 8])(
  "%i processes on one log, killed at random, do every effect once",
  async (processes) => {
    const seed = Number(process.env.LASTGOOD_TEST_SEED ?? Date.now() % 1_000_000);
    const kills = full ? 60 : processes + 8;
    const items = full ? 1_000 : 240;
    const random = seededRandom(seed);
    const root = workspace();
    const order = { root, items, slice: 20, concurrency: 4, rechecks: "yes" } as const;
    let started = 0;
    let killed = 0;
    const run = async (): Promise<void> => {
      for (;;) {
        started += 1;
        const worker = start({ ...order, worker: `w${started}`, seed: seed + started });
        const killing = killed + waitingKills < kills;
        if (killing) {
          waitingKills += 1;
          await Promise.race([pause(100 + random() * 250), worker.exited]);
          await worker.kill();
          waitingKills -= 1;
        }
        const exit = await worker.exited;
        if (exit.signal === "SIGKILL") killed += 1;
        else {
          expect(exit.code, `seed ${seed}`).toBe(0);
          return;
        }
      }
    };
    let waitingKills = 0;
    await Promise.all(Array.from({ length: processes }, run));
    expectNothingTwiceNothingLost(root, `seed ${seed}`);
    expectGoodLog(root, `seed ${seed}`);
    expect(effectsByKey(root).size).toBe(items);
    expect(readFileSync(outboxPath(root), "utf8").split("\n")).toHaveLength(items + 1);
    report(
      `run-batch: ${processes} processes, ${killed} kills, seed ${seed}: ${items} of ${items} effects once, ` +
        `${linesAt(acknowledgedPath(root)).length} confirmed records kept`,
    );
  },
  600_000,
);
