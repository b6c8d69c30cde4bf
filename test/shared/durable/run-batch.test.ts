import { describe, expect, test } from "vitest";
import { pause, sha256Hex } from "../../../shared/adapters/system.js";
import {
  type BatchOptions,
  type BatchOutcome,
  runBatch,
} from "../../../shared/durable/run-batch.js";
import type { Effect, ItemResult, Recheck } from "../../../shared/durable/run-batch-outcomes.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import type { ObjectStore } from "../../../shared/storage/object-store.js";

const users = ["ana", "bo", "cy", "di", "ed"];
const log = "runs/checkpoint.jsonl";

/** Everything around a batch: a store, an outbox, and processes that live until they are told to end. */
function world() {
  const store = createMemoryStore();
  const outbox: string[] = [];
  const gone = new Set<number>();
  let nextPid = 1;
  const send: Effect<string> = async (user) => {
    outbox.push(user);
    return { kind: "done" };
  };
  const options = (more: Partial<BatchOptions<string>> = {}): BatchOptions<string> => {
    const pid = nextPid;
    nextPid += 1;
    return {
      items: users,
      id: (user) => user,
      key: (user) => `welcome:${user}`,
      effect: send,
      store,
      log,
      worker: `w${pid}`,
      process: { host: "here", pid, processStartedAt: undefined },
      processAlive: (asked) => (gone.has(asked) ? "gone" : "alive"),
      now: Date.now,
      sha256: sha256Hex,
      pause,
      ...more,
    };
  };
  /** Runs a batch whose process ends at the n-th passing of a crash point; nothing after it has any effect. */
  const runUntil = async (
    point: string,
    time: number,
    more: Partial<BatchOptions<string>> = {},
  ): Promise<void> => {
    let passed = 0;
    let reached = () => {};
    const dead = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const whole = options(more);
    const atCrashPoint = async (at: string) => {
      if (at === point) passed += 1;
      if (passed < time || at !== point) return;
      gone.add(whole.process.pid);
      reached();
      await new Promise(() => {});
    };
    await Promise.race([runBatch({ ...whole, atCrashPoint }), dead]);
    expect(passed).toBe(time);
  };
  return { store, outbox, gone, options, runUntil };
}

function resultsOf<Item>(outcome: BatchOutcome<Item>): readonly ItemResult<Item>[] {
  if (outcome.kind !== "ran") throw new Error(`the batch did not run: ${outcome.kind}`);
  return outcome.results;
}

const kinds = (outcome: BatchOutcome<string>) => resultsOf(outcome).map(({ kind }) => kind);

async function textOf(store: ObjectStore): Promise<string> {
  let text = "";
  for await (const chunk of store.readLog(log)) text += new TextDecoder().decode(chunk);
  return text;
}

async function write(store: ObjectStore, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  expect((await store.replace(log, bytes, "absent")).kind).toBe("written");
}

describe("the batch that crashed at item 3 and was retried from the top", () => {
  test("nobody is mailed twice and everybody is mailed", async () => {
    const { outbox, options, runUntil } = world();
    await runUntil("item: outcome recorded", 3);
    expect(outbox).toEqual(["ana", "bo", "cy"]);
    const retry = await runBatch(options());
    expect(kinds(retry)).toEqual(["already-done", "already-done", "already-done", "done", "done"]);
    expect(outbox).toEqual(users);
  });

  test("a rerun after success does nothing, and writes nothing", async () => {
    const { outbox, options, store } = world();
    await runBatch(options());
    const before = await textOf(store);
    expect(new Set(kinds(await runBatch(options())))).toEqual(new Set(["already-done"]));
    expect(outbox).toEqual(users);
    expect(await textOf(store)).toBe(before);
  });

  test("a log of bare ids, as the simplest checkpoint writes it, is gone on with", async () => {
    const { outbox, options, store } = world();
    await write(store, '{"id":"ana"}\n{"id":"bo"}\n{"id":"cy"}\n');
    await runBatch(options());
    expect(outbox).toEqual(["di", "ed"]);
  });

  test("a log whose last line is cut does not keep the retry from starting, and nothing is glued to it", async () => {
    const { options, store, outbox } = world();
    await write(store, '{"id":"ana"}\n{"id":"b');
    const outcome = await runBatch(options());
    expect(outcome).toMatchObject({ tailRepair: { kind: "cut", fromByte: 13, bytes: 8 } });
    expect(outbox).toEqual(["bo", "cy", "di", "ed"]);
    for (const line of (await textOf(store)).trimEnd().split("\n")) JSON.parse(line);
    const [evidence = ""] = (await store.list(".lastgood/evidence/", 9)).keys;
    const kept = await store.read(evidence);
    expect(kept === "absent" ? kept : new TextDecoder().decode(kept.bytes)).toBe('{"id":"b');
  });
});

