import { describe, expect, test } from "vitest";
import { LastgoodError } from "../../../shared/base/errors.js";
import {
  acquireLease,
  endLease,
  type GrantedLease,
  type LeaseOptions,
  readCurrentLease,
  waitForLease,
} from "../../../shared/durable/lease.js";
import { leaseStateAt, readLease } from "../../../shared/durable/lease-state.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import type { ObjectStore } from "../../../shared/storage/object-store.js";
import { report } from "../../support/crash-matrix.js";

const startMs = Date.parse("2026-03-04T12:00:00.000Z");
const target = "runs/checkpoint";
const full = process.env.LASTGOOD_TEST_FULL === "1";

/** A store, a clock and a process table under the test's control. */
function world() {
  const store = createMemoryStore();
  let nowMs = startMs;
  const gone = new Set<number>();
  const unknown = new Set<number>();
  const options = (
    holder: string,
    pid: number,
    more: Partial<LeaseOptions> = {},
  ): LeaseOptions => ({
    store,
    target,
    holder,
    process: { host: "here", pid, processStartedAt: "2026-03-04T11:00:00.000Z" },
    operation: "batch",
    now: () => nowMs,
    processAlive: (asked) => (gone.has(asked) ? "gone" : unknown.has(asked) ? "unknown" : "alive"),
    durationMs: 30_000,
    clockSkewMsMax: 2_000,
    ...more,
  });
  return {
    store,
    options,
    gone,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

/** The same store; every call comes through `around`, which may do things before, after, or instead. */
function watched(
  store: ObjectStore,
  around: (
    name: string,
    args: readonly unknown[],
    perform: () => Promise<unknown>,
  ) => Promise<unknown>,
): ObjectStore {
  return new Proxy(store, {
    get: (inner, name) => {
      const member = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) =>
        around(String(name), args, async () => await Reflect.apply(member, inner, args));
    },
  });
}

async function granted(options: LeaseOptions): Promise<GrantedLease> {
  const outcome = await acquireLease(options);
  if (outcome.kind !== "granted") throw new Error(`not granted: ${outcome.kind}`);
  return outcome.lease;
}

async function names(store: ObjectStore): Promise<readonly string[]> {
  return (await store.list(`${target}.lease.`, 100)).keys;
}

describe("granting", () => {
  test("the first grant has token 1; a second taker is told who has it", async () => {
    const { options } = world();
    const lease = await granted(options("w1", 1));
    expect(lease.token).toBe(1);
    expect(await acquireLease(options("w2", 2))).toMatchObject({
      kind: "held-by",
      state: "held",
      record: { holder: "w1", token: 1, pid: 1, host: "here", operation: "batch" },
    });
  });

  test("the token grows with each grant and survives the release", async () => {
    const { options, store } = world();
    for (const token of [1, 2, 3]) {
      const lease = await granted(options(`w${token}`, token));
      expect(lease.token).toBe(token);
      await lease.release();
      expect(await readCurrentLease(store, target)).toMatchObject({ holder: null, token });
      expect(await lease.check()).toBe("lost");
    }
  });

  test("of many records the first, the newest and the one before are left, and after the next grant that one alone", async () => {
    const { options, store } = world();
    const lease = await granted(options("w1", 1));
    for (let n = 0; n < 4; n += 1) await lease.renew();
    const left = (...renewals: number[]) => renewals.map((n) => `${target}.lease.1.${n}.json`);
    expect(await names(store)).toEqual(left(0, 3, 4));
    await lease.release();
    expect(await names(store)).toEqual(left(0, 4, 5));
    await granted(options("w2", 2));
    expect(await names(store)).toEqual([`${target}.lease.2.0.json`]);
  });

  test("a renewal that ended uncertain costs neither the lease nor the first record", async () => {
    const { options, store } = world();
    const doubtful = watched(store, async (name, args, perform) => {
      if (name !== "replace" || !String(args[0]).endsWith(".1.1.json")) return await perform();
      return { kind: "in-doubt", reason: "reply-lost" };
    });
    const lease = await granted(options("w1", 1, { store: doubtful }));
    await expect(lease.renew()).rejects.toMatchObject({ code: "io-failed" });
    for (let n = 0; n < 4; n += 1) expect(await lease.renew()).toBe("held");
    expect(await names(store)).toContain(`${target}.lease.1.0.json`);
  });

  test("a holder asks by name alone: its folder may be full of other runs", async () => {
    const { options, store } = world();
    const calls: string[] = [];
    const counted = watched(store, async (name, _args, perform) => {
      calls.push(name);
      return await perform();
    });
    const lease = await granted(options("w1", 1, { store: counted }));
    calls.length = 0;
    expect(await lease.keep()).toBe("held");
    expect(calls).toEqual(["read", "read"]);
  });

  test("a lease of a neighbour whose name begins alike is another lease", async () => {
    const { options } = world();
    await granted(options("w1", 1));
    const other = await granted(options("w2", 2, { target: `${target}.lease` }));
    expect(other.token).toBe(1);
  });

  test("a record that cannot be read grants nothing and names the file", async () => {
    const { options, store } = world();
    const key = `${target}.lease.4.0.json`;
    await store.replace(key, new TextEncoder().encode("{"), "absent");
    const refused = await acquireLease(options("w1", 1)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LastgoodError);
    expect(refused).toMatchObject({ code: "input-rejected", subject: key });
    expect(await names(store)).toEqual([key]);
  });
});

describe("taking over", () => {
  test("an expired lease is taken, and its holder may still be writing", async () => {
    const { options, pass } = world();
    const old = await granted(options("w1", 1));
    pass(32_001);
    const outcome = await acquireLease(options("w2", 2));
    expect(outcome).toMatchObject({
      kind: "granted",
      lease: { token: 2, earlierHolder: "unknown" },
      tookOver: { because: "expired", record: { holder: "w1" } },
    });
    expect(await old.check()).toBe("lost");
  });

  test("within the skew allowance it is neither held nor free, and not granted", async () => {
    const { options, pass } = world();
    await granted(options("w1", 1));
    pass(29_000);
    expect(await acquireLease(options("w2", 2))).toMatchObject({
      kind: "held-by",
      state: "unsure",
    });
  });

  test("a holder of this host that has provably ended is replaced at once", async () => {
    const { options, gone } = world();
    await granted(options("w1", 1));
    gone.add(1);
    expect(await acquireLease(options("w2", 2))).toMatchObject({
      kind: "granted",
      lease: { token: 2, earlierHolder: "stopped" },
      tookOver: { because: "holder-gone" },
    });
  });

  test("a process of another host is never known to have ended", async () => {
    const { options, gone } = world();
    const elsewhere = { host: "there", pid: 1, processStartedAt: undefined };
    await granted(options("w1", 1, { process: elsewhere }));
    gone.add(1);
    expect((await acquireLease(options("w2", 2))).kind).toBe("held-by");
  });

  test("when the taker ends before it has fenced off the one before it, the next must still do so", async () => {
    const { options, pass, gone } = world();
    await granted(options("w1", 1)); // goes to sleep, and may wake
    pass(32_001);
    await granted(options("w2", 2));
    gone.add(2);
    expect((await granted(options("w3", 3))).earlierHolder).toBe("unknown");
  });

  test("once fenced off, the one before it is of no concern to those who follow", async () => {
    const { options, pass } = world();
    await granted(options("w1", 1));
    pass(32_001);
    const second = await granted(options("w2", 2));
    second.fencedOff();
    await second.release();
    expect((await granted(options("w3", 3))).earlierHolder).toBe("stopped");
  });

  test("a late renewal does not put a taker out of force", async () => {
    const { options, pass, store } = world();
    const old = await granted(options("w1", 1));
    pass(32_001);
    const taker = await granted(options("w2", 2));
    expect(await old.renew()).toBe("lost");
    await old.release();
    expect(await taker.check()).toBe("held");
    expect(await readCurrentLease(store, target)).toMatchObject({ holder: "w2", token: 2 });
  });

  test("a renewed lease is not taken", async () => {
    const { options, pass } = world();
    const lease = await granted(options("w1", 1));
    pass(20_000);
    expect(await lease.keep()).toBe("held");
    pass(20_000);
    expect((await acquireLease(options("w2", 2))).kind).toBe("held-by");
  });

  test("whoever waits gets it once it is released, or is told who has it", async () => {
    const { options, pass } = world();
    const lease = await granted(options("w1", 1));
    const wait = { random: () => 0.5, waitMsMax: 1_000 };
    let pauses = 0;
    const pause = async (ms: number) => {
      pass(ms);
      pauses += 1;
      if (pauses === 3) await lease.release();
    };
    expect((await waitForLease(options("w2", 2), { ...wait, pause })).kind).toBe("granted");
    const wholeWait = async (ms: number) => pass(ms);
    const outcome = await waitForLease(options("w3", 3), { ...wait, pause: wholeWait });
    expect(outcome).toMatchObject({ kind: "held-by", record: { holder: "w2" } });
  });
});

describe("ending somebody else's lease", () => {
  test("frees it at once, with a grown token, and the old holder still has to be fenced off", async () => {
    const { options, store } = world();
    const old = await granted(options("w1", 1));
    expect(await endLease(options("kim", 2), 1)).toEqual({ kind: "ended" });
    expect(await old.check()).toBe("lost");
    expect(await readCurrentLease(store, target)).toMatchObject({ holder: null, token: 2 });
    expect(await granted(options("w3", 3))).toMatchObject({ token: 3, earlierHolder: "unknown" });
  });

  test("leaves alone a lease that was granted anew since the person looked, and one that is free", async () => {
    const { options } = world();
    await (await granted(options("w1", 1))).release();
    expect(await endLease(options("kim", 9), 1)).toMatchObject({ kind: "changed" });
    const next = await granted(options("w2", 2));
    expect(await endLease(options("kim", 9), 1)).toMatchObject({
      kind: "changed",
      current: { holder: "w2", token: 2 },
    });
    expect(await next.check()).toBe("held");
  });
});

describe("the state of a lease by the clock", () => {
  const lease = { holder: "w1", renewedAt: "2026-03-04T12:00:00.000Z", durationMs: 30_000 };
  test.each([
    [0, "held"],
    [27_999, "held"],
    [28_000, "unsure"],
    [31_999, "unsure"],
    [32_000, "expired"],
    [-2_000, "held"],
    [-2_001, "unsure"],
  ])("%i ms after the renewal it is %s", (sinceMs, state) => {
    expect(leaseStateAt(lease, startMs + sinceMs, 2_000)).toBe(state);
  });

  test("released is expired, and a time that is no time is unsure", () => {
    expect(leaseStateAt({ ...lease, holder: null }, startMs)).toBe("expired");
    expect(leaseStateAt({ ...lease, renewedAt: "soon" }, startMs)).toBe("unsure");
  });

  test("a foreign lease is read without trust", () => {
    const read = (text: string) => readLease(new TextEncoder().encode(text));
    expect(read("[]")).toBeUndefined();
    expect(read('{"holder":"w","token":-1,"renewedAt":"x","durationMs":1}')).toBeUndefined();
    const short = read('{"holder":"w","token":1,"renewedAt":"x","durationMs":1}');
    expect(short).toMatchObject({ pid: 0, earlierHolder: "unknown" });
  });
});

test("a taker so slow that the name it wants was granted and tidied away meanwhile gets nothing", async () => {
  const { options, store } = world();
  let holder: GrantedLease | undefined;
  const slow = watched(store, async (name, _args, perform) => {
    if (name === "replace" && holder === undefined) {
      const first = await granted(options("quick", 1));
      await first.release();
      holder = await granted(options("next", 3));
      expect(await names(store)).toEqual([`${target}.lease.2.0.json`]);
    }
    return await perform();
  });
  const outcome = await acquireLease(options("slow", 2, { store: slow }));
  expect(outcome).toMatchObject({ kind: "held-by", record: { holder: "next", token: 2 } });
  expect(await holder?.check()).toBe("held");
  expect(await holder?.renew()).toBe("held");
  expect(await readCurrentLease(store, target)).toMatchObject({ holder: "next", token: 2 });
});

test("a renewal that a taker overtook between its look and its writing says that the lease is lost", async () => {
  const { options, store, pass } = world();
  let taker: GrantedLease | undefined;
  let isLate = false;
  const slow: ObjectStore = new Proxy(store, {
    get: (inner, name) => {
      const member = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]) => {
        if (name === "replace" && isLate) taker ??= await granted(options("taker", 2));
        return await Reflect.apply(member, inner, args);
      };
    },
  });
  const lease = await granted(options("slow", 1, { store: slow }));
  pass(40_000);
  isLate = true;
  expect(await lease.renew()).toBe("lost");
  expect(await taker?.check()).toBe("held");
});

