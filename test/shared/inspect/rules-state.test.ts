import { describe, expect, test } from "vitest";
import { parsePath } from "../../../shared/base/json-path.js";
import type { InspectContext } from "../../../shared/inspect/context.js";
import { type Files, inspected } from "../../support/evidence.js";

const path = (text: string) => {
  const parsed = parsePath(text);
  if (parsed.kind !== "path") throw new Error(parsed.reason);
  return parsed.path;
};
const found = (files: Files, context: Partial<InspectContext> = {}) =>
  inspected(files, context).findings.map(
    ({ kind, file, severity, facts, recoverable, path: at }) => ({
      kind,
      file,
      severity,
      ...(recoverable === undefined ? {} : { recoverable }),
      ...(at === undefined ? {} : { path: at }),
      ...facts,
    }),
  );
const run = (version: number, more: object = {}) => ({
  run: "r",
  version,
  tasks: [{ id: "t1", status: "done" }],
  applied_ids: ["a:1"],
  ...more,
});

describe("which copy to go back to", () => {
  const torn = JSON.stringify(run(62)).slice(0, 40);

  test("is the highest whole version, whatever the dates", () => {
    const [first] = found({ "run.json": torn, "run/v60.json": run(60), "run/v61.json": run(61) });
    expect(first).toMatchObject({
      kind: "truncated",
      recoverable: "run/v61.json",
      versionReadable: 62,
    });
  });

  test("is told by the version inside, not by the numbers of the names", () => {
    const copies = { "backups/run.1.json": run(61), "backups/run.9.json": run(60) };
    expect(found({ "run.json": torn, ...copies })).toMatchObject([
      { kind: "truncated", recoverable: "backups/run.1.json" },
    ]);
  });

  test("comes with the pointers that only the torn bytes name, the cut one left out", () => {
    const uri = (name: string) => `"s3://b/${name}"`;
    const head = `{"version":62,"a":${uri("old")},"b":${uri("new")},"c":"s3://b/cu`;
    const kept = `{"version":61,"a":${uri("old")}}`;
    expect(found({ "run.json": head, "run/v61.json": kept })).toMatchObject([
      { kind: "truncated", urisOnlyHere: ["s3://b/new"] },
    ]);
    expect(found({ "run.json": head, "run/v61.json": head })[0]).not.toHaveProperty("urisOnlyHere");
  });

  test("is never a damaged copy, nor one that breaks a declared rule", () => {
    const rules = [
      { file: "run.json", path: path("$.tasks"), rule: "not-empty", of: { kind: "none" } },
    ] as const;
    const all = found(
      {
        "run.json": torn,
        "run/v58.json": run(58),
        "run/v60.json": run(60, { tasks: [] }),
        "run/v61.json": JSON.stringify(run(61)).slice(0, 50),
      },
      { rules },
    );
    expect(all).toMatchObject([
      { kind: "truncated", file: "run.json", recoverable: "run/v58.json" },
      { kind: "snapshot-damaged", file: "run/v60.json", path: "$.tasks" },
      { kind: "snapshot-damaged", file: "run/v61.json" },
    ]);
  });

  test("is found in backup folders and beside the file, by name", () => {
    for (const copy of [
      "backups/settings.118.json",
      "settings.json.bak",
      "backup/170--settings.json",
    ])
      expect(found({ "settings.json": "", [copy]: { a: 1, b: 2 } })).toMatchObject([
        { kind: "empty", recoverable: copy },
      ]);
  });

  test("is a whole temporary file only when nothing else is there, and none is said as null", () => {
    expect(found({ "run.json": torn, "run.json.tmp-8": run(63) })).toMatchObject([
      { kind: "truncated", recoverable: "run.json.tmp-8" },
      { kind: "candidate-temp" },
    ]);
    expect(found({ "run.json": torn })).toMatchObject([{ kind: "truncated", recoverable: null }]);
  });

  test("of another document's family is never named", () => {
    expect(found({ "a.json": torn, "b.json": run(2), "b/v1.json": run(1) })).toMatchObject([
      { kind: "truncated", file: "a.json", recoverable: null },
    ]);
  });
});

