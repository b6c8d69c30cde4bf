/** Opening, appending and judging as all tests of take-overs do it, on the simulated disk. */
import { expect } from "vitest";
import type { CrashPoint } from "../../../../shared/adapters/local/crash-points.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { LogFile, OpenLogOptions } from "../../../../shared/storage/object-store.js";
import { DiskState } from "../../../support/disk-state.js";
import type { FaultFs } from "../../../support/fault-fs.js";
import { isJsonObject } from "../../../support/json-object.js";
import { logOptions, utf8 } from "../../../support/store-shorthand.js";

export const key = "runs/checkpoint.jsonl";
export const path = `/work/${key}`;
export const before = DiskState.with({ [path]: '{"id":"a"}\n{"id":"b"}\n' });

export async function openAs(
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
export async function appendAs(
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

export async function expectGoodLog(
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
