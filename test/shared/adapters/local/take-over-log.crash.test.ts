/**
 * R2 and R7 across a take-over: what the old holder confirmed is in the log, wherever the old holder, the new one
 * or the power stops, and whoever opens the log next.
 */
import { expect, test } from "vitest";
import { type CrashPoint, crashPoints } from "../../../../shared/adapters/local/crash-points.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { LogFile, OpenLogOptions } from "../../../../shared/storage/object-store.js";
import { logOptions, utf8 } from "../../../suites/object-store.js";
import {
  type CrashSequence,
  crashMatrix,
  everyFate,
  report,
} from "../../../support/crash-matrix.js";
import { DiskState } from "../../../support/disk-state.js";
import { FaultFs, pausing } from "../../../support/fault-fs.js";
import { isJsonObject } from "../../../support/json-object.js";

const key = "runs/checkpoint.jsonl";
const path = `/work/${key}`;
const before = DiskState.with({ [path]: '{"id":"a"}\n{"id":"b"}\n' });
const full = process.env.LASTGOOD_TEST_FULL === "1";
const takeOverPoints = crashPoints.filter((point) => point.startsWith("take-over"));

/** How the next holder after the crash may open the log. */
const nextHolders: readonly [string, OpenLogOptions["takeOver"]][] = [
  ["in place", "in-place"],
  ["by another take-over", { kind: "fresh-inode", token: 6 }],
];

/** A holder that still writes, at every step, while its log is taken over under token 5. */
const takeOverUnderWrites: CrashSequence["act"] = async (fs, acknowledge) => {
  const old = await openAs(fs, "in-place");
  let count = 0;
  const oldAppends = async () => {
    count += 1;
    await appendAs(old, `old-${count}`, acknowledge);
  };
  await oldAppends();
  const taken = await openAs(fs, { kind: "fresh-inode", token: 5 }, oldAppends);
  await oldAppends();
  await appendAs(taken, "new-1", acknowledge);
};

test.each(nextHolders)(
  "a take-over that power loss stops anywhere is gone on with by the next holder, %s",
  async (how, takeOver) => {
    await crashMatrix({
      name: `take-over, then opened ${how}`,
      promise: "with every confirmed record once, nothing glued",
      before,
      act: takeOverUnderWrites,
      judge: async ({ state, acknowledged }) => {
        // A reader that comes before the next holder finds a whole file as well.
        expect(state.text(path)).toMatch(/^\{"id":"a"\}\n\{"id":"b"\}\n/);
        await expectGoodLog(new FaultFs(state), acknowledged, takeOver);
      },
    });
  },
);

test("a take-over of a cut log has the cut bytes in evidence and every confirmed record, at every crash", async () => {
  await crashMatrix({
    name: "take-over of a cut log",
    promise: "with every confirmed record once, nothing glued, cut bytes kept",
    before: DiskState.with({ [path]: '{"id":"a"}\n{"id":"b"}\n{"id":"c' }),
    act: async (fs, acknowledge) => {
      const taken = await openAs(fs, { kind: "fresh-inode", token: 5 });
      await appendAs(taken, "new-1", acknowledge);
    },
    judge: async ({ state, acknowledged }) => {
      const kept = [
        path,
        "/work/runs/checkpoint.5.superseding.jsonl",
        "/work/runs/checkpoint.5.superseded.jsonl",
        "/work/evidence/22",
      ];
      expect(kept.filter((one) => state.text(one).includes('{"id":"c'))).not.toEqual([]);
      await expectGoodLog(new FaultFs(state), acknowledged, "in-place");
    },
  });
});

test(`power lost during the take-over and again during the opening that goes on with it${full ? "" : " (every eightieth first crash)"}`, async () => {
  let seen = 0;
  let states = 0;
  for (const [, takeOver] of nextHolders) {
    for (const { state, acknowledged } of await firstCrashes()) {
      seen += 1;
      if (!full && seen % 80 !== 0) continue;
      states += await secondCrashes(state, acknowledged, takeOver);
    }
  }
  report(`take-over, two crashes: ${states} of ${states} states with every confirmed record once`);
  expect(states).toBeGreaterThan(100);
}, 600_000);

