/** R2, R7 and R8 for logs: confirmed records survive, none is glued to a cut one, cut bytes are in evidence first. */
import { expect, test } from "vitest";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { LastgoodError } from "../../../../shared/base/errors.js";
import type { LogFile, ObjectStore } from "../../../../shared/storage/object-store.js";
import { type Crash, crashMatrix, report } from "../../../support/crash-matrix.js";
import { DiskState } from "../../../support/disk-state.js";
import { anyDevice, FaultFs, journalDevice } from "../../../support/fault-fs.js";
import { isJsonObject } from "../../../support/json-object.js";
import { logOptions, utf8 } from "../../../support/store-shorthand.js";

const key = "runs/checkpoint.jsonl";
const path = `/work/${key}`;
const evidenceFolder = "/work/.lastgood/evidence";
const whole = '{"id":"a","phase":"intent"}\n{"id":"a","phase":"done"}\n';
const cut = '{"id":"b","phase":"int';
const batches = [
  '{"id":"c","phase":"intent"}\n',
  '{"id":"c","phase":"done"}\n{"id":"d","phase":"intent"}\n{"id":"d","phase":"done"}\n',
  '{"id":"e","phase":"intent"}\n',
];

const withCutTail = DiskState.with({ [path]: whole + cut });

test.each([
  ["any device", anyDevice],
  ["a journalling device", journalDevice],
] as const)(
  "repairing a tail and appending on %s keeps every promise, at every crash",
  async (name, device) => {
    await crashMatrix({
      name: `append-file with a cut tail on ${name}`,
      promise: "with every confirmed record, nothing glued, cut bytes in evidence",
      before: withCutTail,
      device,
      act: openAndAppend,
      judge: async (crash) => {
        expectCutBytesSomewhere(crash.state);
        await expectGoodLog(crash, [...lines(whole)]);
      },
    });
  },
);

test("a log that is new survives from its first confirmed record on, at every crash", async () => {
  await crashMatrix({
    name: "append-file to a new log",
    promise: "with every confirmed record, nothing glued",
    before: DiskState.with({}, ["/work"]),
    act: openAndAppend,
    judge: (crash) => expectGoodLog(crash, []),
  });
});

test("a whole record that lacks its line end is never lost and never glued, at every crash", async () => {
  await crashMatrix({
    name: "append-file with a line end missing",
    promise: "with every confirmed record, nothing glued",
    before: DiskState.with({ [path]: whole.slice(0, -1) }),
    act: openAndAppend,
    judge: (crash) => expectGoodLog(crash, lines(whole)),
  });
});

test("after a failed sync nothing more is confirmed, and what was confirmed before survives every crash", async () => {
  const clean = new FaultFs(withCutTail);
  await openAndAppend(clean, () => undefined);
  const syncs = [...clean.calls.entries()].filter(
    ([, call]) => call.name === "sync file" && call.path === path,
  );
  for (const [call] of syncs.slice(1)) {
    await crashMatrix({
      name: `append-file with a failed sync at call ${call}`,
      promise: "with every confirmed record, nothing glued",
      before: withCutTail,
      faults: [{ kind: "refuse", call, errno: "EIO", effect: "none" }],
      act: openAndAppend,
      judge: (crash) => expectGoodLog(crash, lines(whole)),
    });
  }
});

test("whichever call is refused, the handle is spent, confirmed records stay, and opening again repairs the log", async () => {
  const clean = new FaultFs(withCutTail);
  await openAndAppend(clean, () => undefined);
  let refusals = 0;
  for (const [call, { name }] of clean.calls.entries()) {
    for (const errno of ["ENOSPC", "EIO", "EROFS", "EACCES"]) {
      refusals += 1;
      const fs = new FaultFs(withCutTail, [{ kind: "refuse", call, errno, effect: "none" }]);
      const acknowledged: string[] = [];
      const end = await openAndAppend(fs, (what) => acknowledged.push(what)).catch(codeOf);
      expect(end ?? "done", `${errno} at call ${call}, ${name}`).toMatch(
        /^(done|storage-full|io-failed|read-only|not-permitted)$/,
      );
      expectCutBytesSomewhere(fs.afterKill());
      await expectGoodLog({ state: fs.afterKill(), acknowledged, point: call }, lines(whole));
    }
  }
  report(
    `append-file: ${refusals} refused calls: ${refusals} of ${refusals} repaired on opening again`,
  );
});

