import { beforeEach, describe, expect, test } from "vitest";
import { LastgoodError } from "../../../shared/base/errors.js";
import { limits } from "../../../shared/base/limits.js";
import type { UpdateRequest } from "../../../shared/durable/run-outcomes.js";
import { openRunStore } from "../../../shared/durable/run-store.js";
import { compactStyle } from "../../../shared/format/json-layout.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import {
  type BuiltRun,
  buildRuns,
  claimAt,
  everything,
  faultFor,
  faultyStore,
  headAt,
  heldLease,
  keptAt,
  put,
  removeKey,
  run,
  runOptions,
  textAt,
} from "../../support/build-run.js";

interface Pipeline {
  attempts: number;
  findings: { clause: string }[];
  report?: { text: string; based_on_version?: number };
  tasks: { id: string; status: string }[];
}

const refuse = { onStale: "refuse" } as const;
const request = (updateId: string, more: Partial<UpdateRequest> = {}): UpdateRequest => ({
  updateId,
  ...refuse,
  ...more,
});
const countUp = (document: Pipeline): undefined => {
  document.attempts += 1;
};

const isCommit = (verb: string, key: string): boolean => verb === "replace" && key === headAt;

let built: BuiltRun;
const update = (updateId: string, more: Partial<UpdateRequest> = {}) =>
  built.runs.update<Pipeline>(run, request(updateId, more), countUp);

beforeEach(async () => {
  built = buildRuns({ style: compactStyle });
  await built.runs.createRun(run, { attempts: 0, findings: [], tasks: [] });
});

describe("creating a run", () => {
  test("writes version 1 and keeps it", async () => {
    const first = '{"version":1,"applied_ids":[],"attempts":0,"findings":[],"tasks":[]}';
    expect(await everything(built.store)).toEqual({ [headAt]: first, [keptAt(1)]: first });
  });

  test("asked again with the same content is answered alike, and with other content refused", async () => {
    const same = { attempts: 0, findings: [], tasks: [] };
    expect(await built.runs.createRun(run, same)).toMatchObject({ kind: "created", version: 1 });
    expect(await built.runs.createRun(run, { other: 1 })).toMatchObject({ kind: "already-exists" });
  });

  test("does not bury kept versions whose head is gone", async () => {
    await removeKey(built.store, headAt);
    expect(await built.runs.createRun(run, {})).toEqual({ kind: "head-missing", newestWhole: 1 });
  });

  test("rejects content that sets members of ours, or is no object", async () => {
    const other = "runs/other";
    expect(await built.runs.createRun(other, { version: 7 })).toMatchObject({
      kind: "input-rejected",
      path: "$.version",
    });
    expect(await built.runs.createRun(other, [])).toMatchObject({ kind: "input-rejected" });
    expect(await built.runs.createRun(other, { x: Number.NaN })).toMatchObject({ path: "$.x" });
  });

  test("refuses a name that would be read as something else", async () => {
    await expect(built.runs.createRun("runs/a.lease", {})).rejects.toMatchObject({
      code: "name-rejected",
    });
  });
});

