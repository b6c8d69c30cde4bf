import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import {
  createItemFold,
  type FoldRecord,
  type ItemState,
} from "../../../shared/format/item-state.js";

type Written = Omit<FoldRecord, "line" | "byteOffset">;

function fold(...records: readonly Written[]) {
  const folded = createItemFold();
  for (const [index, record] of records.entries()) {
    folded.add({ ...record, line: index + 1, byteOffset: index * 100 });
  }
  return folded;
}

function only(...records: readonly Written[]): ItemState {
  const [state, ...others] = fold(...records).items();
  expect(others).toEqual([]);
  if (state === undefined) throw new Error("nothing was folded");
  return state;
}

const intent = (attempt?: string, more: Partial<Written> = {}): Written => ({
  item: "ana",
  phase: "intent",
  attempt,
  ...more,
});
const done = (attempt?: string, more: Partial<Written> = {}): Written => ({
  item: "ana",
  phase: "done",
  attempt,
  ...more,
});
const failed = (attempt?: string): Written => ({ item: "ana", phase: "failed", attempt });
const settled = (outcome: FoldRecord["outcome"], attempt?: string): Written => ({
  item: "ana",
  phase: "settled",
  outcome,
  attempt,
});

const lines = (places: readonly { line: number }[]) => places.map((place) => place.line);

describe("one attempt", () => {
  test("an intent followed by its outcome leaves nothing open and nothing to remark", () => {
    const state = only(intent("1"), done("1"));
    expect(state.open).toEqual([]);
    expect(lines(state.dones)).toEqual([2]);
    expect(state.attempts[0]?.outcome?.outcome).toBe("done");
    expect([state.redos, state.overlaps, state.storedTwice, state.remarks].flat()).toEqual([]);
  });

  test("an intent without outcome stays open, whatever other words follow it", () => {
    const state = only(
      intent("1"),
      { item: "ana", phase: "other", word: "timeout", attempt: "1" },
      { item: "ana", phase: "other", word: "stalled", attempt: "1" },
    );
    expect(state.open.map((one) => one.intent?.line)).toEqual([1]);
    expect(state.remarks.map((one) => one.word)).toEqual(["timeout", "stalled"]);
  });

  test("a refused attempt followed by a second one that succeeds is neither a redo nor an overlap", () => {
    const state = only(intent("1"), failed("1"), intent("2"), done("2"));
    expect([state.redos, state.overlaps, state.open].flat()).toEqual([]);
    expect(lines(state.dones)).toEqual([4]);
  });
});

describe("attempts find their records", () => {
  test("an outcome with a number closes the attempt of that number and no other", () => {
    const state = only(intent("1"), intent("2"), done("2"));
    expect(state.open.map((one) => one.attempt)).toEqual(["1"]);
  });

  test("an outcome without a number closes the oldest open attempt", () => {
    const state = only(intent("1"), intent("2"), done());
    expect(state.open.map((one) => one.attempt)).toEqual(["2"]);
  });

  test("a numbered outcome closes an intent that was written without a number", () => {
    expect(only(intent(), done("1")).open).toEqual([]);
  });

  test("of two attempts under one number the older one is closed first", () => {
    const two = [intent("1"), intent("1"), done("1", { seq: "3" })];
    expect(only(...two).open.map((one) => one.intent?.line)).toEqual([2]);
    expect(only(...two, done("1", { seq: "4" })).open).toEqual([]);
  });

  test("a number used again after a failure names the new attempt", () => {
    const state = only(intent("1"), failed("1"), intent("1"), done("1"));
    expect(state.open).toEqual([]);
    expect(state.attempts.map((one) => one.outcome?.outcome)).toEqual(["failed", "done"]);
  });
});

describe("twice", () => {
  test("a second intent before an outcome is an overlap that names both attempts", () => {
    const [overlap] = only(intent("1"), intent("2")).overlaps;
    expect(overlap).toMatchObject({
      openIntent: { line: 1 },
      newIntent: { line: 2 },
      attempts: ["1", "2"],
    });
  });

  test("an intent after a done is a redo", () => {
    expect(lines(only(intent("1"), done("1"), intent("2")).redos)).toEqual([3]);
  });

  test("an intent after a settlement that said done is a redo, after one that said not started it is not", () => {
    expect(only(intent("1"), settled("done", "1"), intent("2")).redos).toHaveLength(1);
    expect(only(intent("1"), settled("not-started", "1"), intent("2")).redos).toEqual([]);
  });

  test("dones of two attempts are two effects", () => {
    const state = only(intent("1"), intent("2"), done("1"), done("2"));
    expect(lines(state.dones)).toEqual([3, 4]);
  });

  test("a done for an attempt already done is a second effect", () => {
    const state = only(
      intent("1"),
      done("1", { seq: "2", at: "t2" }),
      done("1", { seq: "3", at: "t3" }),
    );
    expect(lines(state.dones)).toEqual([2, 3]);
    expect(state.storedTwice).toEqual([]);
  });

  test("the same number, attempt and time twice is one record stored twice, not two effects", () => {
    const state = only(
      intent("1", { seq: "1", at: "t1" }),
      done("1", { seq: "2", at: "t2" }),
      done("1", { seq: "2", at: "t2" }),
    );
    expect(lines(state.dones)).toEqual([2]);
    expect(state.storedTwice).toMatchObject([{ first: { line: 2 }, second: { line: 3 } }]);
  });

  test("an intent stored twice is no overlap", () => {
    const one = intent("1", { seq: "1", at: "t1" });
    const state = only(one, one, done("1"));
    expect(state.overlaps).toEqual([]);
    expect(state.storedTwice).toHaveLength(1);
    expect(state.open).toEqual([]);
  });

  test("one number handed out to two workers is two records", () => {
    const state = only(
      done("1", { seq: "2", at: "t2", worker: "w1" }),
      done("1", { seq: "2", at: "t2", worker: "w2" }),
    );
    expect(state.dones).toHaveLength(2);
  });
});

