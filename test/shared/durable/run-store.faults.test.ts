import { beforeEach, describe, expect, test } from "vitest";
import type { UpdateOutcome } from "../../../shared/durable/run-outcomes.js";
import type { RunStoreOptions } from "../../../shared/durable/run-store.js";
import { compactStyle } from "../../../shared/format/json-layout.js";
import type { ObjectStore } from "../../../shared/storage/object-store.js";
import {
  buildRuns,
  claimAt,
  everything,
  type Fault,
  faultFor,
  faultyStore,
  headAt,
  keptAt,
  put,
  removeKey,
  run,
  textAt,
} from "../../support/build-run.js";

let store: ObjectStore;

beforeEach(async () => {
  const built = buildRuns({ style: compactStyle });
  store = built.store;
  await built.runs.createRun(run, { attempts: 0 });
});

function countUp(updateId: string, options: Partial<RunStoreOptions> = {}): Promise<UpdateOutcome> {
  const { runs } = buildRuns({ store, ...options });
  return runs.update<{ attempts: number }>(run, { updateId, onStale: "refuse" }, (document) => {
    document.attempts += 1;
    return undefined;
  });
}

const withFault = (
  fault: Fault,
  matches: (verb: string, key: string) => boolean,
  times = 1,
): Partial<RunStoreOptions> => ({ store: faultyStore(store, faultFor(fault, matches, times)) });

const isClaim = (verb: string, key: string): boolean =>
  verb === "create" && key.includes(".pending.");
const isClaimRemoval = (verb: string, key: string): boolean =>
  verb === "remove" && key.includes(".pending.");
const isCommit = (verb: string, key: string): boolean => verb === "replace" && key === headAt;
const isKeep =
  (version: number) =>
  (verb: string, key: string): boolean =>
    verb === "create" && key === keptAt(version);

const storeWith = (part: Partial<ObjectStore>): ObjectStore => ({
  ...faultyStore(store, () => "none"),
  ...part,
});

async function attempts(): Promise<number> {
  return JSON.parse(await textAt(store, headAt)).attempts;
}

describe("a reply that is lost at any step is settled by looking: applied once", () => {
  test.each<[string, (version: number) => (verb: string, key: string) => boolean]>([
    ["the claim", () => isClaim],
    ["the commit", () => isCommit],
    ["the keeping", isKeep],
    ["taking the claim away", () => isClaimRemoval],
  ])("%s", async (_name, matches) => {
    for (const [i, fault] of (["reply-lost", "request-lost"] as const).entries()) {
      const isFor = (verb: string, key: string): boolean => matches(i + 2)(verb, key);
      const outcome = await countUp(`u${i}`, withFault(fault, isFor));
      expect(outcome.kind, fault).toBe("applied");
      expect(await attempts()).toBe(i + 1);
      expect((await countUp(`u${i}`)).kind).toBe("already-applied");
    }
  });
});

describe("a refusing disk", () => {
  test.each<[string, (verb: string, key: string) => boolean]>([
    ["at the claim", isClaim],
    ["at the commit", isCommit],
  ])("%s is an error, and nothing has changed", async (_name, matches) => {
    const before = await everything(store);
    await expect(countUp("u1", withFault("refused", matches))).rejects.toMatchObject({
      code: "storage-full",
    });
    expect(await everything(store)).toEqual(before);
  });

  test("at the commit that then also keeps the claim is doubt: the next writer may finish it", async () => {
    const matches = (verb: string, key: string): boolean =>
      isCommit(verb, key) || isClaimRemoval(verb, key);
    expect(await countUp("u1", withFault("refused", matches, 2))).toMatchObject({
      kind: "in-doubt",
      reason: "claim-left",
    });
    expect((await countUp("u1")).kind).toBe("already-applied");
    expect(await attempts()).toBe(1);
  });

  test("at the keeping is doubt, never an acknowledgement; the next writer keeps it", async () => {
    expect(await countUp("u1", withFault("refused", isKeep(2)))).toMatchObject({
      kind: "in-doubt",
      reason: "version-not-kept",
    });
    expect((await countUp("u1")).kind).toBe("already-applied");
    expect(await textAt(store, keptAt(2))).toBe(await textAt(store, headAt));
  });

  test("at tidying takes nothing back", async () => {
    expect(await countUp("u1", withFault("refused", isClaimRemoval))).toMatchObject({
      kind: "applied",
      tidying: { kind: "refused", code: "storage-full" },
    });
  });

  test("after a commit in doubt is doubt, not an error", async () => {
    let commits = 0;
    const faulty = faultyStore(store, (verb, key) => {
      if (!isCommit(verb, key)) return "none";
      commits += 1;
      return commits === 1 ? "request-lost" : "refused";
    });
    expect(await countUp("u1", { store: faulty })).toMatchObject({
      kind: "in-doubt",
      reason: "reply-lost",
    });
  });
});