describe("an update", () => {
  test("is in the head and kept, with its number and its id in the same bytes", async () => {
    expect(await update("u1")).toMatchObject({ kind: "applied", version: 2, movedPaths: [] });
    const second = '{"version":2,"applied_ids":["u1"],"attempts":1,"findings":[],"tasks":[]}';
    expect(await textAt(built.store, headAt)).toBe(second);
    expect(await textAt(built.store, keptAt(2))).toBe(second);
    expect((await built.runs.versions(run)).claims).toEqual([]);
  });

  test("answers with the etag of the head it made", async () => {
    const outcome = await update("u1");
    const head = await built.runs.read(run);
    expect(outcome.kind === "applied" && head.kind === "run" && outcome.etag === head.etag).toBe(
      true,
    );
  });

  test("may return a new document", async () => {
    await built.runs.update<Pipeline>(run, request("u1"), (document) => ({
      ...document,
      attempts: 9,
    }));
    expect(await textAt(built.store, headAt)).toContain('"attempts":9');
  });

  test("is applied once whoever asks again, and writes nothing the second time", async () => {
    await update("u1");
    const before = await everything(built.store);
    expect(await update("u1")).toMatchObject({ kind: "already-applied", headVersion: 2 });
    expect(await everything(built.store)).toEqual(before);
  });

  test("older than the window is applied again: the window is an expiry date", async () => {
    built = buildRuns({ store: built.store, ledgerWindowCount: 2 });
    for (const id of ["u1", "u2", "u3"]) await update(id);
    expect(await update("u2")).toMatchObject({ kind: "already-applied" });
    expect(await update("u1")).toMatchObject({ kind: "applied", version: 5 });
  });

  test("keeps to the names it is given", async () => {
    built = buildRuns({ names: { version: "serial", appliedIds: "seen" }, style: compactStyle });
    await built.runs.createRun(run, { attempts: 0 });
    await update("u1");
    expect(await textAt(built.store, headAt)).toBe('{"serial":2,"seen":["u1"],"attempts":1}');
  });

  test("leaves everything it does not change as it was written", async () => {
    const text = '{ "version": 1, "big": 12345678901234567890, "cost": 1.10, "attempts": 0 }\n';
    await put(built.store, headAt, text);
    await removeKey(built.store, keptAt(1));
    await update("u1");
    expect(await textAt(built.store, headAt)).toBe(
      '{ "version": 2, "big": 12345678901234567890, "cost": 1.10, "attempts": 1, "applied_ids": ["u1"] }\n',
    );
  });
});

// Golden bytes: what stands on a disk after the first release stands there for good.
test("a run as it is stored, byte for byte", async () => {
  built = buildRuns({
    atCrashPoint: async (point) => {
      if (point === "claimed") claims.push(await everything(built.store));
    },
  });
  const claims: Record<string, string>[] = [];
  await built.runs.createRun(run, { attempts: 0, report: { text: "" } });
  await update("u1", { basedOn: 1, onStale: "record", recordAt: "report" });
  const first =
    '{\n  "version": 1,\n  "applied_ids": [],\n  "attempts": 0,\n  "report": {\n    "text": ""\n  }\n}\n';
  const second =
    '{\n  "version": 2,\n  "applied_ids": [\n    "u1"\n  ],\n  "attempts": 1,\n' +
    '  "report": {\n    "text": "",\n    "based_on_version": 1\n  }\n}\n';
  const claim = "runs/run_9d4a/v2.pending.046af3d4a794cb4a.json";
  expect(claims).toEqual([
    { "runs/run_9d4a.json": first, "runs/run_9d4a/v1.json": first, [claim]: second },
  ]);
  expect(await everything(built.store)).toEqual({
    "runs/run_9d4a.json": second,
    "runs/run_9d4a/v1.json": first,
    "runs/run_9d4a/v2.json": second,
  });
});

describe("what a change must not do", () => {
  const changeWith = (change: (document: Record<string, unknown>) => void) =>
    built.runs.update<Record<string, unknown>>(run, request("u1"), (document) => {
      change(document);
      return undefined;
    });

  test.each<[string, (document: Record<string, unknown>) => void, string]>([
    ["set the version", (document) => Object.assign(document, { version: 7 }), "$.version"],
    [
      "set the window",
      (document) => Object.assign(document, { applied_ids: ["x"] }),
      "$.applied_ids",
    ],
    ["write a value that is no JSON", (document) => Object.assign(document, { x: NaN }), "$.x"],
  ])("%s", async (_name, change, path) => {
    const before = await everything(built.store);
    expect(await changeWith(change)).toMatchObject({ kind: "input-rejected", path });
    expect(await everything(built.store)).toEqual(before);
  });

  test("answer with anything but a document", async () => {
    const list = (() => [1]) as unknown as (document: object) => undefined;
    expect(await built.runs.update(run, request("u1"), list)).toMatchObject({
      kind: "input-rejected",
    });
  });

  test("be forgotten: what it throws comes through, and nothing is written", async () => {
    const before = await everything(built.store);
    const failing = built.runs.update(run, request("u1"), () => {
      throw new RangeError("no such section");
    });
    await expect(failing).rejects.toThrow("no such section");
    expect(await everything(built.store)).toEqual(before);
  });
});