test.each(takeOverPoints)(
  'a taker that sleeps at "%s" while a later one takes over wakes up to nothing',
  async (point) => {
    const fs = new FaultFs(before);
    const acknowledged: string[] = [];
    const acknowledge = (what: string) => acknowledged.push(what);
    const old = await openAs(fs, "in-place");
    await appendAs(old, "old-1", acknowledge);

    let count = 2;
    let later: LogFile | undefined;
    const sleeper = openAs(fs, { kind: "fresh-inode", token: 5 }, async (reached) => {
      if (reached !== point || later !== undefined) return;
      await appendAs(old, "old-2", acknowledge);
      later = await openAs(fs, { kind: "fresh-inode", token: 6 }, async () => {
        count += 1;
        await appendAs(old, `old-${count}`, acknowledge);
      });
      await appendAs(later, "later-1", acknowledge);
    });
    // Also behind its last step: the look at the end keeps it from being handed out at all.
    await expect(sleeper).rejects.toMatchObject({ code: "lease-lost" });
    if (later === undefined) throw new Error(`${point} was never reached`);
    expect(await appendAs(later, "later-2", acknowledge)).toBe("appended");
    expect(fs.afterKill().names("/work/runs")).not.toContain("checkpoint.5.superseding.jsonl");
    await expectGoodLog(fs, acknowledged, "in-place");
  },
);

test(`two takers and an old holder, each held between any two system calls of the other${full ? "" : " (a part of all schedules)"}`, async () => {
  let schedules = 0;
  let ends = 0;
  const grain = full ? 1 : 3;
  for (let first = 0; ; first += 1) {
    let reachedEnd = false;
    for (let second = first % grain; ; second += grain) {
      const end = await raceOfTakers(first, second);
      schedules += 1;
      ends += end.sleeperAtEnd ? 1 : 0;
      reachedEnd = end.sleeperAtEnd;
      if (end.laterAtEnd) break;
    }
    if (reachedEnd) break;
  }
  report(`two takers: ${schedules} of ${schedules} schedules with every confirmed record once`);
  expect(schedules).toBeGreaterThan(100);
  expect(ends).toBeGreaterThan(0);
}, 600_000);

/**
 * The earlier taker (token 5) runs up to its call `first`, then the later one (token 6) up to its call `second`, then
 * the earlier to its end and one append, then the later to its end; the old holder appends in between.
 */
async function raceOfTakers(first: number, second: number) {
  const fs = new FaultFs(before);
  const confirmed: string[] = [];
  const confirm = (what: string) => confirmed.push(what);
  const old = await openAs(fs, "in-place");
  const sleeper = held(first);
  const later = held(second);
  await appendAs(old, "old-1", confirm);
  const five = openAndAppend(fs, sleeper.before, 5, confirm);
  await Promise.race([sleeper.reached, five]);
  await appendAs(old, "old-2", confirm);
  const six = openAndAppend(fs, later.before, 6, confirm);
  await Promise.race([later.reached, six]);
  await appendAs(old, "old-3", confirm);
  sleeper.goOn();
  const fiveEnd = await five;
  await appendAs(old, "old-4", confirm);
  later.goOn();
  const sixEnd = await six;
  const where = `held at ${first} and ${second}: ${fiveEnd}, ${sixEnd}`;
  // The later one may have to open again, when the earlier finished or was in its way; but then it is let in.
  if (sixEnd !== "appended") {
    expect(sixEnd, where).toMatch(/^(lease-lost|vanished|displaced)$/);
    expect(await openAndAppend(fs, async () => undefined, 6, confirm), where).toBe("appended");
  }
  await expectGoodLog(fs, confirmed, "in-place").catch((error: unknown) => {
    throw new Error(where, { cause: error });
  });
  return { sleeperAtEnd: !sleeper.wasReached(), laterAtEnd: !later.wasReached() };
}

test("an old holder held between any two calls of its append, the taker between any two of its own", async () => {
  let schedules = 0;
  let confirmedLate = 0;
  for (let oldCall = 0; ; oldCall += 1) {
    let oldAtEnd = false;
    for (let takerCall = 0; ; takerCall += 1) {
      const end = await raceOfHolders(oldCall, takerCall);
      schedules += 1;
      confirmedLate += end.confirmed ? 1 : 0;
      oldAtEnd = end.oldAtEnd;
      if (end.takerAtEnd) break;
    }
    if (oldAtEnd) break;
  }
  report(
    `old holder and taker: ${schedules} of ${schedules} schedules with every confirmed record once`,
  );
  // Some of these appends must have been confirmed, and some not, or the race was never near.
  expect(confirmedLate).toBeGreaterThan(0);
  expect(confirmedLate).toBeLessThan(schedules);
});

