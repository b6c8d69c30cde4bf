/** The library as a program uses it: nothing but its public face, on a real folder. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  type HeldLease,
  nowMs,
  openLocalStore,
  openRunStore,
  pause,
  processAlive,
  processIdentity,
  type RunName,
  randomFraction,
  runBatch,
  sha256Hex,
  waitForLease,
} from "../../shared/index.js";

const root = mkdtempSync(join(tmpdir(), "lastgood-core-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a batch is run, and run again, over a folder", async () => {
  const sent: string[] = [];
  const run = async () =>
    await runBatch({
      items: ["ana", "bo"],
      id: (user) => user,
      key: (user) => `welcome:${user}`,
      effect: async (user) => {
        sent.push(user);
        return { kind: "done" };
      },
      store: await openLocalStore({ root }),
      log: "runs/checkpoint.jsonl",
      worker: "mailer",
      process: processIdentity(),
      processAlive,
      now: nowMs,
      sha256: sha256Hex,
      pause,
    });
  expect(await run()).toMatchObject({ results: [{ kind: "done" }, { kind: "done" }] });
  expect(await run()).toMatchObject({
    results: [{ kind: "already-done" }, { kind: "already-done" }],
  });
  expect(sent).toEqual(["ana", "bo"]);
  const lines = readFileSync(join(root, "runs/checkpoint.jsonl"), "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).phase)).toEqual(["intent", "done", "intent", "done"]);
});

test("a run is updated by many at once under its lease, and no update is lost", async () => {
  const store = await openLocalStore({ root });
  let asked = 0;
  const acquireLease = async (run: RunName): Promise<HeldLease> => {
    asked += 1;
    const outcome = await waitForLease(
      {
        store,
        target: run,
        holder: `writer-${asked}`,
        process: processIdentity(),
        operation: "update",
        now: nowMs,
        processAlive,
      },
      { pause, random: randomFraction, waitMsMax: 20_000 },
    );
    if (outcome.kind !== "granted") throw new Error(`held by ${outcome.record.holder}`);
    return outcome.lease;
  };
  const means = { store, sha256: sha256Hex, now: nowMs, random: randomFraction, pause };
  const runs = openRunStore({ ...means, acquireLease });
  await runs.createRun("runs/run_9d4a", { steps: 0 });
  const outcomes = await Promise.all(
    ["a", "b", "c", "d"].map((updateId) =>
      runs.update<{ steps: number }>(
        "runs/run_9d4a",
        { updateId, onStale: "refuse" },
        (document) => {
          document.steps += 1;
        },
      ),
    ),
  );
  expect(outcomes.map(({ kind }) => kind)).toEqual(["applied", "applied", "applied", "applied"]);
  expect(await runs.read("runs/run_9d4a")).toMatchObject({ version: 5, value: { steps: 4 } });
  const leases = readdirSync(join(root, "runs")).filter((name) => name.includes("run_9d4a.lease"));
  // Of the last holder alone: its grant and its release. Records do not pile up with the updates.
  expect(leases.toSorted()).toEqual(["run_9d4a.lease.4.0.json", "run_9d4a.lease.4.1.json"]);
});
