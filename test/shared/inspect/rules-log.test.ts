import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import type { InspectContext } from "../../../shared/inspect/context.js";
import { type Files, effectFields as fields, inspected } from "../../support/evidence.js";

interface Row {
  item?: string;
  phase: string;
  attempt?: number;
  [more: string]: unknown;
}
const log = (...rows: Row[]): string =>
  rows
    .map(
      (row, i) =>
        `${JSON.stringify({ seq: i + 1, item: "a", key: `k:${row.item ?? "a"}`, ...row })}\n`,
    )
    .join("");
const found = (files: Files | string, context: Partial<InspectContext> = { fields }) =>
  inspected(typeof files === "string" ? { "log.jsonl": files } : files, context).findings.map(
    (one) => ({
      kind: one.kind,
      severity: one.severity,
      ...(one.line === undefined ? {} : { line: one.line }),
      ...one.facts,
    }),
  );

describe("operations", () => {
  test("begun and never closed are in doubt, one finding for all their attempts", () => {
    const text = log(
      { phase: "intent", attempt: 1, worker: "w1" },
      { phase: "intent", attempt: 2, worker: "w2" },
    );
    expect(found(text)).toMatchObject([
      {
        kind: "dangling-intent",
        item: "a",
        key: "k:a",
        intentLine: 1,
        worker: "w1",
        attempts: [1, 2],
        outcome: "unknown",
      },
    ]);
  });

  test("whose answer was lost stay in doubt: a timeout is no outcome", () => {
    expect(found(log({ phase: "intent" }, { phase: "timeout" }))).toMatchObject([
      { kind: "dangling-intent", errorLine: 2 },
    ]);
  });

  test("done by a later attempt leave the first one in doubt", () => {
    const text = log(
      { phase: "intent", attempt: 1 },
      { phase: "intent", attempt: 2 },
      { phase: "done", attempt: 2 },
    );
    expect(found(text)).toMatchObject([{ kind: "dangling-intent", attempt: 1, laterDone: 3 }]);
  });

  test("that failed for certain and were tried again are healthy", () => {
    const text = log(
      { phase: "intent", attempt: 1 },
      { phase: "failed", attempt: 1 },
      { phase: "intent", attempt: 2 },
      { phase: "done", attempt: 2 },
    );
    expect(found(text)).toEqual([]);
  });

  test("begun again after a done say so: nothing is called unrecorded that a line records", () => {
    const text = log({ phase: "intent" }, { phase: "done" }, { phase: "intent" });
    const [first] = inspected({ "log.jsonl": text }, { fields }).findings;
    expect(first).toMatchObject({
      kind: "dangling-intent",
      facts: { intentLine: 3, earlierDone: 2 },
    });
    expect(first?.says).toContain("a done stands on line 2 before that");
  });

  test("beyond the number that is listed are counted", () => {
    const rows = Array.from({ length: limits.findingsPerKindAndFileMax + 7 }, (_, i) => ({
      item: `i${i}`,
      phase: "intent",
    }));
    const all = inspected({ "log.jsonl": log(...rows) }, { fields }).findings;
    expect(all).toHaveLength(limits.findingsPerKindAndFileMax);
    expect(all.at(-1)?.facts?.notListed).toBe(7);
  });

  test("younger than the grace period, or under a live lease, are in flight and not mentioned", () => {
    const text = log({ phase: "intent", at: "2026-03-04T11:59:30Z", lease: 7 });
    expect(found(text)).toEqual([]);
    const old = log({ phase: "intent", at: "2026-03-04T09:00:00Z", lease: 7 });
    const lease = (renewedAt: string) => ({
      holder: "w",
      token: 7,
      renewedAt,
      durationMs: 30_000,
      pid: 1,
      host: "h",
    });
    const withLease = { fields: { ...fields, lease: "lease" } };
    expect(
      found({ "log.jsonl": old, "log.lease.7.1.json": lease("2026-03-04T11:59:50Z") }, withLease),
    ).toEqual([]);
    expect(
      found({ "log.jsonl": old, "log.lease.7.1.json": lease("2026-03-04T11:00:00Z") }, withLease),
    ).toMatchObject([{ kind: "dangling-intent" }, { kind: "lease-expired" }]);
  });

  test("in flight are listed as not known, and those whose lease was given back are in doubt at once", () => {
    const text = log({ phase: "intent", at: "2026-03-04T11:59:30Z", lease: 7 });
    const withLease = { fields: { ...fields, lease: "lease" } };
    expect(inspected({ "log.jsonl": text }, withLease).unknown).toHaveLength(1);
    const released = {
      holder: null,
      token: 7,
      renewedAt: "2026-03-04T11:59:31Z",
      durationMs: 30_000,
    };
    expect(found({ "log.jsonl": text, "log.lease.7.1.json": released }, withLease)).toMatchObject([
      { kind: "dangling-intent", severity: "error" },
    ]);
  });

  test("done twice are told once, with lines and runs", () => {
    const text = log(
      { phase: "done", attempt: 1, run: "r1" },
      { phase: "done", attempt: 1, run: "r2" },
    );
    expect(found(text)).toMatchObject([
      { kind: "duplicate-effect", lines: [1, 2], runs: ["r1", "r2"], line: 2 },
    ]);
  });

  test("whose done record was stored twice are one effect", () => {
    const row = '{"seq":2,"item":"a","phase":"done","attempt":1,"at":"t"}\n';
    const text = `{"seq":1,"item":"a","phase":"intent","attempt":1,"at":"s"}\n${row}${row}`;
    expect(found(text)).toMatchObject([
      { kind: "duplicate-record", severity: "warning", lines: [2, 3] },
    ]);
  });

  test("of one customer under different keys are different operations", () => {
    expect(found(log({ phase: "done", key: "x" }, { phase: "done", key: "y" }))).toEqual([]);
  });

  test("that interleave line by line are healthy", () => {
    const text = log(
      { item: "a", phase: "intent" },
      { item: "b", phase: "intent" },
      { item: "b", phase: "done" },
      { item: "a", phase: "done" },
    );
    expect(found(text)).toEqual([]);
  });
});

