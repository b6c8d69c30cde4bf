import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../../shared/adapters/system.js";
import { limits } from "../../../shared/base/limits.js";
import {
  type CheckpointLog,
  type CheckpointLogOptions,
  type LogEntry,
  leaseTarget,
  openCheckpointLog,
} from "../../../shared/durable/checkpoint-log.js";
import { linesOf, readCheckpoint } from "../../../shared/durable/checkpoint-read.js";
import { acquireLease, type GrantedLease } from "../../../shared/durable/lease.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import type { AppendOutcome, LogFile, ObjectStore } from "../../../shared/storage/object-store.js";

const log = "runs/checkpoint.jsonl";
const nowMs = Date.parse("2026-03-04T12:00:00.000Z");

async function take(
  store: ObjectStore,
  holder: string,
  { afterMs = 0, earlier = "alive" }: { afterMs?: number; earlier?: "alive" | "gone" } = {},
): Promise<GrantedLease> {
  const outcome = await acquireLease({
    store,
    target: leaseTarget(log),
    holder,
    process: { host: "here", pid: 1, processStartedAt: undefined },
    operation: "test",
    now: () => nowMs + afterMs,
    processAlive: () => earlier,
  });
  if (outcome.kind !== "granted") throw new Error(outcome.kind);
  return outcome.lease;
}

function open(
  store: ObjectStore,
  lease: GrantedLease,
  more: Partial<CheckpointLogOptions> = {},
): Promise<CheckpointLog> {
  const now = () => nowMs;
  return openCheckpointLog({ store, log, lease, worker: "w1", now, sha256: sha256Hex, ...more });
}

const intent = (id: string): LogEntry => ({ id, key: `k:${id}`, attempt: 1, phase: "intent" });
const done = (id: string): LogEntry => ({ id, key: `k:${id}`, attempt: 1, phase: "done" });

async function textOf(store: ObjectStore, key = log): Promise<string> {
  let text = "";
  for await (const chunk of store.readLog(key)) text += new TextDecoder().decode(chunk);
  return text;
}

async function write(store: ObjectStore, text: string): Promise<void> {
  await store.replace(log, new TextEncoder().encode(text), "absent");
}

/** The same store, with something done around each append. */
function withAppend(
  store: ObjectStore,
  append: (inner: LogFile, bytes: Uint8Array) => Promise<AppendOutcome>,
): ObjectStore {
  return new Proxy(store, {
    get: (inner, name) => {
      const member = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      if (name !== "openLog") return member.bind(inner);
      return async (...args: Parameters<ObjectStore["openLog"]>) => {
        const file = await inner.openLog(...args);
        return {
          tailRepair: file.tailRepair,
          get sizeBytes() {
            return file.sizeBytes;
          },
          append: (bytes: Uint8Array) => append(file, bytes),
          close: () => file.close(),
        };
      };
    },
  });
}

describe("appending", () => {
  test("an acknowledged record is in the log, with number, time, worker and token", async () => {
    const store = createMemoryStore();
    const opened = await open(store, await take(store, "w1"));
    await opened.append(intent("a"));
    expect(await textOf(store)).toBe(
      '{"seq":1,"id":"a","phase":"intent","at":"2026-03-04T12:00:00.000Z","worker":"w1","attempt":1,"key":"k:a","lease":1}\n',
    );
  });

  test("everything asked for in one turn is one append, in the order asked", async () => {
    const inner = createMemoryStore();
    const sizes: number[] = [];
    const store = withAppend(inner, (file, bytes) => {
      sizes.push(bytes.filter((byte) => byte === 0x0a).length);
      return file.append(bytes);
    });
    const opened = await open(store, await take(store, "w1"));
    const ids = Array.from({ length: 50 }, (_, n) => `item-${n}`);
    const records = await Promise.all(ids.map((id) => opened.append(intent(id))));
    expect(sizes).toEqual([50]);
    expect(records.map(({ seq }) => seq)).toEqual(ids.map((_, n) => n + 1));
    expect((await readCheckpoint(store, log)).operations.itemCount).toBe(50);
  });

  test("numbers go on where the log ended, whoever wrote it", async () => {
    const store = createMemoryStore();
    await write(store, '{"seq":41,"id":"x","phase":"done"}\n{"id":"y"}\n');
    const opened = await open(store, await take(store, "w1"));
    expect(await opened.append(intent("a"))).toMatchObject({ seq: 42 });
  });

  test("what is appended is followed, as if the log were read again", async () => {
    const store = createMemoryStore();
    const opened = await open(store, await take(store, "w1"));
    await opened.append(intent("a"));
    expect(opened.reading.operations.get("k:a")?.open).toHaveLength(1);
    await opened.append(done("a"));
    const again = await readCheckpoint(store, log);
    const places = (state: typeof opened.reading) =>
      state.operations.get("k:a")?.dones.map(({ line, byteOffset }) => ({ line, byteOffset }));
    expect(places(opened.reading)).toEqual(places(again));
    expect(opened.reading.operations.get("k:a")?.open).toEqual([]);
  });

  test("a text that cannot stand in a record is refused, and the log stays open", async () => {
    const store = createMemoryStore();
    const opened = await open(store, await take(store, "w1"));
    await expect(opened.append(intent(""))).rejects.toMatchObject({ code: "input-rejected" });
    const wrong = { ...intent("a"), note: { at: Number.NaN } };
    await expect(opened.append(wrong)).rejects.toMatchObject({ code: "input-rejected" });
    expect((await opened.append(intent("a"))).seq).toBe(1);
  });

  test("closing waits for the records under way; later ones are refused", async () => {
    const store = createMemoryStore();
    const opened = await open(store, await take(store, "w1"));
    const waiting = opened.append(intent("a"));
    await opened.close();
    expect((await waiting).seq).toBe(1);
    await expect(opened.append(intent("b"))).rejects.toMatchObject({ code: "writer-stopped" });
  });
});