/** The old holder appends up to its call `oldCall`, the taker opens up to its call `takerCall`, then both go on. */
async function raceOfHolders(oldCall: number, takerCall: number) {
  const fs = new FaultFs(before);
  const confirmed: string[] = [];
  const oldHold = held(oldCall);
  const takerHold = held(takerCall);
  let isOpen = false;
  const beforeOldCall = async () => (isOpen ? await oldHold.before() : undefined);
  const store = await openLocalStore({ root: "/work", fs: pausing(fs, beforeOldCall) });
  const old = await store.openLog(key, logOptions());
  isOpen = true;
  const appending = appendAs(old, "old-1", (what) => confirmed.push(what));
  await Promise.race([oldHold.reached, appending]);
  const taking = openAndAppend(fs, takerHold.before, 5, (what) => confirmed.push(what));
  await Promise.race([takerHold.reached, taking]);
  oldHold.goOn();
  const oldEnd = await appending;
  takerHold.goOn();
  const where = `held at ${oldCall} and ${takerCall}: ${oldEnd}, ${await taking}`;
  expect(await taking, where).toBe("appended");
  await expectGoodLog(fs, confirmed, "in-place").catch((error: unknown) => {
    throw new Error(where, { cause: error });
  });
  return {
    confirmed: oldEnd === "appended",
    oldAtEnd: !oldHold.wasReached(),
    takerAtEnd: !takerHold.wasReached(),
  };
}

async function openAndAppend(
  fs: FaultFs,
  beforeCall: () => Promise<void>,
  token: number,
  confirm: (what: string) => unknown,
): Promise<string> {
  try {
    const store = await openLocalStore({ root: "/work", fs: pausing(fs, beforeCall) });
    const log = await store.openLog(key, logOptions({ takeOver: { kind: "fresh-inode", token } }));
    return await appendAs(log, `taker-${token}`, confirm);
  } catch (error) {
    if (isLastgoodError(error)) return error.code;
    throw error;
  }
}

/** Stops whoever awaits `before` for the n-th time until `goOn`. */
function held(n: number) {
  let count = 0;
  let was = false;
  let reach = () => {};
  let goOn = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const beforeCall = async () => {
    count += 1;
    if (count !== n + 1) return;
    was = true;
    reach();
    await released;
  };
  return { before: beforeCall, reached, goOn: () => goOn(), wasReached: () => was };
}

test("at every moment of a take-over a reader finds one file under the name, with what was confirmed before", async () => {
  const fs = new FaultFs(before);
  const confirmed: string[] = [];
  const old = await openAs(fs, "in-place");
  await appendAs(old, "old-1", (what) => confirmed.push(what));
  let reads = 0;
  await openAs(fs, { kind: "fresh-inode", token: 5 }, () => {
    reads += 1;
    expect(fs.afterKill().text(path)).toContain('{"id":"a"}\n{"id":"b"}\n');
    for (const id of confirmed) expect(fs.afterKill().text(path)).toContain(`{"id":"${id}"}\n`);
  });
  expect(reads).toBe(takeOverPoints.length);
});

test("a taker under an older token than the last one is refused and changes nothing", async () => {
  const fs = new FaultFs(before);
  const taken = await openAs(fs, { kind: "fresh-inode", token: 5 });
  const names = fs.afterKill().names("/work/runs");
  await expect(openAs(fs, { kind: "fresh-inode", token: 4 })).rejects.toMatchObject({
    code: "lease-lost",
  });
  expect(fs.afterKill().names("/work/runs")).toEqual(names);
  expect(await appendAs(taken, "new-1", () => undefined)).toBe("appended");
});

test("what reaches the old file after the take-over stays there, to be seen, and out of the log", async () => {
  const fs = new FaultFs(before);
  const old = await fs.open(path, { kind: "append" });
  const taken = await openAs(fs, { kind: "fresh-inode", token: 5 });
  await old.append(utf8('{"id":"zombie"}\n'));
  await taken.close();
  const again = await openAs(fs, "in-place");
  await again.close();
  expect(fs.afterKill().text("/work/runs/checkpoint.5.superseded.jsonl")).toContain("zombie");
  expect(fs.afterKill().text(path)).toBe('{"id":"a"}\n{"id":"b"}\n');
});