describe("logs of completions only", () => {
  test("two bare lines of one item are two effects", () => {
    expect(only(done(), done()).dones).toHaveLength(2);
  });

  test("two runs that did one item at one time are two effects", () => {
    const again = [
      done(undefined, { at: "t", run: "r1" }),
      done(undefined, { at: "t", run: "r2" }),
    ];
    expect(only(...again).dones).toHaveLength(2);
  });

  test("equal bytes with a time are one record stored twice", () => {
    const line = done(undefined, { at: "t", content: "c" });
    expect(only(line, line).dones).toHaveLength(1);
  });
});

describe("settlements", () => {
  test.each(["done", "failed", "not-started"] as const)("%s closes the attempt", (outcome) => {
    const state = only(intent("1"), settled(outcome, "1"));
    expect(state.open).toEqual([]);
    expect(state.attempts[0]?.outcome).toMatchObject({ phase: "settled", outcome });
  });

  test("unknown keeps the attempt open, and a later answer closes it", () => {
    expect(only(intent("1"), settled("unknown", "1")).open[0]?.outcome?.outcome).toBe("unknown");
    expect(only(intent("1"), settled("unknown", "1"), settled("failed", "1")).open).toEqual([]);
  });

  test("a settlement without an outcome settles nothing", () => {
    expect(only(intent("1"), settled(undefined, "1")).open).toHaveLength(1);
  });

  test("a settlement corrects a failure and cannot take back a done", () => {
    expect(only(intent("1"), failed("1"), settled("done", "1")).attempts[0]?.outcome).toMatchObject(
      {
        outcome: "done",
      },
    );
    expect(only(intent("1"), done("1"), settled("failed", "1")).attempts[0]?.outcome).toMatchObject(
      {
        outcome: "done",
      },
    );
  });
});

describe("identity", () => {
  const keyed = (key: string) => ({ key });

  test("one customer under two keys is two operations", () => {
    expect(fold(done("1", keyed("a")), done("1", keyed("b"))).itemCount).toBe(2);
  });

  test("a record without a key belongs to the operation of its item that is open", () => {
    const folded = fold(intent("1", keyed("a")), intent("1", keyed("b")), done(), done());
    expect(folded.itemCount).toBe(2);
    expect(folded.get("a")?.dones).toHaveLength(1);
    expect(folded.get("b")?.dones).toHaveLength(1);
  });

  test("an outcome that brings the key its intent lacked closes that intent", () => {
    const folded = fold(intent("1"), done("1", keyed("a")));
    expect(folded.itemCount).toBe(1);
    expect(folded.get("a")?.open).toEqual([]);
    expect(folded.get("a")?.keys).toEqual(["a"]);
  });

  test("a key that is spelled like another item's id is another operation", () => {
    const folded = fold(done("1", { item: "x", key: "ana" }), done("1"));
    expect(folded.itemCount).toBe(2);
  });

  test("names of JavaScript's own are plain ids", () => {
    const names = ["__proto__", "constructor", "toString", ""];
    const folded = fold(...names.map((item): Written => ({ item, phase: "done" })));
    expect(folded.itemCount).toBe(names.length);
    for (const name of names) expect(folded.get(name)?.dones).toHaveLength(1);
  });
});

test("a hostile item keeps a bounded number of entries, counts the rest and still knows what is open", () => {
  const folded = createItemFold();
  const count = limits.itemStateEntriesMax * 3;
  folded.add({ ...intent("0"), line: 1, byteOffset: 0 });
  for (let n = 1; n <= count; n += 1) {
    folded.add({ ...intent(`${n}`), line: 2 * n, byteOffset: 0 });
    folded.add({ ...failed(`${n}`), line: 2 * n + 1, byteOffset: 0 });
  }
  const state = folded.get("ana");
  expect(state?.attempts).toHaveLength(limits.itemStateEntriesMax);
  expect(state?.overlaps).toHaveLength(limits.itemStateEntriesMax);
  expect(state?.omittedCount).toBeGreaterThan(0);
  expect(state?.open.map((one) => one.attempt)).toEqual(["0"]);
});

test("a done that found no room among open attempts still makes the next intent a redo", () => {
  const opened = Array.from({ length: limits.itemStateEntriesMax }, (_, n) => intent(`${n}`));
  const state = only(...opened, done("later"), intent("again"));
  expect(state.attempts).toHaveLength(limits.itemStateEntriesMax);
  expect(state.dones).toHaveLength(1);
  expect(state.redos).toHaveLength(1);
});