describe("what was in doubt", () => {
  test("stays in doubt while the head is the one it was made from", async () => {
    let claims = 0;
    const faulty = faultyStore(store, (verb, key) => {
      if (!isClaim(verb, key)) return "none";
      claims += 1;
      return claims === 1 ? "request-lost" : "refused";
    });
    expect(await countUp("u1", { store: faulty })).toMatchObject({
      kind: "in-doubt",
      reason: "reply-lost",
    });
  });

  test("is settled once the head has moved on: a late write was bound to the one before", async () => {
    const { runs } = buildRuns({
      ...withFault("request-lost", isClaim),
      atCrashPoint: async (point) => {
        if (point !== "change-made") return;
        await put(store, headAt, '{"version":2,"applied_ids":["theirs"],"attempts":7}');
      },
    });
    const request = {
      updateId: "u1",
      basedOn: 1,
      dependsOn: ["attempts"],
      onStale: "refuse",
    } as const;
    expect(await runs.update(run, request, () => undefined)).toMatchObject({
      kind: "stale-inputs",
      changedPaths: ["$.attempts"],
    });
  });

  test("is found among the kept versions when the window has forgotten it", async () => {
    let looks = 0;
    const outcome = await countUp("u1", {
      ...withFault("reply-lost", isCommit),
      ledgerWindowCount: 2,
      atCrashPoint: async (point) => {
        if (point === "look-begun") looks += 1;
        if (point !== "look-begun" || looks !== 2) return;
        for (const id of ["h1", "h2", "h3"]) await countUp(id, { ledgerWindowCount: 2 });
      },
    });
    expect(outcome).toMatchObject({ kind: "already-applied", headVersion: 5 });
    expect(await attempts()).toBe(4);
  });
});

describe("a folder that cannot be synced", () => {
  test("after the commit: the change is kept, and not acknowledged", async () => {
    expect(await countUp("u1", withFault("directory-sync-failed", isCommit))).toMatchObject({
      kind: "in-doubt",
      reason: "directory-sync-failed",
    });
    expect(await textAt(store, keptAt(2))).toBe(await textAt(store, headAt));
    expect((await countUp("u1")).kind).toBe("already-applied");
  });

  test("after the keeping: not acknowledged", async () => {
    expect(await countUp("u1", withFault("directory-sync-failed", isKeep(2)))).toMatchObject({
      kind: "in-doubt",
      reason: "version-not-kept",
    });
  });

  test("after adopting a foreign head: nothing is built on it", async () => {
    await put(store, headAt, '{"version":2,"attempts":5}');
    expect(await countUp("u1", withFault("directory-sync-failed", isKeep(2)))).toMatchObject({
      kind: "in-doubt",
      reason: "version-not-kept",
    });
    expect(await attempts()).toBe(5);
  });
});

