import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import type { UpdateRequest } from "../../../shared/durable/run-outcomes.js";
import { compactStyle } from "../../../shared/format/json-layout.js";
import {
  type BuiltRun,
  buildRuns,
  countUp,
  everything,
  headAt,
  keptAt,
  type Pipeline,
  put,
  removeKey,
  request,
  run,
  textAt,
} from "../../support/build-run.js";

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