describe("a request that cannot be carried out is rejected before anything is read", () => {
  test.each<[string, Partial<UpdateRequest>, string]>([
    ["no id", { updateId: "" }, "updateId"],
    ["an endless id", { updateId: "x".repeat(limits.updateIdLengthMax + 1) }, "updateId"],
    ["a base that is no version", { basedOn: 1.5 }, "basedOn"],
    ["dependencies without a base", { dependsOn: ["tasks"] }, "basedOn"],
    ["nothing to record", { onStale: "record" }, "basedOn"],
    ["a path that is none", { basedOn: 1, dependsOn: ["tasks["] }, "dependsOn"],
  ])("%s", async (_name, more, path) => {
    expect(await update("u1", more)).toMatchObject({ kind: "input-rejected", path });
  });
});

describe("the retry that applied a change twice (seed)", () => {
  const addFinding = (document: Pipeline): undefined => {
    document.findings.push({ clause: "9.4" });
    document.attempts += 1;
  };

  test("a reply that was lost is settled by the next look: absorbed once, and acknowledged as ours", async () => {
    const store = faultyStore(built.store, faultFor("reply-lost", isCommit));
    const { runs } = buildRuns({ store });
    const outcome = await runs.update<Pipeline>(run, request("agent:9.4:v1"), addFinding);
    expect(outcome).toMatchObject({ kind: "applied", version: 2 });
    expect(JSON.parse(await textAt(built.store, headAt))).toMatchObject({
      attempts: 1,
      findings: [{ clause: "9.4" }],
    });
    expect(await textAt(built.store, keptAt(2))).toBe(await textAt(built.store, headAt));
    expect((await runs.versions(run)).claims).toEqual([]);
  });

  test("a request that was lost before it arrived is sent again", async () => {
    const store = faultyStore(built.store, faultFor("request-lost", isCommit));
    const { runs } = buildRuns({ store });
    const outcome = await runs.update<Pipeline>(run, request("agent:9.4:v1"), addFinding);
    expect(outcome.kind).toBe("applied");
    expect(JSON.parse(await textAt(built.store, headAt)).findings).toHaveLength(1);
  });

  test("a process that died without an answer asks again with the same id", async () => {
    await built.runs.update<Pipeline>(run, request("agent:9.4:v1"), addFinding);
    const retry = await buildRuns({ store: built.store }).runs.update<Pipeline>(
      run,
      request("agent:9.4:v1"),
      addFinding,
    );
    expect(retry.kind).toBe("already-applied");
    expect(JSON.parse(await textAt(built.store, headAt)).findings).toHaveLength(1);
  });

  test("a store whose replies never arrive leaves it in doubt, not failed", async () => {
    const store = faultyStore(built.store, faultFor("request-lost", isCommit, Infinity));
    const { runs } = buildRuns({ store, updateAttemptsMax: 3 });
    const outcome = await runs.update<Pipeline>(run, request("u1"), addFinding);
    expect(outcome).toMatchObject({ kind: "in-doubt", reason: "reply-lost" });
  });
});

describe("the report on inputs that had moved (seed)", () => {
  const tasks = ["lease", "scope", "tax"].map((id) => ({ id, status: "done" }));
  const dependsOn = ["tasks[*].status"];
  const writeReport = (document: Pipeline): undefined => {
    document.report = { text: "all done" };
  };
  const reject = (document: Pipeline): undefined => {
    for (const task of document.tasks) if (task.id === "tax") task.status = "rejected";
  };
  const report = (more: Partial<UpdateRequest>) =>
    built.runs.update<Pipeline>(
      run,
      request("report:v1", { basedOn: 1, dependsOn, ...more }),
      writeReport,
    );

  beforeEach(async () => {
    built = buildRuns({ style: compactStyle });
    await built.runs.createRun(run, { attempts: 0, findings: [], tasks });
  });

  test("is refused, and names the section that moved", async () => {
    await built.runs.update<Pipeline>(run, request("review"), reject);
    const before = await everything(built.store);
    expect(await report({})).toEqual({
      kind: "stale-inputs",
      readVersion: 1,
      headVersion: 2,
      changedPaths: ["$.tasks[2].status"],
    });
    expect(await everything(built.store)).toEqual(before);
  });

  test("or is written with the version it was based on", async () => {
    await built.runs.update<Pipeline>(run, request("review"), reject);
    expect(await report({ onStale: "record", recordAt: "report" })).toMatchObject({
      kind: "applied",
      version: 3,
      movedPaths: ["$.tasks[2].status"],
    });
    expect(JSON.parse(await textAt(built.store, headAt)).report).toEqual({
      text: "all done",
      based_on_version: 1,
    });
  });

  test("goes through when only unrelated parts have changed", async () => {
    await update("unrelated");
    expect(await report({})).toMatchObject({ kind: "applied", version: 3 });
  });

  test("records at the top when no part is named, and refuses a part that is not there", async () => {
    expect(await report({ onStale: "record", recordAt: "summary" })).toMatchObject({
      kind: "input-rejected",
      path: "$.summary",
    });
    await report({ onStale: "record" });
    expect(JSON.parse(await textAt(built.store, headAt)).based_on_version).toBe(1);
  });

  test.each([
    ["is not kept any more", (): Promise<void> => removeKey(built.store, keptAt(1)), 1],
    ["is damaged", (): Promise<void> => put(built.store, keptAt(1), '{"version": 1'), 1],
    ["has never been written", async (): Promise<void> => {}, 9],
  ])("cannot be checked when its base %s", async (_name, damage, basedOn) => {
    await update("unrelated");
    await damage();
    expect(await report({ basedOn })).toEqual({
      kind: "base-unknown",
      readVersion: basedOn,
      headVersion: 2,
    });
  });
});