describe("the chain of versions", () => {
  test("kept copies with holes between them are healthy", () => {
    expect(
      found({ "run.json": run(66), "run/v61.json": run(61), "run/v66.json": run(66) }),
    ).toEqual([]);
  });

  test("a head below a kept version has regressed, and that version is the target", () => {
    expect(
      found({ "run.json": run(62), "run/v62.json": run(62), "run/v64.json": run(64) }),
    ).toMatchObject([
      {
        kind: "version-regressed",
        versionFound: 62,
        versionExpected: 64,
        recoverable: "run/v64.json",
      },
    ]);
  });

  test("a head one version below a kept one has regressed as well", () => {
    expect(found({ "run.json": run(63), "run/v64.json": run(64) })).toMatchObject([
      { kind: "version-regressed", versionExpected: 64 },
    ]);
  });

  test("one version with two contents is a fork; other white space is none", () => {
    const kept = JSON.stringify(run(5), null, 2);
    expect(found({ "run.json": run(5), "run/v5.json": kept })).toEqual([]);
    expect(found({ "run.json": run(5, { extra: 1 }), "run/v5.json": kept })).toMatchObject([
      { kind: "version-fork", file: "run.json" },
    ]);
  });

  test("a kept version that holds another version is not to be restored", () => {
    expect(found({ "run.json": run(6), "run/v5.json": run(4) })).toMatchObject([
      { kind: "snapshot-damaged", versionInName: 5, versionFound: 4 },
    ]);
  });

  test("a missing head with kept versions is told, with the newest of them", () => {
    expect(found({ "run/v5.json": run(5), "run/v6.json": run(6) })).toMatchObject([
      { kind: "missing-main", file: "run.json", recoverable: "run/v6.json" },
    ]);
  });

  test("a tiny valid file in place of a big one was reset to defaults", () => {
    const big = { userId: "u-1", version: 118, projects: { a: "x".repeat(400) }, b: [1], c: 2 };
    expect(
      found({ "s.json": { userId: "u-2", version: 1 }, "backups/s.118.json": big }),
    ).toMatchObject([
      { kind: "reset-to-default", versionFound: 1, versionBefore: 118, identityChanged: true },
    ]);
  });
});

describe("two documents in one file", () => {
  test("are told with the versions they say they are", () => {
    const text = `${JSON.stringify(run(5))}\n${JSON.stringify(run(6))}\n`;
    expect(found({ "run.json": text })).toMatchObject([
      { kind: "concatenated-documents", documents: 2, versions: [5, 6] },
    ]);
  });
});

describe("a head that is no object", () => {
  test.each(["null", "[]", "0", '"[object Object]"'])("%s in place of one was reset", (text) => {
    expect(found({ "run.json": text, "run/v5.json": run(5) })).toMatchObject([
      { kind: "reset-to-default", recoverable: "run/v5.json" },
    ]);
  });
});

describe("files that are no run state", () => {
  test("are left alone: settings that begin with a bracket, copies of texts", () => {
    const files = {
      gitconfig: "[user]\n name = x\n",
      "notes.txt.old": "a\n",
      "app.log": "12:00 started\n",
      "x.conf": "[a]\nb=1\n",
    };
    expect(inspected(files).files).toEqual([]);
    expect(inspected(files).overall).toBe("unreadable");
  });
});

describe("leftovers", () => {
  test("of several temporary files only the highest is a candidate, and the rest is one notice", () => {
    const files: Record<string, object> = { "s.json": run(10) };
    for (let i = 1; i <= 5; i++) files[`s.json.400${i}.tmp`] = run(10 + i);
    expect(found(files)).toMatchObject([
      {
        kind: "candidate-temp",
        file: "s.json.4005.tmp",
        version: 15,
        headVersion: 10,
        severity: "warning",
      },
      { kind: "orphan-temp", severity: "notice", count: 4 },
    ]);
  });

  test.each([2, 3])(
    "a temporary file at version %i beside head at 3 is no candidate",
    (version) => {
      expect(found({ "s.json": run(3), "s.json.4001.tmp": run(version) })).toMatchObject([
        { kind: "orphan-temp", severity: "notice", version, headVersion: 3 },
      ]);
    },
  );

  test("damage in a temporary file is a notice and no damage of the document", () => {
    const all = inspected({ "s.json": run(3), "s.json.1.tmp": '{"version":' });
    expect(all.findings).toMatchObject([{ kind: "truncated", severity: "notice" }]);
    expect(all.overall).toBe("attention");
  });

  test("a save under way by a living process is not mentioned", () => {
    const context = {
      now: "2026-03-04T11:00:10Z",
      processes: [{ pid: 512, started: "2026-03-04T08:00:00Z" }],
    };
    expect(found({ "run.json": run(3), "run.json.tmp-512": '{"ver' }, context)).toEqual([]);
  });

  test("a sync tool's copy is named with the document it is of", () => {
    expect(
      found({ "run.json": run(3), "run.sync-conflict-20260304-1-X.json": run(3, { a: 1 }) }),
    ).toMatchObject([{ kind: "conflict-copy", of: "run.json", severity: "warning" }]);
  });
});

