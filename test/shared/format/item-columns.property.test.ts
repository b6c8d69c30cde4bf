/** Packed or not, an operation says the same: the fold against Operation, which holds everything as objects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Operation } from "../../../shared/format/item-operation.js";
import {
  createItemFold,
  type FoldRecord,
  type ItemState,
} from "../../../shared/format/item-state.js";
import { reportSeed, seedOf } from "../../support/seed.js";

const seed = seedOf("item columns");
const numRuns = process.env.LASTGOOD_TEST_FULL === "1" ? 50_000 : 1_000;
reportSeed("item columns", seed);

const few = (...texts: (string | undefined)[]) => fc.constantFrom(undefined, ...texts);

/** Texts of all sorts: missing, empty, with the letter that parts packed texts, not ASCII, far too long. */
const text = few("", "1", "2", "2026-03-04T09:00:00.000Z", "a\0b", "\0", "é", "x".repeat(2_000));

const written = fc.record({
  key: few("k", "other"),
  attempt: few("1", "2", "é"),
  phase: fc.constantFrom<FoldRecord["phase"]>(
    "intent",
    "intent",
    "done",
    "done",
    "failed",
    "settled",
    "other",
  ),
  word: few("timeout"),
  outcome: fc.constantFrom<FoldRecord["outcome"]>(
    undefined,
    "done",
    "failed",
    "not-started",
    "unknown",
  ),
  seq: text,
  at: text,
  worker: few("w1", "w\0"),
  run: few("r1", "é"),
  lease: few("1"),
  content: text,
});

function recordsFrom(
  all: readonly Omit<FoldRecord, "line" | "byteOffset" | "item">[],
): FoldRecord[] {
  return all.map((one, index) => ({
    ...one,
    item: "ana",
    line: index + 1,
    // Beyond 32 bits, where a log of many gigabytes has its records.
    byteOffset: index * 2 ** 33,
  }));
}

/** All that a state tells, with `open`, which is worked out when asked. */
function told({ identity, item, keys, attempts, open, ...lists }: ItemState) {
  const { dones, storedTwice, redos, overlaps, remarks, omittedCount } = lists;
  const all = {
    identity,
    item,
    keys,
    attempts,
    open,
    dones,
    storedTwice,
    redos,
    overlaps,
    remarks,
  };
  return structuredClone({ ...all, omittedCount });
}

test("any records of one operation fold to what Operation makes of them", () => {
  fc.assert(
    fc.property(fc.array(written, { maxLength: 6 }), (all) => {
      const records = recordsFrom(
        all.map((one, index) => ({
          ...one,
          key: index === 0 || one.key === "other" ? "k" : one.key,
        })),
      );
      const operation = new Operation("k", "ana", ["k"]);
      const folded = createItemFold();
      for (const record of records) {
        operation.add(record);
        folded.add(record);
        const state = folded.get("k");
        expect(state && told(state)).toEqual(told(operation));
      }
    }),
    { seed, numRuns },
  );
});

test("whatever keys the records name, no record is lost and none is counted twice", () => {
  fc.assert(
    fc.property(fc.array(written, { maxLength: 8 }), (all) => {
      const folded = createItemFold();
      const records = recordsFrom(all);
      for (const record of records) folded.add(record);
      const states = [...folded.items()];
      expect(states).toHaveLength(folded.itemCount);
      const lines = states.flatMap((state) => [
        ...state.attempts.flatMap(({ intent }) => (intent === undefined ? [] : [intent.line])),
        ...state.dones.map(({ line }) => line),
        ...state.storedTwice.map(({ second }) => second.line),
        ...state.remarks.map(({ line }) => line),
      ]);
      const expected = records.filter(({ phase }) => phase !== "failed" && phase !== "settled");
      expect(lines.toSorted((a, b) => a - b)).toEqual(expected.map(({ line }) => line));
    }),
    { seed, numRuns },
  );
});

test("every operation but those with one attempt, closed by one record, is notable", () => {
  const folded = createItemFold();
  const add = (item: string, ...phases: FoldRecord["phase"][]) => {
    for (const phase of phases) folded.add({ item, phase, attempt: "1", line: 1, byteOffset: 0 });
  };
  add("closed", "intent", "done");
  add("refused", "intent", "failed");
  add("bare", "done");
  add("open", "intent");
  add("twice", "done", "done");
  add("remarked", "intent", "other", "done");
  add("again", "intent", "failed", "intent", "done");
  expect([...folded.notable()].map(({ item }) => item)).toEqual([
    "open",
    "twice",
    "remarked",
    "again",
  ]);
});

test("twenty thousand operations are each told apart, and found again by number of block", () => {
  const folded = createItemFold();
  const count = 20_000;
  for (let n = 0; n < count; n += 1) {
    const record = { item: `i${n}`, key: `k${n}`, attempt: "1", seq: `${n}`, byteOffset: n };
    folded.add({ ...record, phase: "intent", line: 2 * n + 1 });
    if (n % 1_000 !== 0) folded.add({ ...record, phase: "done", line: 2 * n + 2 });
  }
  expect([...folded.notable()]).toHaveLength(count / 1_000);
  for (const n of [0, 1, 255, 256, 257, 19_999]) {
    expect(folded.get(`k${n}`)?.attempts[0]?.intent).toMatchObject({
      line: 2 * n + 1,
      seq: `${n}`,
    });
  }
});