test("a write that stops half-way ends the handle; the half record is set aside when the log is opened again", async () => {
  const before = DiskState.with({ [path]: whole });
  const clean = new FaultFs(before);
  const cleanLog = await openLog(await openLocalStore({ root: "/work", fs: clean }));
  const write = clean.calls.length + 1; // after the look at the size
  await cleanLog.append(utf8(batches[0] ?? ""));
  expect(clean.calls[write]?.name).toBe("write");

  const fs = new FaultFs(before, [
    { kind: "short-write", call: write, bytes: 10 },
    { kind: "refuse", call: write + 2, errno: "ENOSPC", effect: "none" },
  ]);
  const store = await openLocalStore({ root: "/work", fs });
  const log = await openLog(store);
  await expect(log.append(utf8(batches[0] ?? ""))).rejects.toMatchObject({ code: "storage-full" });
  await expect(log.append(utf8(batches[0] ?? ""))).rejects.toMatchObject({
    code: "writer-stopped",
  });
  expect(fs.afterKill().text(path)).toBe(whole + batches[0]?.slice(0, 10));
  await log.close();
  const again = await openLog(store);
  expect(again.tailRepair).toEqual({ kind: "cut", fromByte: whole.length, bytes: 10 });
  expect(fs.afterKill().text(path)).toBe(whole);
});

test("when somebody appends while cut bytes are set aside, their record is not cut away", async () => {
  const fs = new FaultFs(withCutTail);
  const store = await openLocalStore({ root: "/work", fs });
  const setAside = async () => {
    const other = await fs.open(path, { kind: "append" });
    await other.append(utf8('ent"}\n'));
  };
  await expect(store.openLog(key, logOptions({ setAside }))).rejects.toMatchObject({
    code: "lease-lost",
  });
  expect(fs.afterKill().text(path)).toBe(`${whole + cut}ent"}\n`);
});

test("short writes are gone on with as long as nobody comes in between", async () => {
  const before = DiskState.with({ [path]: whole });
  const opening = new FaultFs(before);
  await openLog(await openLocalStore({ root: "/work", fs: opening }));
  const write = opening.calls.length + 1;
  const fs = new FaultFs(before, [{ kind: "short-write", call: write, bytes: 3 }]);
  const log = await openLog(await openLocalStore({ root: "/work", fs }));
  expect(await log.append(utf8(batches[0] ?? ""))).toMatchObject({ kind: "appended" });
  expect(fs.afterKill().text(path)).toBe(whole + batches[0]);
});

test("a sync is never asked for again after it failed", async () => {
  const before = DiskState.with({ [path]: whole });
  const opening = new FaultFs(before);
  await openLog(await openLocalStore({ root: "/work", fs: opening }));
  const sync = opening.calls.length + 2;
  const fs = new FaultFs(before, [{ kind: "refuse", call: sync, errno: "EIO", effect: "none" }]);
  const log = await openLog(await openLocalStore({ root: "/work", fs }));
  expect(await log.append(utf8(batches[0] ?? ""))).toEqual({
    kind: "in-doubt",
    reason: "sync-failed",
  });
  await expect(log.append(utf8(batches[1] ?? ""))).rejects.toMatchObject({
    code: "writer-stopped",
  });
  await log.close();
  expect(fs.calls.slice(sync + 1).map(({ name }) => name)).toEqual(["close"]);
});

async function openAndAppend(fs: FaultFs, acknowledge: (what: string) => void): Promise<void> {
  const store = await openLocalStore({ root: "/work", fs });
  const log = await openLog(store);
  for (const batch of batches) {
    if ((await log.append(utf8(batch))).kind !== "appended") return;
    for (const line of lines(batch)) acknowledge(line);
  }
}

/** Opens the log the way the product does: what is cut goes into the store's own evidence folder first. */
async function openLog(store: ObjectStore): Promise<LogFile> {
  const options = logOptions({
    setAside: async ({ bytes, fromByte }) => {
      const outcome = await store.replace(`.lastgood/evidence/${fromByte}`, bytes, "absent");
      if (outcome.kind === "in-doubt") throw new LastgoodError("io-failed", "evidence in doubt");
    },
  });
  return await store.openLog(key, options);
}

function expectCutBytesSomewhere(state: DiskState): void {
  if (state.text(path).startsWith(whole + cut)) return;
  expect(state.text(`${evidenceFolder}/${whole.length}`)).toBe(cut);
}

/** What a crash left, and what the next holder makes of it: opens the log, appends, and everything still holds. */
async function expectGoodLog(crash: Crash, fromBefore: readonly string[]): Promise<void> {
  const fs = new FaultFs(crash.state);
  const store = await openLocalStore({ root: "/work", fs });
  const log = await openLog(store);
  const last = '{"id":"z","phase":"intent"}';
  expect(await log.append(utf8(`${last}\n`))).toMatchObject({ kind: "appended" });
  const after = lines(fs.afterKill().text(path));
  for (const line of [...fromBefore, ...crash.acknowledged]) {
    expect(
      after.filter((one) => one === line),
      line,
    ).toHaveLength(1);
  }
  expect(after.at(-1)).toBe(last);
  const written = new Set([...lines(whole), ...batches.flatMap(lines), last]);
  for (const line of after) {
    // A tear inside a group can leave a damaged line in the middle; what is whole was written as such by somebody.
    if (isJsonObject(utf8(line))) expect(written).toContain(line);
  }
}

function lines(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