test("an uncertain write of a grant holds nothing and leaves nothing behind", async () => {
  const { options, store } = world();
  const doubtful: ObjectStore = Object.create(store, {
    traits: { value: store.traits },
    replace: {
      value: async (...args: Parameters<ObjectStore["replace"]>) => {
        await store.replace(...args);
        return { kind: "in-doubt", reason: "directory-sync-failed" };
      },
    },
    ...Object.fromEntries(
      (["read", "list", "remove"] as const).map((name) => [
        name,
        { value: (...args: unknown[]) => Reflect.apply(store[name], store, args) },
      ]),
    ),
  });
  await expect(acquireLease(options("w1", 1, { store: doubtful }))).rejects.toMatchObject({
    code: "io-failed",
  });
  expect(await names(store)).toEqual([]);
});

/**
 * An old holder asks by two names. Meanwhile one takes the lease from it, renews and releases it, and the next one is
 * granted it and prunes, whatever the store refuses to remove: each of the two readings falls between any two of their calls.
 */
test("an old holder that asks after the lease was taken is never told that it is held, whatever goes on meanwhile", async () => {
  let asked = 0;
  const never = "none";
  const few = [never, "1.1"];
  for (const refused of full ? [...few, "1.0", "2.0", "2.1", "2.2", "2.3", "2.4"] : few) {
    const { callCount } = await askMeanwhile(refused, -1, -1);
    for (let first = 0; first <= callCount; first += 1) {
      for (let second = first; second <= callCount; second += 1) {
        const { answer, wasTaken } = await askMeanwhile(refused, first, second);
        asked += 1;
        if (wasTaken) expect(answer, `${refused} stays, ${first}, ${second}`).toBe("lost");
      }
    }
  }
  report(
    `lease: an old holder asked ${asked} times beside its takers: never told a lost one is held`,
  );
}, 120_000);