test("whichever call of a take-over is refused, opening again goes on from there", async () => {
  const clean = new FaultFs(before);
  await takeOverUnderWrites(clean, () => undefined);
  let refusals = 0;
  for (const [call, { name }] of clean.calls.entries()) {
    for (const [errno, effect] of [
      ["EIO", "none"],
      ["ENOSPC", "none"],
      ["EIO", "taken"],
    ] as const) {
      refusals += 1;
      const fs = new FaultFs(before, [{ kind: "refuse", call, errno, effect }]);
      const acknowledged: string[] = [];
      const refused = await takeOverUnderWrites(fs, (what) => acknowledged.push(what)).catch(
        (error: unknown) => error,
      );
      if (refused !== undefined && !isLastgoodError(refused)) throw refused;
      for (const [how, takeOver] of nextHolders) {
        await expectGoodLog(new FaultFs(fs.afterKill()), acknowledged, takeOver).catch(
          (error: unknown) => {
            throw new Error(`${errno} (${effect}) at call ${call}, ${name}, opened ${how}`, {
              cause: error,
            });
          },
        );
      }
    }
  }
  report(
    `take-over: ${refusals} refused calls: ${refusals} of ${refusals} with every confirmed record once`,
  );
});

interface FirstCrash {
  readonly state: DiskState;
  readonly acknowledged: readonly string[];
}

async function firstCrashes(): Promise<FirstCrash[]> {
  const crashes: FirstCrash[] = [];
  const clean = new FaultFs(before);
  await takeOverUnderWrites(clean, () => undefined);
  for (let point = 0; point <= clean.changeCount; point += 1) {
    const fs = new FaultFs(before, [{ kind: "power-loss", afterChanges: point }]);
    const acknowledged: string[] = [];
    await takeOverUnderWrites(fs, (what) => fs.hasPower && acknowledged.push(what)).catch(
      () => undefined,
    );
    for (const { state } of everyFate(fs.leftToChance)) crashes.push({ state, acknowledged });
  }
  return crashes;
}

async function secondCrashes(
  first: DiskState,
  confirmed: readonly string[],
  takeOver: OpenLogOptions["takeOver"],
): Promise<number> {
  const act = async (fs: FaultFs, acknowledge: (what: string) => void) =>
    void (await appendAs(await openAs(fs, takeOver), "second", acknowledge));
  const clean = new FaultFs(first);
  await act(clean, () => undefined);
  let states = 0;
  for (let point = 0; point <= clean.changeCount; point += 1) {
    const fs = new FaultFs(first, [{ kind: "power-loss", afterChanges: point }]);
    const acknowledged = [...confirmed];
    await act(fs, (what) => fs.hasPower && acknowledged.push(what)).catch(() => undefined);
    for (const { state, fates } of everyFate(fs.leftToChance)) {
      states += 1;
      await expectGoodLog(new FaultFs(state), acknowledged, "in-place").catch((error: unknown) => {
        throw new Error(
          `second crash after change ${point}, ${fates}, from\n${first.fingerprint()}`,
          {
            cause: error,
          },
        );
      });
    }
  }
  return states;
}

async function openAs(
  fs: FaultFs,
  takeOver: OpenLogOptions["takeOver"],
  atCrashPoint: (point: CrashPoint) => unknown = () => undefined,
): Promise<LogFile> {
  const store = await openLocalStore({
    root: "/work",
    fs,
    atCrashPoint: async (point) => {
      if (point.startsWith("take-over")) await atCrashPoint(point);
    },
  });
  const evidence = await openLocalStore({ root: "/work", fs });
  const setAside: OpenLogOptions["setAside"] = async ({ bytes, fromByte }) =>
    void (await evidence.replace(`evidence/${fromByte}`, bytes, "absent"));
  return await store.openLog(key, logOptions({ takeOver, setAside }));
}

/** Appends one record and confirms it if the log did; a spent handle counts as displaced. */
async function appendAs(
  log: LogFile,
  id: string,
  acknowledge: (what: string) => unknown,
): Promise<string> {
  try {
    const outcome = await log.append(utf8(`{"id":"${id}"}\n`));
    if (outcome.kind === "appended") acknowledge(id);
    return outcome.kind;
  } catch (error) {
    if (isLastgoodError(error) && error.code === "writer-stopped") return "displaced";
    throw error;
  }
}

async function expectGoodLog(
  fs: FaultFs,
  acknowledged: readonly string[],
  takeOver: OpenLogOptions["takeOver"],
): Promise<void> {
  const log = await openAs(fs, takeOver);
  expect(await appendAs(log, "z", () => undefined)).toBe("appended");
  const after = fs.afterKill().text(path).split("\n").slice(0, -1);
  for (const id of ["a", "b", ...acknowledged]) {
    expect(
      after.filter((line) => line === `{"id":"${id}"}`),
      `${id} in ${after.join(" ")}`,
    ).toHaveLength(1);
  }
  expect(after.at(-1)).toBe('{"id":"z"}');
  for (const line of after)
    if (isJsonObject(utf8(line))) expect(line).toMatch(/^\{"id":"[a-z0-9-]+"\}$/);
}
