/**
 * R2 and R7 across a take-over: what the old holder confirmed is in the log, wherever the old holder, the new one
 * or the power stops, and whoever opens the log next.
 */
import { expect, test } from "vitest";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { OpenLogOptions } from "../../../../shared/storage/object-store.js";
import {
  type CrashSequence,
  crashMatrix,
  everyFate,
  report,
} from "../../../support/crash-matrix.js";
import { DiskState } from "../../../support/disk-state.js";
import { FaultFs } from "../../../support/fault-fs.js";
import { appendAs, before, expectGoodLog, openAs, path } from "./taken-over-log.js";

/** Each first crash is followed by hundreds of second ones: all of them would take many minutes. */
const firstCrashStep = process.env.LASTGOOD_TEST_FULL === "1" ? 5 : 200;

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

test(`power lost during the take-over and again during the opening that goes on with it (every ${firstCrashStep}th first crash)`, async () => {
  let seen = 0;
  let states = 0;
  for (const [, takeOver] of nextHolders) {
    for (const { state, acknowledged } of await firstCrashes()) {
      seen += 1;
      if (seen % firstCrashStep !== 0) continue;
      states += await secondCrashes(state, acknowledged, takeOver);
    }
  }
  report(`take-over, two crashes: ${states} of ${states} states with every confirmed record once`);
  expect(states).toBeGreaterThan(50);
}, 1_200_000);

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

test("a move that was done although the answer says no, and cannot even be looked into, loses nothing", async () => {
  const clean = new FaultFs(before);
  await takeOverUnderWrites(clean, () => undefined);
  const call = clean.calls.findIndex(
    ({ name, path: moved }) => name === "rename" && moved.endsWith(` -> ${path}`),
  );
  const fs = new FaultFs(before, [
    { kind: "refuse", call, errno: "EIO", effect: "taken" },
    { kind: "refuse", call: call + 1, errno: "EIO", effect: "none" },
  ]);
  const acknowledged: string[] = [];
  const refused = takeOverUnderWrites(fs, (what) => acknowledged.push(what));
  await expect(refused).rejects.toMatchObject({ code: "io-failed" });
  await expectGoodLog(fs, acknowledged, "in-place");
});

test("what an old take-over left behind is not taken for an unfinished one", async () => {
  const stale = DiskState.with({
    [path]: '{"id":"a"}\n{"id":"b"}\n',
    "/work/runs/checkpoint.5.superseding.jsonl": '{"id":"stale"}\n',
    "/work/runs/checkpoint.6.superseded.jsonl": '{"id":"a"}\n',
  });
  for (const takeOver of ["in-place", { kind: "fresh-inode", token: 7 }] as const) {
    const fs = new FaultFs(stale);
    await expectGoodLog(fs, [], takeOver);
    expect(fs.afterKill().text(path)).not.toContain("stale");
  }
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