describe("a head that a person has to look at stops every update, and nothing is written", () => {
  const second = '{"version":2,"applied_ids":["u1"],"attempts":1}';
  test.each<[string, () => Promise<void>, object]>([
    [
      "torn in the middle of a string",
      () => put(built.store, headAt, '{"version":2,"note":"half'),
      { kind: "head-torn", newestWhole: 2 },
    ],
    [
      "without a version",
      () => put(built.store, headAt, "{}"),
      { kind: "head-torn", newestWhole: 2 },
    ],
    ["gone", () => removeKey(built.store, headAt), { kind: "head-missing", newestWhole: 2 }],
    [
      "put back by hand to an older version",
      async () => put(built.store, headAt, await textAt(built.store, keptAt(1))),
      { kind: "head-behind", headVersion: 1, newestKept: 2 },
    ],
    [
      "another state under the same number",
      () => put(built.store, headAt, second.replace("1}", "7}")),
      { kind: "version-fork", version: 2, sign: { kind: "kept-version-differs" } },
    ],
    [
      "a newer state that was not built on the version before",
      () => put(built.store, headAt, '{"version":3,"applied_ids":["foreign"]}'),
      { kind: "version-fork", version: 3, sign: { kind: "ids-missing", ids: ["u1"] } },
    ],
  ])("%s", async (_name, damage, expected) => {
    await update("u1");
    await damage();
    const before = await everything(built.store);
    expect(await update("u2")).toMatchObject(expected);
    expect(await everything(built.store)).toEqual(before);
  });

  test("a run that was never there", async () => {
    expect(await built.runs.update("runs/none", request("u1"), () => undefined)).toEqual({
      kind: "head-missing",
      newestWhole: "none",
    });
  });
});

describe("a foreign writer", () => {
  const foreign = '{"version":3,"applied_ids":["u1","foreign"],"attempts":40}';

  test("that built on what was there is adopted: its version is kept before anything else", async () => {
    await update("u1");
    await put(built.store, headAt, foreign);
    expect(await update("u2")).toMatchObject({ kind: "applied", version: 4 });
    expect(await textAt(built.store, keptAt(3))).toBe(foreign);
    expect(await textAt(built.store, headAt)).toContain('["u1","foreign","u2"]');
  });

  test("whose version holds our id is kept before we call it already applied", async () => {
    await update("u1");
    await put(built.store, headAt, foreign);
    expect(await update("foreign")).toMatchObject({ kind: "already-applied", headVersion: 3 });
    expect(await textAt(built.store, keptAt(3))).toBe(foreign);
  });

  test("that jumps ahead in numbers is adopted", async () => {
    await put(built.store, headAt, '{"version":10,"attempts":1}');
    expect(await update("u1")).toMatchObject({ kind: "applied", version: 11 });
  });
});

