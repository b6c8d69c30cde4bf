/** Real processes, killed and stopped by real signals, on a real disk. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { crashPoints } from "../../../../shared/adapters/local/crash-points.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { killWorkers, startWorker, type Worker } from "../../../support/child-process.js";
import { report } from "../../../support/crash-matrix.js";
import { logOptions, utf8 } from "../../../support/store-shorthand.js";

const replacer = new URL("./replace.worker.ts", import.meta.url);
const appender = new URL("./append.worker.ts", import.meta.url);
const full = process.env.LASTGOOD_TEST_FULL === "1";
const canStop = process.platform === "linux";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "lastgood-processes-"));
});
afterEach(async () => {
  await killWorkers();
  await rm(root, { recursive: true, force: true });
});

const seed = Number(process.env.LASTGOOD_TEST_SEED ?? Date.now() % 1_000_000);
const rounds = full ? 60 : 8;

test(`a reader never sees a mixture while writers replace and are killed at random (seed ${seed})`, async () => {
  const random = randomFrom(seed);
  const document = join(root, "runs", "run_9d4a.json");
  await mkdir(join(root, "runs"));
  let reads = 0;
  let killedWithin = 0;
  for (let round = 0; round < rounds; round += 1) {
    const sizeBytes = Math.floor(random() * 200_000);
    const worker = startWorker(replacer, [root, "500", String(sizeBytes)]);
    expect(await worker.next()).toBe("started");
    const killAfterReads = Math.floor(random() * 60);
    for (let i = 0; i < killAfterReads; i += 1) {
      await expectWholeDocument(document);
      reads += 1;
    }
    await worker.kill();
    const confirmed = worker.drain().filter((message) => typeof message === "number");
    if (confirmed.length > 0) {
      const { version } = JSON.parse(await readFile(document, "utf8"));
      // The one confirmed last, or the next, whose confirmation the kill cut off.
      expect([confirmed.length, confirmed.length + 1]).toContain(version);
      killedWithin += confirmed.length < 500 ? 1 : 0;
    }
    await expectWholeDocument(document);
  }
  report(
    `readers and killed writers: ${reads} reads in ${rounds} rounds (${killedWithin} kills while replacing), none a mixture`,
  );
  expect(killedWithin).toBeGreaterThan(0);
}, 300_000);

test(`no confirmed record is lost and none is glued when writers are killed at random (seed ${seed})`, async () => {
  const random = randomFrom(seed + 1);
  const confirmed: string[] = [];
  let cutTails = 0;
  for (let round = 0; round < rounds; round += 1) {
    const writer = startWorker(appender, [root, "in-place", ""]);
    expect(await writer.next()).toBe("open");
    const sent = Array.from({ length: 300 }, (_, i) => `${round}-${i}-${"x".repeat(i)}`);
    for (const id of sent) writer.send(`{"id":"${id}"}`);
    const answersWanted = Math.floor(random() * 200);
    for (let i = 0; i < answersWanted; i += 1) expect(await writer.next()).toBe("appended");
    await writer.kill();
    const late = writer.drain().filter((answer) => answer === "appended").length;
    confirmed.push(...sent.slice(0, answersWanted + late));
    const log = await (await openLocalStore({ root })).openLog("checkpoint.jsonl", logOptions());
    cutTails += log.tailRepair.kind === "cut" ? 1 : 0;
    await log.close();
    const ids = await idsInLog();
    const known = new Set(confirmed);
    expect(ids.filter((id) => known.has(id))).toEqual(confirmed);
  }
  report(
    `killed appenders: ${confirmed.length} confirmed records in ${rounds} rounds, none lost (${cutTails} cut tails repaired)`,
  );
  expect(confirmed.length).toBeGreaterThan(0);
}, 300_000);

async function expectWholeDocument(path: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return; // Before the very first one is there.
  const { version, filler, end } = JSON.parse(text);
  expect(end).toBe(version);
  expect(new Set(filler).size).toBeLessThanOrEqual(1);
}

describe.skipIf(!canStop)(
  `stopped by SIGSTOP${canStop ? "" : " (skipped: the state of a stopped process is read from /proc, which only Linux has)"}`,
  () => {
    const appendPoints = crashPoints.filter((point) => point.startsWith("append"));
    test.each(appendPoints)(
      'an old holder stopped at "%s" confirms only what the taken-over log has',
      async (point) => {
        await writeFile(join(root, "checkpoint.jsonl"), '{"id":"a"}\n');
        const old = startWorker(appender, [root, "in-place", point]);
        expect(await old.next()).toBe("open");
        old.send('{"id":"old"}');
        await old.stopped();
        const taken = await takeOver(5);
        expect(await taken.append(utf8('{"id":"new-1"}\n'))).toMatchObject({ kind: "appended" });
        await old.kill("SIGCONT");
        const answer = await old.next();
        expect(await taken.append(utf8('{"id":"new-2"}\n'))).toMatchObject({ kind: "appended" });
        const ids = await idsInLog();
        // Behind its look it had confirmed before the name was moved; at any point before, it must find out.
        expect(answer).toBe(point === "append: looked" ? "appended" : "displaced");
        if (answer === "appended") expect(ids.filter((id) => id === "old")).toHaveLength(1);
        expect(ids.filter((id) => id !== "old")).toEqual(["a", "new-1", "new-2"]);
        old.send('{"id":"never"}');
        expect(await old.next()).toMatch(/^(displaced|writer-stopped)$/);
        expect(await idsInLog()).toEqual(ids);
        await taken.close();
      },
    );

    const takeOverPoints = crashPoints.filter((point) => point.startsWith("take-over"));
    test.each(takeOverPoints)(
      'a taker stopped at "%s" while a later one takes over wakes up to nothing',
      async (point) => {
        await writeFile(join(root, "checkpoint.jsonl"), '{"id":"a"}\n');
        const old = startWorker(appender, [root, "in-place", ""]);
        expect(await old.next()).toBe("open");
        expect(await answerTo(old, "old-1")).toBe("appended");
        const sleeper = startWorker(appender, [root, "5", point]);
        await sleeper.stopped();
        const late = await answerTo(old, "old-2");
        const taken = await takeOver(6);
        expect(await taken.append(utf8('{"id":"new-1"}\n'))).toMatchObject({ kind: "appended" });
        await sleeper.kill("SIGCONT");
        expect(await sleeper.next()).toBe("lease-lost");
        expect(await taken.append(utf8('{"id":"new-2"}\n'))).toMatchObject({ kind: "appended" });
        const confirmed = [
          "a",
          "old-1",
          ...(late === "appended" ? ["old-2"] : []),
          "new-1",
          "new-2",
        ];
        expect((await idsInLog()).filter((id) => confirmed.includes(id))).toEqual(confirmed);
        await taken.close();
      },
    );

    test.each(takeOverPoints)(
      'a taker killed at "%s" is gone on with by whoever opens the log next',
      async (point) => {
        await writeFile(join(root, "checkpoint.jsonl"), '{"id":"a"}\n');
        const old = startWorker(appender, [root, "in-place", ""]);
        expect(await old.next()).toBe("open");
        const dying = startWorker(appender, [root, "5", point]);
        await dying.stopped();
        const late = await answerTo(old, "old-1");
        await dying.kill();
        const next = await (await openLocalStore({ root })).openLog(
          "checkpoint.jsonl",
          logOptions(),
        );
        expect(await next.append(utf8('{"id":"new-1"}\n'))).toMatchObject({ kind: "appended" });
        const confirmed = ["a", ...(late === "appended" ? ["old-1"] : []), "new-1"];
        // What reached the old file before the log was completed from it may come along unconfirmed.
        expect((await idsInLog()).filter((id) => confirmed.includes(id))).toEqual(confirmed);
        expect(await answerTo(old, "never")).toMatch(/^(displaced|writer-stopped)$/);
        expect((await readdir(root)).filter((name) => /\.tmp$|superseding/.test(name))).toEqual([]);
        await next.close();
      },
    );
  },
);

test("of eight processes that create one key at the same time exactly one wins, time after time", async () => {
  const store = await openLocalStore({ root });
  const workers = Array.from({ length: 8 }, () =>
    startWorker(new URL("./create.worker.ts", import.meta.url), [root]),
  );
  for (const worker of workers) expect(await worker.next()).toBe("ready");
  const turns = full ? 200 : 25;
  for (let turn = 0; turn < turns; turn += 1) {
    for (const worker of workers) worker.send(`claims/${turn}`);
    const answers = await Promise.all(workers.map((worker) => worker.next()));
    expect(answers.filter((answer) => answer === "written")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "conflict")).toHaveLength(workers.length - 1);
    const stored = await store.read(`claims/${turn}`);
    const winner = workers[answers.indexOf("written")];
    expect(stored === "absent" ? stored : new TextDecoder().decode(stored.bytes)).toBe(
      `${winner?.pid}`,
    );
  }
});

async function takeOver(token: number) {
  const store = await openLocalStore({ root });
  return await store.openLog(
    "checkpoint.jsonl",
    logOptions({ takeOver: { kind: "fresh-inode", token } }),
  );
}

async function answerTo(worker: Worker, id: string): Promise<string> {
  worker.send(`{"id":"${id}"}`);
  return String(await worker.next());
}

async function idsInLog(): Promise<string[]> {
  const text = await readFile(join(root, "checkpoint.jsonl"), "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);
}

/** Small and repeatable: the same seed gives the same numbers (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