describe("the batch that stopped between the mail and its record", () => {
  test("the item is held, and everything else goes on", async () => {
    const { outbox, options, runUntil } = world();
    await runUntil("item: effect done", 3);
    expect(outbox).toEqual(["ana", "bo", "cy"]);
    const retry = await runBatch(options());
    expect(kinds(retry)).toEqual(["already-done", "already-done", "held", "done", "done"]);
    expect(resultsOf(retry)[2]).toMatchObject({ reason: expect.stringContaining("attempt 1") });
    expect(outbox).toEqual(users);
  });

  test("a receiver that says it happened settles the item, and the answer is recorded with its evidence", async () => {
    const { outbox, options, runUntil, store } = world();
    await runUntil("item: effect done", 1);
    const recheck = async () =>
      ({ outcome: "done", reason: "found", evidence: "msg-1", by: "mail server" }) as const;
    const retry = await runBatch(options({ recheck }));
    expect(resultsOf(retry)[0]).toMatchObject({ kind: "already-done", says: "settlement" });
    expect(outbox).toEqual(users);
    expect(await textOf(store)).toContain(
      '"attempt":1,"key":"welcome:ana","lease":2,"outcome":"done","reason":"found","evidence":"msg-1","by":"mail server"',
    );
  });

  test("a receiver that says it did not happen lets it be tried again under the same key", async () => {
    const { options, runUntil } = world();
    await runUntil("item: intent recorded", 1);
    const sent: string[] = [];
    const effect: Effect<string> = async (_user, { key, attempt }) => {
      sent.push(`${key} ${attempt}`);
      return { kind: "done" };
    };
    const recheck = async () =>
      ({ outcome: "not-started", reason: "no trace", evidence: "log", by: "kim" }) as const;
    await runBatch(options({ effect, recheck, items: ["ana"] }));
    expect(sent).toEqual(["welcome:ana 2"]);
  });

  test("a receiver that does not know leaves it held, and is quoted once however often it is asked", async () => {
    const { options, runUntil, store, outbox } = world();
    await runUntil("item: intent recorded", 1);
    const recheck = async () =>
      ({ outcome: "unknown", reason: "no access", evidence: "none", by: "kim" }) as const;
    for (let retry = 0; retry < 3; retry += 1) {
      expect(kinds(await runBatch(options({ recheck, items: ["ana"] })))).toEqual(["held"]);
    }
    expect((await textOf(store)).match(/"settled"/g)).toHaveLength(1);
    expect(outbox).toEqual([]);
  });

  test("a recheck that throws leaves it held with the reason", async () => {
    const { options, runUntil } = world();
    await runUntil("item: intent recorded", 1);
    const recheck = async () => {
      throw new Error("the receiver is down");
    };
    const [result] = resultsOf(await runBatch(options({ recheck, items: ["ana"] })));
    expect(result).toMatchObject({
      kind: "held",
      reason: expect.stringContaining("the receiver is down"),
    });
  });
});