describe("another writer in between", () => {
  const foreign = '{"version":2,"applied_ids":["theirs"],"attempts":10}';
  const once = (
    point: string,
    action: () => Promise<void>,
  ): Pick<RunStoreOptions, "atCrashPoint"> => {
    let done = false;
    return {
      atCrashPoint: async (at) => {
        if (at !== point || done) return;
        done = true;
        await action();
      },
    };
  };

  test.each(["looked", "change-made", "claimed", "next-version-looked-for", "lease-checked"])(
    "replaces the head after our step %s: ours is made anew on top of theirs",
    async (point) => {
      const outcome = await countUp(
        "u1",
        once(point, () => put(store, headAt, foreign)),
      );
      expect(outcome).toMatchObject({ kind: "applied", version: 3 });
      expect(await attempts()).toBe(11);
      expect(await textAt(store, keptAt(2))).toBe(foreign);
    },
  );

  test("commits and keeps the next version while we claim: our claim is taken back", async () => {
    const outcome = await countUp(
      "u1",
      once("claimed", async () => {
        await put(store, headAt, foreign);
        await put(store, keptAt(2), foreign);
      }),
    );
    expect(outcome).toMatchObject({ kind: "applied", version: 3 });
    expect((await store.list(`${run}/v2.pending`, 9)).keys).toEqual([]);
  });

  test("has kept the next version and the head was put back: our claim comes too late, and is taken back", async () => {
    const before = await textAt(store, headAt);
    const outcome = await countUp(
      "u1",
      once("change-made", () => put(store, keptAt(2), foreign)),
    );
    expect(outcome).toMatchObject({ kind: "head-behind", headVersion: 1, newestKept: 2 });
    expect(await textAt(store, headAt)).toBe(before);
    expect((await store.list(`${run}/v2.pending`, 9)).keys).toEqual([]);
  });

  test("finishes our claim for us while we wait: found by our id, and acknowledged as applied", async () => {
    const outcome = await countUp(
      "u1",
      once("lease-checked", async () => {
        const helper = await countUp("helper");
        expect(helper).toMatchObject({ kind: "applied", version: 3 });
      }),
    );
    expect(outcome.kind).toBe("already-applied");
    expect(await attempts()).toBe(2);
  });

  test("builds so much on our finished claim that the window forgets it: the kept version has not", async () => {
    const outcome = await countUp("u1", {
      ledgerWindowCount: 2,
      ...once("lease-checked", async () => {
        for (const id of ["h1", "h2", "h3"]) await countUp(id, { ledgerWindowCount: 2 });
      }),
    });
    expect(outcome.kind).toBe("already-applied");
    expect(await attempts()).toBe(4);
  });

  test("replaces the head while we finish a claim: the claim is not ours to remove, its bytes are kept", async () => {
    const first = await textAt(store, headAt);
    const claim = '{"version":2,"applied_ids":["stopped"],"attempts":3}';
    await put(store, claimAt(first, 2), claim);
    const outcome = await countUp(
      "u1",
      once("help-lease-checked", () => put(store, headAt, foreign)),
    );
    expect(outcome).toMatchObject({ kind: "applied", version: 3 });
    const all = await everything(store);
    const evidence = Object.keys(all).filter((key) => key.startsWith(".lastgood/evidence/"));
    expect(evidence.map((key) => all[key])).toEqual([claim]);
  });

  test("keeps other bytes under our version: a fork, not an acknowledgement", async () => {
    const outcome = await countUp(
      "u1",
      once("committed", () => put(store, keptAt(2), foreign)),
    );
    expect(outcome).toMatchObject({ kind: "version-fork", version: 2 });
  });

  test("moves the head between two of our reads: not taken for a head that is behind", async () => {
    let listings = 0;
    const slow = storeWith({
      list: async (prefix, countMax) => {
        listings += 1;
        if (listings === 1) await countUp("theirs");
        return store.list(prefix, countMax);
      },
    });
    expect(await countUp("u1", { store: slow })).toMatchObject({ kind: "applied", version: 3 });
  });

  test("creates the run between two of our reads: not taken for a head that is missing", async () => {
    await removeKey(store, headAt);
    const first = await textAt(store, keptAt(1));
    const slow = storeWith({
      list: async (prefix, countMax) => {
        if ((await store.read(headAt)) === "absent") await put(store, headAt, first);
        return store.list(prefix, countMax);
      },
    });
    expect((await countUp("u1", { store: slow })).kind).toBe("applied");
  });

  test("wins every race: we give up, having applied nothing", async () => {
    let rival = 0;
    const outcome = await countUp("u1", {
      updateAttemptsMax: 5,
      atCrashPoint: async (at) => {
        if (at !== "lease-checked") return;
        rival += 1;
        await put(store, headAt, `{"version":${rival + 1},"applied_ids":["u0"],"attempts":0}`);
      },
    });
    expect(outcome).toMatchObject({ kind: "gave-up", attempts: 5 });
    expect(
      (await store.list(`${run}/v`, 99)).keys.filter((key) => key.includes("pending")),
    ).toEqual([]);
  });
});

describe("a listing that lags behind its writes", () => {
  test("does not hide a kept next version: it is read by name", async () => {
    await countUp("u1");
    await put(store, headAt, await textAt(store, keptAt(1)));
    const lagging = storeWith({
      traits: { ...store.traits, listFollowsWrites: false },
      list: async () => ({ keys: [], complete: true }),
    });
    expect(await countUp("u2", { store: lagging })).toMatchObject({
      kind: "head-behind",
      headVersion: 1,
      newestKept: 2,
    });
  });
});

describe("pruning", () => {
  async function versionsAfter(updates: number, options: Partial<RunStoreOptions>) {
    for (let i = 1; i <= updates; i += 1) await countUp(`u${i}`, options);
    return (await buildRuns({ store }).runs.versions(run)).versions;
  }

  test("keeps the newest ones", async () => {
    expect(await versionsAfter(9, { keptVersionsCount: 4 })).toEqual([7, 8, 9, 10]);
  });

  test("never goes beyond the version before the one that was read", async () => {
    expect(await versionsAfter(9, { keptVersionsCount: 1 })).toEqual([8, 9, 10]);
  });

  test("spares versions in use, and the one a restore names as its source", async () => {
    const versionsInUse = async (): Promise<number[]> => [3];
    expect(await versionsAfter(9, { keptVersionsCount: 4, versionsInUse })).toEqual([
      3, 7, 8, 9, 10,
    ]);
    const restored = '{"version":11,"applied_ids":["u9"],"attempts":2,"restored_from":7}';
    await put(
      store,
      headAt,
      restored.replace('"u9"', '"u1","u2","u3","u4","u5","u6","u7","u8","u9"'),
    );
    expect(await versionsAfter(13, { keptVersionsCount: 2 })).toContain(7);
  });

  test("spares the base of the update itself", async () => {
    await versionsAfter(5, {});
    const { runs } = buildRuns({ store, keptVersionsCount: 2 });
    const request = { updateId: "r", basedOn: 1, dependsOn: ["x"], onStale: "refuse" } as const;
    await runs.update(run, request, () => undefined);
    expect((await runs.versions(run)).versions).toEqual([1, 5, 6, 7]);
  });
});
