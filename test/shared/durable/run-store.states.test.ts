/** States in which an update finds a run, and what it makes of each: damage, foreign writers, leftovers, leases. */
import { beforeEach, describe, expect, test } from "vitest";
import { LastgoodError } from "../../../shared/base/errors.js";
import type { UpdateRequest } from "../../../shared/durable/run-outcomes.js";
import { openRunStore } from "../../../shared/durable/run-store.js";
import { compactStyle } from "../../../shared/format/json-layout.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import {
  type BuiltRun,
  buildRuns,
  claimAt,
  countUp,
  everything,
  headAt,
  heldLease,
  keptAt,
  type Pipeline,
  put,
  removeKey,
  request,
  run,
  runOptions,
  textAt,
} from "../../support/build-run.js";

let built: BuiltRun;
const update = (updateId: string, more: Partial<UpdateRequest> = {}) =>
  built.runs.update<Pipeline>(run, request(updateId, more), countUp);

beforeEach(async () => {
  built = buildRuns({ style: compactStyle });
  await built.runs.createRun(run, { attempts: 0, findings: [], tasks: [] });
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