describe("locks", () => {
  const lock = { pid: 991, host: "box-1", createdAt: "2026-03-01T07:00:00Z" };
  test("whose process number was given to a later process are stale", () => {
    const processes = [{ pid: 991, started: "2026-03-04T06:00:00Z", host: "box-1" }];
    expect(found({ "relay.lock": lock }, { processes })).toMatchObject([
      { kind: "stale-lock", pid: 991 },
    ]);
  });

  test("of a living process, of another host, or without a process table are left alone", () => {
    const alive = [{ pid: 991, started: "2026-02-01T06:00:00Z", host: "box-1" }];
    const elsewhere = [{ pid: 7, started: "2026-02-01T06:00:00Z", host: "box-2" }];
    expect(found({ "relay.lock": lock }, { processes: alive })).toEqual([]);
    expect(found({ "relay.lock": lock }, { processes: elsewhere })).toEqual([]);
    expect(found({ "relay.lock": lock })).toEqual([]);
  });

  test("leases given back or replaced are never stale, whatever became of their processes", () => {
    const lease = (token: number, holder: string | null) => ({
      ...{ holder, token, host: "box-1", pid: 991, acquiredAt: "2026-03-01T07:00:00Z" },
      ...{ renewedAt: "2026-03-01T07:00:00.000Z", durationMs: 30_000 },
    });
    const files = { "run.lease.1.1.json": lease(1, "w1"), "run.lease.2.1.json": lease(2, null) };
    expect(found(files, { processes: [{ pid: 7, host: "box-1" }] })).toEqual([]);
  });

  test("leases that ran out are told once, for the newest grant", () => {
    const lease = (token: number, holder: string | null) => ({
      holder,
      token,
      host: "h",
      pid: 1,
      renewedAt: "2026-03-04T10:00:00.000Z",
      durationMs: 30_000,
    });
    const files = {
      "run.json": run(1),
      "run.lease.1.1.json": lease(1, "w1"),
      "run.lease.2.1.json": lease(2, "w2"),
    };
    expect(found(files)).toMatchObject([
      { kind: "lease-expired", file: "run.lease.2.1.json", holder: "w2" },
    ]);
    expect(found({ ...files, "run.lease.2.1.json": lease(2, null) })).toEqual([]);
  });
});

describe("output made from inputs that moved", () => {
  const dependsOn = [
    {
      output: { file: "run.json", path: path("$.report") },
      inputs: [{ file: "run.json", path: path("tasks[*].status") }],
    },
  ];
  const head = run(66, {
    tasks: [{ id: "t1", status: "rejected" }],
    report: { based_on_version: 62 },
  });

  test("is stale by the kept versions: which path, in which version", () => {
    const files = {
      "run.json": head,
      "run/v62.json": run(62),
      "run/v65.json": { ...head, version: 65 },
    };
    expect(found(files, { dependsOn })).toMatchObject([
      { kind: "stale-derivation", basedOn: 62, changedIn: 65, changedPaths: ["tasks[0].status"] },
    ]);
  });

  test("is stale by the log of writes, which changes before its own version do not make it", () => {
    const context = { dependsOn, fields: { version: "version", worker: "by", paths: "paths" } };
    const write = (version: number, path: string) =>
      `${JSON.stringify({ version, by: "w", paths: [path] })}\n`;
    const before =
      write(61, "tasks[0].status") + write(62, "tasks[0].status") + write(66, "report");
    expect(found({ "run.json": head, "history.jsonl": before }, context)).toEqual([]);
    const after = write(62, "tasks[0].status") + write(65, "tasks[0].status") + write(66, "report");
    expect(found({ "run.json": head, "history.jsonl": after }, context)).toMatchObject([
      { kind: "stale-derivation", basedOn: 62, changedIn: 65, by: "w" },
    ]);
  });

  test("is not stale when only other paths moved", () => {
    const files = {
      "run.json": run(66, { report: { based_on_version: 62 }, other: 1 }),
      "run/v62.json": run(62),
    };
    expect(found(files, { dependsOn })).toEqual([]);
  });

  test("that does not say what it was made from is told so", () => {
    expect(found({ "run.json": run(66, { report: { text: "x" } }) }, { dependsOn })).toMatchObject([
      { kind: "no-provenance", severity: "warning" },
    ]);
  });
});

