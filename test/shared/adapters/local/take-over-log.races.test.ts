/**
 * Take-overs with everybody alive: whoever is held, stopped or overtaken between any two steps, what was confirmed is
 * in the log, and only one goes on writing to it.
 */
import { expect, test } from "vitest";
import { crashPoints } from "../../../../shared/adapters/local/crash-points.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { LogFile } from "../../../../shared/storage/object-store.js";
import { report } from "../../../support/crash-matrix.js";
import { FaultFs, pausing } from "../../../support/fault-fs.js";
import { logOptions, utf8 } from "../../../support/store-shorthand.js";
import { appendAs, before, expectGoodLog, key, openAs, path } from "./taken-over-log.js";

const full = process.env.LASTGOOD_TEST_FULL === "1";
const takeOverPoints = crashPoints.filter((point) => point.startsWith("take-over"));

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