describe("keys", () => {
  test("that change between tries of one operation are named with both", () => {
    const text = log(
      { phase: "intent", attempt: 1, key: "k1" },
      { phase: "intent", attempt: 2, key: "k2" },
      { phase: "done", attempt: 2, key: "k2" },
    );
    expect(found(text)).toMatchObject([
      { kind: "dangling-intent", key: "k1" },
      { kind: "key-not-stable", keys: ["k1", "k2"], lines: [1, 2] },
    ]);
  });

  test("that stand for two operations are a conflict", () => {
    const text = log(
      { item: "a", key: "k", phase: "done" },
      { item: "b", key: "k", phase: "done" },
    );
    expect(found(text)).toContainEqual(
      expect.objectContaining({ kind: "key-conflict", items: ["a", "b"] }),
    );
  });

  test("that are numbers beyond doubles are compared as written", () => {
    const text =
      '{"seq":1,"item":9152310044217344,"phase":"done"}\n{"seq":2,"item":9152310044217345,"phase":"done"}\n';
    expect(found(text)).toMatchObject([{ kind: "precision-loss", severity: "notice" }]);
  });
});

describe("numbers and leases", () => {
  test("given out twice, left out, or missing on a record are told", () => {
    const rows = (...numbers: (number | undefined)[]): string =>
      numbers.map((seq, i) => `${JSON.stringify({ seq, id: `e${i}` })}\n`).join("");
    const events = { fields: { seq: "seq", item: "id" } };
    expect(found(rows(1, 2, 2), events)).toMatchObject([
      { kind: "sequence-reused", seq: 2, lines: [2, 3] },
    ]);
    expect(found(rows(1, 2, 5), events)).toMatchObject([{ kind: "sequence-gap", missing: [3, 4] }]);
    expect(found(rows(1, 2, undefined), events)).toMatchObject([
      { kind: "sequence-missing", line: 3, expectedSeq: 3 },
    ]);
  });

  test("shared by two logs of a folder leave no gap", () => {
    const events = { fields: { seq: "seq", item: "id" } };
    const files = {
      "a.jsonl": '{"seq":1,"id":"x"}\n{"seq":3,"id":"y"}\n',
      "b.jsonl": '{"seq":2,"id":"z"}\n',
    };
    expect(found(files, events)).toEqual([]);
  });

  test("a write under a lease that had been replaced is a zombie's", () => {
    const rows = ["L-1", "L-2", "L-2", "L-1"].map(
      (lease, i) => `{"v":${i + 10},"worker":"w","lease":"${lease}"}\n`,
    );
    const history = { fields: { worker: "worker", lease: "lease", version: "v" } };
    expect(found(rows.join(""), history)).toMatchObject([
      { kind: "zombie-write", line: 4, lease: "L-1", currentLease: "L-2", version: 13 },
    ]);
  });

  test("clocks that step back are a notice, and nothing is out of order", () => {
    const text = log(
      { phase: "intent", at: "2026-03-04T09:00:06Z" },
      { phase: "done", at: "2026-03-04T08:59:58Z" },
    );
    expect(found(text)).toMatchObject([
      { kind: "clock-skew", stepSeconds: -8, severity: "notice" },
    ]);
  });
});