describe("one item", () => {
  test("an effect that throws is in doubt: no outcome is written, and no retry tries it again", async () => {
    const { options, store } = world();
    let tries = 0;
    const effect = async () => {
      tries += 1;
      throw new Error("timeout after 30 s");
    };
    const first = await runBatch(options({ effect, items: ["ana"] }));
    expect(resultsOf(first)[0]).toMatchObject({ kind: "in-doubt", reason: "timeout after 30 s" });
    expect((await textOf(store)).match(/"phase":"\w+"/g)).toEqual(['"phase":"intent"']);
    expect(kinds(await runBatch(options({ effect, items: ["ana"] })))).toEqual(["held"]);
    expect(tries).toBe(1);
  });

  test("an effect that answers nothing is in doubt, and so is a recheck that answers no outcome", async () => {
    const { options } = world();
    const forgetful = (async () => undefined) as unknown as Effect<string>;
    expect(kinds(await runBatch(options({ effect: forgetful, items: ["ana"] })))).toEqual([
      "in-doubt",
    ]);
    const recheck = (async () => ({ outcome: "DONE" })) as unknown as Recheck<string>;
    expect(kinds(await runBatch(options({ recheck, items: ["ana"] })))).toEqual(["held"]);
  });

  test("a refusal is recorded with its reason, and a retry is a second attempt under the same key", async () => {
    const { options, store, outbox } = world();
    const refuse = async () => ({ kind: "refused", reason: "mailbox full" }) as const;
    const first = await runBatch(options({ effect: refuse, items: ["ana"] }));
    expect(resultsOf(first)[0]).toMatchObject({ kind: "refused", reason: "mailbox full" });
    const second = await runBatch(options({ items: ["ana"] }));
    expect(resultsOf(second)[0]).toMatchObject({ kind: "done", attempt: 2 });
    expect(outbox).toEqual(["ana"]);
    expect(await textOf(store)).toContain('"reason":"mailbox full"');
  });

  test("the intent is stored before the effect begins", async () => {
    const { options, store } = world();
    let seen = "";
    const effect: Effect<string> = async () => {
      seen = await textOf(store);
      return { kind: "done" };
    };
    await runBatch(options({ effect, items: ["ana"] }));
    expect(seen).toMatch(/"phase":"intent".*"key":"welcome:ana"/);
  });

  test("another program's word about it is not guessed at: the item is held", async () => {
    const { options, store, outbox } = world();
    await write(store, '{"id":"ana","key":"welcome:ana","phase":"sent"}\n');
    const [result] = resultsOf(await runBatch(options({ items: ["ana"] })));
    expect(result).toMatchObject({ kind: "held", reason: expect.stringContaining('"sent"') });
    expect(outbox).toEqual([]);
  });

  test("one customer under another key is another operation", async () => {
    const { options, outbox } = world();
    await runBatch(options({ items: ["ana"], key: () => "may" }));
    await runBatch(options({ items: ["ana"], key: () => "june" }));
    expect(outbox).toEqual(["ana", "ana"]);
  });

  test("a key that is spelled like another item's id says nothing about that item, nor the other way", async () => {
    const { options, store, outbox } = world();
    await write(store, '{"id":"ana"}\n{"id":"cy","key":"bo","phase":"done"}\n');
    const key = (user: string) => (user === "ed" ? "ana" : `welcome:${user}`);
    await runBatch(options({ items: ["ana", "bo", "ed"], key }));
    expect(outbox).toEqual(["bo", "ed"]);
  });
});

