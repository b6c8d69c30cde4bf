/** R2 and R5 while a log is opened: a holder that slept through its lease must not touch what is no longer its own. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLocalStore } from "../../../shared/adapters/local/local-store.js";
import { sha256Hex } from "../../../shared/adapters/system.js";
import type { CheckpointCrashPoint } from "../../../shared/durable/checkpoint-crash-points.js";
import {
  type CheckpointLog,
  leaseTarget,
  openCheckpointLog,
} from "../../../shared/durable/checkpoint-log.js";
import { acquireLease, type GrantedLease } from "../../../shared/durable/lease.js";
import type { ObjectStore } from "../../../shared/storage/object-store.js";

const log = "runs/checkpoint.jsonl";
const past = '{"id":"ana"}\n';
let root: string;
let nowMs: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lastgood-open-"));
  mkdirSync(join(root, "runs"));
  appendFileSync(join(root, log), past);
  nowMs = Date.parse("2026-03-04T12:00:00.000Z");
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

async function take(store: ObjectStore, holder: string): Promise<GrantedLease> {
  const outcome = await acquireLease({
    store,
    target: leaseTarget(log),
    holder,
    process: { host: "here", pid: 1, processStartedAt: undefined },
    operation: "test",
    now: () => nowMs,
    processAlive: () => "alive",
  });
  if (outcome.kind !== "granted") throw new Error(outcome.kind);
  return outcome.lease;
}

function open(
  store: ObjectStore,
  lease: GrantedLease,
  worker: string,
  atCrashPoint: (point: CheckpointCrashPoint) => void | Promise<void> = () => {},
): Promise<CheckpointLog> {
  const now = () => nowMs;
  return openCheckpointLog({ store, log, lease, worker, now, sha256: sha256Hex, atCrashPoint });
}

/** The first holder falls asleep at a point of its opening; the second takes over; then the first goes on. */
async function openWhileTakenOver(
  point: CheckpointCrashPoint,
  meanwhile: (second: CheckpointLog) => void | Promise<void>,
): Promise<{ readonly first: unknown; readonly second: CheckpointLog }> {
  const store = await openLocalStore({ root });
  const own = await take(store, "w1");
  let second: CheckpointLog | undefined;
  const first = await open(store, own, "w1", async (reached) => {
    if (reached !== point || second !== undefined) return;
    nowMs += 60_000;
    const other = await openLocalStore({ root });
    second = await open(other, await take(other, "w2"), "w2");
    await meanwhile(second);
  }).catch((error: unknown) => error);
  if (second === undefined) throw new Error(`never at ${point}`);
  return { first, second };
}

const textOfLog = (): string => readFileSync(join(root, log), "utf8");

test("a record of the next holder that is half written is not cut by one that slept before it opened the log", async () => {
  const half = '{"seq":1,"id":"bo","ph';
  const { first, second } = await openWhileTakenOver("open: lease granted", () =>
    appendFileSync(join(root, log), half),
  );
  expect(first).toMatchObject({ code: "lease-lost" });
  expect(textOfLog()).toBe(past + half);
  await second.close();
});

test("one that slept before it cut the tail cuts nothing of the next holder's log", async () => {
  appendFileSync(join(root, log), '{"id":"b');
  const { first, second } = await openWhileTakenOver("open: tail set aside", async (next) => {
    await next.append({ id: "bo", key: "k:bo", attempt: 1, phase: "intent" });
  });
  expect(first).toMatchObject({ code: "lease-lost" });
  expect(textOfLog().startsWith(`${past}{"seq":1,"id":"bo"`)).toBe(true);
  expect(readdirSync(join(root, ".lastgood/evidence")).length).toBeGreaterThan(0);
  await second.append({ id: "bo", key: "k:bo", attempt: 1, phase: "done" });
  await second.close();
});

test.each(["open: lease granted", "open: log opened"] as const)(
  "one that slept at '%s' is told that it lost the lease, before it acts on what it read",
  async (point) => {
    const { first, second } = await openWhileTakenOver(point, () => {});
    expect(first).toMatchObject({ code: "lease-lost" });
    await second.append({ id: "bo", key: "k:bo", attempt: 1, phase: "intent" });
    await second.close();
  },
);