/**
 * `refused`: token and renewal of the record that cannot be removed. `first` and `second`: before which call of the
 * others the two readings are done.
 */
async function askMeanwhile(refused: string, first: number, second: number) {
  const { store, options, pass } = world();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const readings: (() => void)[] = [];
  let answer: Promise<"held" | "lost"> | undefined;
  const old = await granted(
    options("old", 9, {
      store: watched(store, async (_name, _args, perform) => {
        if (answer !== undefined) await new Promise<void>((resolve) => readings.push(resolve));
        return await perform();
      }),
    }),
  );
  await old.renew();
  pass(40_000);
  let callCount = 0;
  let isTaken = false;
  let wasTaken = false;
  const readOnce = async () => {
    await turn();
    readings.shift()?.();
    await turn();
  };
  const reach = async () => {
    if (callCount === first) {
      wasTaken = isTaken;
      answer = old.check();
      await readOnce();
    }
    if (callCount === second) await readOnce();
  };
  const others = watched(store, async (name, [key], perform) => {
    await reach();
    callCount += 1;
    if (name === "remove" && key === `${target}.lease.${refused}.json`) {
      return { kind: "in-doubt", reason: "reply-lost" };
    }
    const result = await perform();
    isTaken ||= name === "replace";
    return result;
  });
  const taker = await granted(options("taker", 1, { store: others }));
  for (let n = 0; n < 3; n += 1) await taker.renew();
  await taker.release();
  await granted(options("next", 2, { store: others }));
  await reach();
  return { callCount, wasTaken, answer: await answer };
}

