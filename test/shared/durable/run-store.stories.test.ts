/** The two stories of the seed about updates: the retry that applied twice, and the report on moved inputs. */
import { beforeEach, describe, expect, test } from "vitest";
import type { UpdateRequest } from "../../../shared/durable/run-outcomes.js";
import { compactStyle } from "../../../shared/format/json-layout.js";
import {
  type BuiltRun,
  buildRuns,
  countUp,
  everything,
  faultFor,
  faultyStore,
  headAt,
  keptAt,
  type Pipeline,
  put,
  removeKey,
  request,
  run,
  textAt,
} from "../../support/build-run.js";

const isCommit = (verb: string, key: string): boolean => verb === "replace" && key === headAt;

let built: BuiltRun;
const update = (updateId: string, more: Partial<UpdateRequest> = {}) =>
  built.runs.update<Pipeline>(run, request(updateId, more), countUp);

beforeEach(async () => {
  built = buildRuns({ style: compactStyle });
  await built.runs.createRun(run, { attempts: 0, findings: [], tasks: [] });
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