describe("updates", () => {
  const updates = { fields: { updateId: "update", attempt: "try", result: "result" } };
  const entry = { clause: "9.4" };
  const run = (findings: object[]) => ({ version: 63, findings, applied_ids: ["u:1"] });

  test("applied again after a lost answer are in the document twice", () => {
    const text =
      '{"update":"u:1","try":1,"result":"timeout"}\n{"update":"u:1","try":2,"result":"ok"}\n';
    expect(
      found({ "run.json": run([entry, entry]), "updates.jsonl": text }, updates),
    ).toMatchObject([
      { kind: "double-applied", update: "u:1", indices: [0, 1], severity: "error" },
    ]);
    expect(found({ "run.json": run([entry]), "updates.jsonl": text }, updates)).toEqual([]);
  });

  test("refused first, or found applied already, are healthy", () => {
    for (const [first, second] of [
      ["refused", "ok"],
      ["timeout", "already applied"],
    ])
      expect(
        found(
          {
            "run.json": run([entry, entry]),
            "updates.jsonl": `{"update":"u:1","try":1,"result":"${first}"}\n{"update":"u:1","try":2,"result":"${second}"}\n`,
          },
          updates,
        ),
      ).toEqual([]);
  });

  test("whose id is missing while their neighbours' are there are told", () => {
    const text = '{"update":"u:1","try":1,"result":"ok"}\n{"update":"u:2","try":1,"result":"ok"}\n';
    expect(found({ "run.json": run([entry]), "updates.jsonl": text }, updates)).toMatchObject([
      { kind: "applied-id-missing", update: "u:2" },
    ]);
  });

  test("retried after more others than the window holds are told", () => {
    const rows = ['{"update":"late","try":1,"result":"timeout"}'];
    for (let i = 0; i < 70; i++) rows.push(`{"update":"u${i}","try":1,"result":"ok"}`);
    rows.push('{"update":"late","try":2,"result":"ok"}');
    expect(found(`${rows.join("\n")}\n`, updates)).toContainEqual(
      expect.objectContaining({ kind: "window-overrun", update: "late" }),
    );
  });
});

describe("rotated parts", () => {
  test("that cut a record between them are untidy, and nothing is lost", () => {
    const files = { "pay.jsonl.1": '{"m":"a"}\n{"m":"b', "pay.jsonl": 'c"}\n{"m":"d"}\n' };
    expect(found(files, {})).toMatchObject([
      { kind: "missing-head", severity: "notice", continuesFrom: "pay.jsonl.1" },
      { kind: "split-record", severity: "notice", continuesIn: "pay.jsonl" },
    ]);
  });

  test("that do not join are a torn tail and a missing head", () => {
    const files = { "pay.jsonl.1": '{"m":"a"}\n{"m', "pay.jsonl": 'c"}\n{"m":"d"}\n' };
    expect(found(files, {})).toMatchObject([
      { kind: "missing-head", severity: "error" },
      { kind: "torn-tail", severity: "error" },
    ]);
  });
});

describe("an operation over two parts of one log", () => {
  test.each([
    ["log.jsonl.1", "log.jsonl"],
    ["log.1.jsonl", "log.2.jsonl"],
    ["log-2026-03-03.jsonl", "log.jsonl"],
  ])("begun in %s and closed in %s is closed", (before, after) => {
    const intent = '{"seq":1,"item":"a","key":"k","phase":"intent","attempt":1}\n';
    const done = '{"seq":2,"item":"a","key":"k","phase":"done","attempt":1}\n';
    expect(found({ [before]: intent, [after]: done })).toEqual([]);
    expect(found({ [before]: intent, "other.jsonl": done })).toMatchObject([
      { kind: "dangling-intent" },
    ]);
  });
});

describe("logs without declared fields", () => {
  test("are read as effect logs by the words they use", () => {
    const text =
      '{"id":"u-17","event":"about_to_send","key":"w:u-17"}\n{"id":"u-18","event":"about_to_send"}\n{"id":"u-17","event":"sent"}\n';
    expect(found(text, {})).toMatchObject([{ kind: "dangling-intent", item: "u-18" }]);
  });

  test("that hold bare ids are logs of finished items, which cannot show doubt", () => {
    expect(found('{"id":"a"}\n{"id":"b"}\n{"id":"a"}\n', {})).toMatchObject([
      { kind: "duplicate-effect", item: "a" },
      { kind: "done-only-log", severity: "notice" },
    ]);
  });

  test("in which no operations were recognised are listed as not followed", () => {
    expect(inspected({ "log.jsonl": '{"x":1}\n' }).unknown).toHaveLength(1);
  });

  test("of plain events are never taken for repeated effects", () => {
    expect(found('{"id":"a","status":"ok"}\n{"id":"a","status":"ok","n":2}\n', {})).toEqual([]);
  });
});
