import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../../shared/adapters/system.js";
import { checkChain } from "../../../shared/durable/checkpoint-chain.js";
import { leaseTarget, openCheckpointLog } from "../../../shared/durable/checkpoint-log.js";
import { acquireLease } from "../../../shared/durable/lease.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import type { ObjectStore } from "../../../shared/storage/object-store.js";

const log = ".lastgood/audit.jsonl";
const now = () => Date.parse("2026-03-04T12:00:00.000Z");

async function openChained(store: ObjectStore) {
  const acquired = await acquireLease({
    store,
    target: leaseTarget(log),
    holder: "inspector",
    process: { host: "here", pid: 1, processStartedAt: undefined },
    operation: "test",
    now,
    processAlive: () => "gone",
  });
  if (acquired.kind !== "granted") throw new Error(acquired.kind);
  const { lease } = acquired;
  const options = { store, log, lease, worker: "w1", now, sha256: sha256Hex };
  return await openCheckpointLog({ ...options, chain: "sha256" });
}

/** Appends an intent and an outcome for each id, the first ids of a batch together. */
async function appendAll(store: ObjectStore, ...ids: readonly string[]): Promise<void> {
  const chained = await openChained(store);
  await Promise.all(
    ids.map((id) => chained.append({ id, key: id, attempt: 1, phase: "intent", note: { id } })),
  );
  for (const id of ids) await chained.append({ id, key: id, attempt: 1, phase: "done" });
  await chained.close();
}

async function linesOfLog(store: ObjectStore): Promise<string[]> {
  let text = "";
  for await (const chunk of store.readLog(log)) text += new TextDecoder().decode(chunk);
  return text.split("\n").slice(0, -1);
}

async function withLines(lines: readonly string[], tail = ""): Promise<ObjectStore> {
  const store = createMemoryStore();
  const text = lines.map((line) => `${line}\n`).join("") + tail;
  await store.replace(log, new TextEncoder().encode(text), "absent");
  return store;
}

const check = (store: ObjectStore) => checkChain(store, log, sha256Hex);
const digest = (line: string | undefined) => sha256Hex(new TextEncoder().encode(line));

describe("a chained log", () => {
  test("holds in each record the digest of the line before it, in groups and over reopening", async () => {
    const store = createMemoryStore();
    await appendAll(store, "a", "b", "c");
    await appendAll(store, "d");
    const lines = await linesOfLog(store);
    const prevs = lines.map((line) => JSON.parse(line).prev);
    expect(prevs).toEqual(["", ...lines.slice(0, -1).map(digest)]);
    expect(await check(store)).toEqual({ linkedCount: 8, lastDigest: digest(lines.at(-1)) });
  });

  test("goes on over a tail that was cut and repaired", async () => {
    const store = createMemoryStore();
    await appendAll(store, "a");
    const repaired = await withLines(await linesOfLog(store), '{"seq":3,"id":"b","ph');
    await appendAll(repaired, "b");
    expect(await check(repaired)).toMatchObject({ linkedCount: 4 });
    expect((await check(repaired)).broken).toBeUndefined();
  });

  test("a log that is not there is whole, and its first record is linked to nothing", async () => {
    expect(await check(createMemoryStore())).toEqual({ linkedCount: 0, lastDigest: "" });
  });

  test.each<[string, (lines: string[]) => string[], number]>([
    ["changed", (lines) => lines.with(1, (lines[1] ?? "").replace('"b"', '"x"')), 3],
    ["taken out", (lines) => lines.toSpliced(1, 1), 2],
    ["taken off the beginning", (lines) => lines.slice(1), 1],
    ["exchanged for the next", (lines) => lines.toSpliced(1, 2, lines[2] ?? "", lines[1] ?? ""), 2],
    ["put in", (lines) => lines.toSpliced(2, 0, '{"id":"z","phase":"done"}'), 3],
    ["made unreadable", (lines) => lines.with(1, "\0\0\0"), 2],
  ])("a record that was %s breaks the chain, at the line told", async (_what, change, line) => {
    const store = createMemoryStore();
    await appendAll(store, "a", "b");
    const lines = await linesOfLog(store);
    const changed = await withLines(change(lines));
    expect(await check(changed)).toMatchObject({ linkedCount: line - 1, broken: { line } });
  });

  test("what was taken off the end shows by the last digest alone", async () => {
    const store = createMemoryStore();
    await appendAll(store, "a", "b");
    const lines = await linesOfLog(store);
    const cut = await check(await withLines(lines.slice(0, -1)));
    expect(cut.broken).toBeUndefined();
    expect(cut.lastDigest).not.toBe((await check(store)).lastDigest);
  });
});