describe("the batch as a whole", () => {
  test("two workers at once: one runs, the other is told who is at it", async () => {
    const { options, outbox } = world();
    let other: BatchOutcome<string> | undefined;
    const effect: Effect<string> = async (user) => {
      other ??= await runBatch(options());
      outbox.push(user);
      return { kind: "done" };
    };
    await runBatch(options({ effect }));
    expect(other).toMatchObject({ kind: "held-by", state: "held", record: { holder: "w1" } });
    expect(outbox).toEqual(users);
  });

  test("a worker whose lease is taken over stops: what it has not recorded is in doubt or not run", async () => {
    const { options, outbox, gone } = world();
    const effect: Effect<string> = async (user) => {
      if (user === "bo") {
        gone.add(1); // so it looks to the other, who takes over and finishes
        await runBatch(options());
      }
      outbox.push(user);
      return { kind: "done" };
    };
    const outcome = await runBatch(options({ effect }));
    expect(kinds(outcome)).toEqual(["done", "in-doubt", "not-run", "not-run", "not-run"]);
    expect(outbox).toEqual(["ana", "cy", "di", "ed", "bo"]);
  });

  test("a line that is no record stops the batch before any effect: it may have said done", async () => {
    const { options, store, outbox } = world();
    await write(store, '{"id":"ana"}\n{"id":"b{"id":"cy"}\n');
    expect(await runBatch(options())).toMatchObject({
      kind: "log-unreadable",
      lineCount: 1,
      lines: [{ line: 2, byteOffset: 13 }],
    });
    expect(outbox).toEqual([]);
  });

  test("with a receiver to ask, a line that is no record puts in doubt what is not known to be done", async () => {
    const { options, store, outbox } = world();
    await write(store, '{"id":"ana"}\n{"id":"b{"id":"cy"}\n');
    const answers = new Map([
      ["bo", "done"],
      ["cy", "not-started"],
      ["di", "unknown"],
      ["ed", "failed"],
    ] as const);
    const asked: string[] = [];
    const recheck: Recheck<string> = async (user, { attempts }) => {
      asked.push(user);
      expect(attempts).toEqual([]);
      const outcome = answers.get(user as "bo") ?? "unknown";
      return { outcome, reason: "asked", evidence: "outbox", by: "receiver" };
    };
    const outcome = await runBatch(options({ recheck }));
    expect(kinds(outcome)).toEqual(["already-done", "already-done", "done", "held", "done"]);
    expect(asked).toEqual(["bo", "cy", "di", "ed"]);
    expect(outbox).toEqual(["cy", "ed"]);
  });

  test("no more effects are under way than asked for, and all are done", async () => {
    const { options } = world();
    let now = 0;
    let most = 0;
    const effect = async () => {
      now += 1;
      most = Math.max(most, now);
      await pause(1);
      now -= 1;
      return { kind: "done" } as const;
    };
    const items = Array.from({ length: 40 }, (_, n) => `user-${n}`);
    const outcome = await runBatch(options({ items, effect, concurrency: 7 }));
    expect(most).toBe(7);
    expect(new Set(kinds(outcome))).toEqual(new Set(["done"]));
    expect(resultsOf(outcome).map(({ id }) => id)).toEqual(items);
  });

  test("once told to stop it begins no further item", async () => {
    const { options, outbox } = world();
    const stop = new AbortController();
    const effect: Effect<string> = async (user) => {
      outbox.push(user);
      if (user === "bo") stop.abort();
      return { kind: "done" };
    };
    const outcome = await runBatch(options({ effect, signal: stop.signal }));
    expect(kinds(outcome)).toEqual(["done", "done", "not-run", "not-run", "not-run"]);
    expect(outbox).toEqual(["ana", "bo"]);
  });

  test.each<[string, Partial<BatchOptions<string>>]>([
    ["an empty id", { id: () => "" }],
    ["one id for two items", { id: () => "same" }],
    ["one key for two items", { key: () => "same" }],
    ["a key drawn anew each time", { key: () => `${Math.random()}` }],
    ["a concurrency that is no whole number", { concurrency: Number.NaN }],
    ["a key too long to be read back", { key: (user) => user.padEnd(5_000, "x") }],
  ])("%s is refused before anything is recorded or tried", async (_name, more) => {
    const { options, store, outbox } = world();
    await expect(runBatch(options(more))).rejects.toMatchObject({ code: "input-rejected" });
    expect(outbox).toEqual([]);
    expect((await store.list("", 9)).keys).toEqual([]);
  });

  test("the lease is renewed while one effect takes longer than it lasts", async () => {
    const { options, store } = world();
    const lease = { leaseDurationMs: 900, clockSkewMsMax: 0 };
    let other: BatchOutcome<string> | undefined;
    const effect: Effect<string> = async () => {
      await pause(1_300);
      other = await runBatch(options({ effect: async () => ({ kind: "done" }), ...lease }));
      return { kind: "done" };
    };
    const outcome = await runBatch(options({ effect, items: ["ana"], ...lease }));
    expect(other).toMatchObject({ kind: "held-by", state: "held" });
    expect(kinds(outcome)).toEqual(["done"]);
    expect((await textOf(store)).match(/"lease":1/g)).toHaveLength(2);
  });
});