/**
 * Two takers of one lease, every interleaving of their store calls: a schedule is a list of whose call is next, and
 * all schedules are run, each from the start.
 */
test("of two takers exactly one is granted, in every interleaving of their steps", async () => {
  let schedules = 0;
  for (const before of ["never granted", "released", "expired", "holder gone"] as const) {
    for await (const outcome of everyInterleaving(before)) {
      schedules += 1;
      expect(outcome.granted, outcome.schedule).toHaveLength(1);
      expect(outcome.inForce, outcome.schedule).toBe(outcome.granted[0]?.token);
      expect(outcome.oldHolder, outcome.schedule).not.toBe("held");
    }
  }
  report(`lease: ${schedules} interleavings of two takers: exactly one granted in each`);
});

interface Race {
  readonly schedule: string;
  readonly granted: readonly GrantedLease[];
  readonly inForce: number | undefined;
  readonly oldHolder: "held" | "lost" | "none";
}

async function* everyInterleaving(before: string): AsyncGenerator<Race> {
  const pending: string[] = [""];
  for (let prefix = pending.pop(); prefix !== undefined; prefix = pending.pop()) {
    const { race, choices } = await runRace(before, prefix);
    // Where both could go on and the schedule did not say who: the other one next time.
    for (const at of choices) pending.push(`${race.schedule.slice(0, at)}b`);
    yield race;
  }
}