describe("what a stopped writer left behind", () => {
  const first = '{"version":1,"applied_ids":[],"attempts":0,"findings":[],"tasks":[]}';
  const claimed = '{"version":2,"applied_ids":["theirs"],"attempts":5}';

  test("a whole claim on this head is finished first", async () => {
    await put(built.store, claimAt(first, 2), claimed);
    expect(await update("u1")).toMatchObject({ kind: "applied", version: 3 });
    expect(await textAt(built.store, keptAt(2))).toBe(claimed);
    expect(await textAt(built.store, headAt)).toContain('["theirs","u1"],"attempts":6');
    expect((await built.runs.versions(run)).claims).toEqual([]);
  });

  test("a claim of our own id is finished and acknowledged as applied before", async () => {
    await put(built.store, claimAt(first, 2), claimed);
    expect(await update("theirs")).toMatchObject({ kind: "already-applied", headVersion: 2 });
  });

  test.each([
    ["torn", claimed.slice(0, 20)],
    ["of another version", claimed.replace("2", "9")],
  ])("a claim that is %s is set aside, its bytes kept", async (_name, text) => {
    await put(built.store, claimAt(first, 2), text);
    expect(await update("u1")).toMatchObject({ kind: "applied", version: 2 });
    const all = await everything(built.store);
    const evidence = Object.keys(all).filter((key) => key.startsWith(".lastgood/evidence/"));
    expect(evidence.map((key) => all[key])).toEqual([text]);
  });

  test("a claim made from another head is a leftover, set aside with the next update", async () => {
    const leftover = `${run}/v2.pending.0000000000000000.json`;
    await put(built.store, leftover, claimed);
    const outcome = await update("u1");
    expect(outcome).toMatchObject({ kind: "applied", tidying: { claimsSetAsideCount: 1 } });
    expect(await textAt(built.store, leftover)).toBe("absent");
  });

  test("a claim for a later version may be a living writer's and stays", async () => {
    const later = `${run}/v9.pending.0000000000000000.json`;
    await put(built.store, later, claimed);
    await update("u1");
    expect(await textAt(built.store, later)).toBe(claimed);
  });

  test("a head that was committed and not kept is kept, then acknowledged", async () => {
    const committed = '{"version":2,"applied_ids":["u1"],"attempts":1}';
    await put(built.store, headAt, committed);
    expect(await update("u1")).toMatchObject({ kind: "already-applied" });
    expect(await textAt(built.store, keptAt(2))).toBe(committed);
  });
});

describe("the lease", () => {
  test("that was lost stops the commit and leaves the claim to the new holder", async () => {
    const lease = heldLease(run);
    built = buildRuns({
      store: built.store,
      atCrashPoint: (point) => (point === "claimed" ? lease.lose() : undefined),
    });
    expect(await update("u1", { lease })).toEqual({ kind: "lease-lost" });
    expect((await built.runs.versions(run)).claims).toHaveLength(1);
    // The new holder finishes it: lost is not the same as not applied.
    built = buildRuns({ store: built.store });
    expect(await update("u1")).toMatchObject({ kind: "already-applied", headVersion: 2 });
  });

  test("that is lost keeps a helper from finishing, and from setting aside", async () => {
    const first = await textAt(built.store, headAt);
    const lease = heldLease(run);
    lease.lose();
    for (const text of ['{"version":2,"applied_ids":["theirs"]}', '{"version":2']) {
      await put(built.store, claimAt(first, 2), text);
      const before = await everything(built.store);
      expect(await update("u1", { lease })).toEqual({ kind: "lease-lost" });
      expect(await everything(built.store)).toEqual(before);
    }
  });

  test("is asked for when none is handed in, and given back whatever comes of the update", async () => {
    const leases: ReturnType<typeof heldLease>[] = [];
    const acquireLease = async (target: string) => {
      const lease = heldLease(target);
      leases.push(lease);
      return lease;
    };
    const { runs } = buildRuns({ store: built.store, acquireLease });
    await runs.update<Pipeline>(run, request("u1"), countUp);
    const failing = runs.update(run, request("u2"), () => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(leases.map((lease) => [lease.target, lease.released])).toEqual([
      [run, true],
      [run, true],
    ]);
  });

  test("is not optional on a store that cannot decide for all its clients", () => {
    const store = createMemoryStore();
    const local = Object.create(store, {
      traits: { value: { ...store.traits, kind: "local", replaceIsConditionalFor: "this-host" } },
    });
    expect(() => openRunStore(runOptions(local, { acquireLease: "not-needed" }))).toThrow(
      LastgoodError,
    );
  });
});