describe("changes that are in the document twice", () => {
  test("an element appended by one version and again by the next is suspected", () => {
    const f = { clause: "9.4", severity: "high" };
    const files = {
      "run/v61.json": run(61, { findings: [] }),
      "run/v62.json": run(62, { findings: [f] }),
      "run.json": run(63, { findings: [f, f] }),
    };
    expect(found(files)).toMatchObject([
      { kind: "double-applied", path: "$.findings", indices: [0, 1], severity: "warning" },
    ]);
  });

  test("an id that stands twice in the window is proof", () => {
    expect(found({ "run.json": run(3, { applied_ids: ["a", "b", "a"] }) })).toMatchObject([
      { kind: "double-applied", update: "a", severity: "error" },
    ]);
  });
});

describe("declared rules", () => {
  const rule = (name: string, at: string, of: object) =>
    ({
      rules: [{ file: "d.json", path: path(at), rule: name, of }],
    }) as unknown as Partial<InspectContext>;
  const place = (at: string) => ({ kind: "place", file: "d.json", path: path(at) });

  test("each-equals names the first breach and its byte", () => {
    const text = '{"rev":13,"nodes":[{"gen":13},{"gen":12}]}';
    const [first] = inspected(
      { "d.json": text },
      rule("each-equals", "nodes[*].gen", place("rev")),
    ).findings;
    expect(first).toMatchObject({
      kind: "invariant-broken",
      path: "$.nodes[1].gen",
      byteOffset: text.indexOf("12}"),
    });
  });

  test.each([
    ["unique", "e[*].k", { kind: "none" }, { e: [{ k: 1 }, { k: 2 }, { k: 2 }] }, "double-applied"],
    ["is-list", "e", { kind: "none" }, { e: null }, "invariant-broken"],
    ["not-empty", "e", { kind: "none" }, { e: {} }, "invariant-broken"],
    [
      "refers-to",
      "e[*].of",
      place("t[*].id"),
      { t: [{ id: "a" }], e: [{ of: "b" }] },
      "invariant-broken",
    ],
    ["equals-count", "n", place("e[*]"), { n: 3, e: [1, 1] }, "counter-mismatch"],
    ["equals-count-distinct", "n", place("e[*]"), { n: 2, e: [1, 1] }, "counter-mismatch"],
    [
      "crc32-of",
      "sum",
      { ...place("data"), form: "compact" },
      { data: { a: 1 }, sum: 1 },
      "checksum-mismatch",
    ],
    [
      "max-age",
      "at",
      { kind: "seconds", seconds: 60 },
      { at: "2026-03-04T09:00:00Z" },
      "stale-derivation",
    ],
  ])("%s is told when it is broken", (name, at, of, document, kind) => {
    expect(found({ "d.json": document }, rule(name, at, of))).toMatchObject([{ kind }]);
  });

  test.each([
    ["unique", "e[*].k", { kind: "none" }, { e: [{ k: 1 }, { k: 2 }] }],
    ["is-list", "e", { kind: "none" }, { e: [] }],
    ["refers-to", "e[*].of", place("t[*].id"), { t: [{ id: "a" }], e: [{ of: "a" }] }],
    ["equals-count", "n", place("e[*]"), { n: 2, e: [1, 1] }],
    [
      "crc32-of",
      "sum",
      { ...place("data"), form: "compact" },
      '{"data": {"a" : 1}, "sum": "561bacaf"}',
    ],
    ["max-age", "at", { kind: "seconds", seconds: 86_400 }, { at: "2026-03-04T09:00:00Z" }],
  ])("%s is silent when it holds", (name, at, of, document) => {
    expect(found({ "d.json": document }, rule(name, at, of))).toEqual([]);
  });

  test("about a file that is not there is said to be unchecked", () => {
    expect(found({ "x.json": {} }, rule("is-list", "e", { kind: "none" }))).toMatchObject([
      { kind: "rule-not-checked", severity: "notice" },
    ]);
  });
});