async function runRace(
  before: string,
  prefix: string,
): Promise<{ race: Race; choices: readonly number[] }> {
  const { store, options, pass, gone } = world();
  const old = before === "never granted" ? undefined : await granted(options("old", 9));
  if (before === "released") await old?.release();
  if (before === "expired") pass(40_000);
  if (before === "holder gone") gone.add(9);
  const gates: Record<"a" | "b", (() => void)[]> = { a: [], b: [] };
  const running = new Set<"a" | "b">(["a", "b"]);
  const gated = (who: "a" | "b"): ObjectStore =>
    new Proxy(store, {
      get: (inner, name) => {
        const member = Reflect.get(inner, name, inner);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          await new Promise<void>((resolve) => gates[who].push(resolve));
          return await Reflect.apply(member, inner, args);
        };
      },
    });
  const takers = (["a", "b"] as const).map(async (who, index) => {
    try {
      return await acquireLease(options(who, index + 1, { store: gated(who) }));
    } finally {
      running.delete(who);
    }
  });
  let schedule = "";
  const choices: number[] = [];
  while (running.size > 0) {
    await new Promise((resolve) => setImmediate(resolve));
    const ready = (["a", "b"] as const).filter((who) => gates[who].length > 0);
    const [first] = ready;
    if (first === undefined) continue;
    const told = prefix[schedule.length];
    const next = told === "a" || told === "b" ? told : first;
    if (told === undefined && ready.length === 2) choices.push(schedule.length);
    schedule += next;
    gates[next].shift()?.();
  }
  const outcomes = await Promise.all(takers);
  return {
    race: {
      schedule,
      granted: outcomes.flatMap((one) => (one.kind === "granted" ? [one.lease] : [])),
      inForce: (await readCurrentLease(store, target))?.token,
      oldHolder: old === undefined ? "none" : await old.check(),
    },
    choices,
  };
}