describe("stopping", () => {
  test("a holder whose lease was taken over writes nothing more, and says what to do", async () => {
    const store = createMemoryStore();
    const opened = await open(store, await take(store, "w1"));
    await opened.append(intent("a"));
    await take(store, "w2", { afterMs: 60_000 });
    const before = await textOf(store);
    await expect(opened.append(done("a"))).rejects.toMatchObject({
      code: "lease-lost",
      message: expect.stringContaining("reopen"),
    });
    await expect(opened.append(done("a"))).rejects.toMatchObject({ code: "writer-stopped" });
    expect(await textOf(store)).toBe(before);
  });

  test("an expired holder is put off the log: its file is no longer the one under the name", async () => {
    const store = createMemoryStore();
    const first = await open(store, await take(store, "w1"));
    await first.append(intent("a"));
    const second = await open(store, await take(store, "w2", { afterMs: 60_000 }));
    await second.append(done("a"));
    expect(await textOf(store, "runs/checkpoint.2.superseded.jsonl")).toMatch(/^.*"intent".*\n$/);
    expect(await textOf(store)).toMatch(/"lease":1}\n.*"lease":2}\n$/);
  });

  test("a holder that has provably ended is followed in the same file", async () => {
    const store = createMemoryStore();
    await (await open(store, await take(store, "w1"))).append(intent("a"));
    await open(store, await take(store, "w2", { earlier: "gone" }));
    expect((await store.list("runs/checkpoint.", 9)).keys).toEqual([
      "runs/checkpoint.jsonl",
      "runs/checkpoint.lease.2.0.json",
    ]);
  });

  test.each<[string, AppendOutcome, string]>([
    ["somebody else wrote", { kind: "displaced" }, "lease-lost"],
    ["the sync failed", { kind: "in-doubt", reason: "sync-failed" }, "io-failed"],
  ])("when %s, all that waited is told so, and nothing follows", async (_name, outcome, code) => {
    const inner = createMemoryStore();
    let appends = 0;
    const store = withAppend(inner, async () => {
      appends += 1;
      return outcome;
    });
    const opened = await open(store, await take(store, "w1"));
    const ends = await Promise.allSettled([opened.append(intent("a")), opened.append(intent("b"))]);
    for (const end of ends) expect(end).toMatchObject({ status: "rejected", reason: { code } });
    await expect(opened.append(intent("c"))).rejects.toMatchObject({ code: "writer-stopped" });
    expect(appends).toBe(1);
    expect(opened.reading.operations.itemCount).toBe(0);
  });

  test("bytes that appear beside ours while the log is opened keep it closed", async () => {
    const store = createMemoryStore();
    const lease = await take(store, "w1");
    const foreign = async (point: string) => {
      if (point !== "open: log opened") return;
      const other = await store.openLog(log, {
        isWholeRecord: () => true,
        setAside: async () => {},
        takeOver: "in-place",
      });
      await other.append(new TextEncoder().encode('{"id":"x"}\n'));
    };
    const opening = open(store, lease, { atCrashPoint: foreign });
    await expect(opening).rejects.toMatchObject({ code: "lease-lost" });
  });
});

describe("reading", () => {
  async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
  }

  test.each([1, 2, 3, 7, 1_000])("lines are the same in chunks of %i bytes", async (size) => {
    const lines = [];
    for await (const line of linesOf(chunksOf("ab\n\nçd\ne", size))) {
      const bytes = line.bytes === "too-long" ? line.bytes : new TextDecoder().decode(line.bytes);
      lines.push([line.line, line.byteOffset, bytes, line.isEnded]);
    }
    expect(lines).toEqual([
      [1, 0, "ab", true],
      [2, 3, "", true],
      [3, 4, "çd", true],
      [4, 8, "e", false],
    ]);
  });

  test("a line longer than is held is reported, not kept, and the next one is read", async () => {
    const long = "x".repeat(limits.logLineBytesHeldMax + 1);
    const lines = [];
    for await (const line of linesOf(chunksOf(`${long}\nab\n`, 100_000))) lines.push(line);
    expect(lines[0]?.bytes).toBe("too-long");
    expect(lines[1]).toMatchObject({ line: 2, byteOffset: long.length + 1, lengthBytes: 2 });
  });

  test("a last line without its end is no record yet", async () => {
    const store = createMemoryStore();
    await write(store, '{"id":"a"}\n{"id":"b"}');
    const reading = await readCheckpoint(store, log);
    expect(reading).toMatchObject({ endsWithLine: false, sizeBytes: 21, unreadableCount: 0 });
    expect(reading.operations.itemCount).toBe(1);
  });

  test("unreadable lines are counted, and named up to a bound", async () => {
    const store = createMemoryStore();
    const count = limits.unreadableLinesNamedMax + 5;
    await write(store, `${"{\n".repeat(count)}{"id":"a"}\n`);
    const reading = await readCheckpoint(store, log);
    expect(reading.unreadableCount).toBe(count);
    expect(reading.unreadable).toHaveLength(limits.unreadableLinesNamedMax);
    expect(reading.operations.itemCount).toBe(1);
  });

  test("a log that is not there is empty", async () => {
    const reading = await readCheckpoint(createMemoryStore(), log);
    expect(reading).toMatchObject({ lastSeq: 0, sizeBytes: 0, endsWithLine: true });
  });
});
