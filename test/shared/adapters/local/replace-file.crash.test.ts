/** R1 and R2 for documents: a reader finds the old or the new one, and a confirmed one survives. */
import { expect, test } from "vitest";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { sha256Hex } from "../../../../shared/adapters/system.js";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { Etag } from "../../../../shared/storage/object-store.js";
import { type Crash, crashMatrix, report } from "../../../support/crash-matrix.js";
import { DiskState } from "../../../support/disk-state.js";
import { anyDevice, FaultFs, journalDevice } from "../../../support/fault-fs.js";
import { utf8 } from "../../../support/store-shorthand.js";

const path = "/work/runs/run_9d4a.json";
const key = "runs/run_9d4a.json";
const oldText = `{"version":61,"note":"${"old ".repeat(300)}"}`;
const newText = `{"version":62,"note":"${"new ".repeat(400)}"}`;
const oldEtag = sha256Hex(utf8(oldText)) as Etag;

const withOld = DiskState.with({ [path]: oldText, "/work/runs/other.json": "{}" });
const empty = DiskState.with({}, ["/work"]);

test.each([
  ["any device", anyDevice],
  ["a journalling device", journalDevice],
] as const)(
  "replacing on %s leaves the old document or the new one, at every crash",
  async (_, device) => {
    const count = await crashMatrix({
      name: `replace-file on ${_}`,
      promise: "old or new",
      before: withOld,
      device,
      act: (fs, acknowledge) => replaceOnce(fs, oldEtag, acknowledge),
      judge: (crash) => {
        expect([oldText, newText]).toContain(crash.state.text(path));
        if (crash.acknowledged.length > 0) expect(crash.state.text(path)).toBe(newText);
        expect(crash.state.text("/work/runs/other.json")).toBe("{}");
      },
    });
    // Before anything, and after each of: sync of the root and of the folder on their first use, staging, writing,
    // syncing, renaming, syncing the folder. A step that is left out or added has to be thought about here.
    expect(count.points).toBe(8);
    expect(count.states).toBeGreaterThan(device === anyDevice ? 20 : 10);
  },
);

test("creating leaves nothing or the whole document, at every crash, new folders included", async () => {
  await crashMatrix({
    name: "create-file in new folders",
    promise: "absent or whole",
    before: empty,
    act: (fs, acknowledge) => replaceOnce(fs, "absent", acknowledge),
    judge: judgeCreated,
  });
});

test("a folder made by a process that was killed before syncing it is made durable by the next", async () => {
  await crashMatrix({
    name: "create-file in a folder nobody synced",
    promise: "absent or whole",
    before: empty,
    act: async (fs, acknowledge) => {
      await fs.mkdir("/work/runs");
      await replaceOnce(fs, "absent", acknowledge);
    },
    judge: judgeCreated,
  });
});

function judgeCreated(crash: Crash): void {
  expect(["absent", newText]).toContain(crash.state.text(path));
  if (crash.acknowledged.length > 0) expect(crash.state.text(path)).toBe(newText);
}

test("removing leaves the document or nothing, at every crash", async () => {
  await crashMatrix({
    name: "remove",
    promise: "there or gone",
    before: withOld,
    act: async (fs, acknowledge) => {
      const store = await openLocalStore({ root: "/work", fs });
      expect(await store.remove(key, oldEtag)).toEqual({ kind: "removed" });
      acknowledge("removed");
    },
    judge: (crash) => {
      expect([oldText, "absent"]).toContain(crash.state.text(path));
      if (crash.acknowledged.length > 0) expect(crash.state.text(path)).toBe("absent");
    },
  });
});

test("a simulated disk without the sync of the file would be caught", async () => {
  await expect(
    crashMatrix({
      name: "rename without sync",
      promise: "never printed",
      before: withOld,
      act: async (fs, acknowledge) => {
        const staged = await fs.open("/work/runs/.t", { kind: "create-exclusive" });
        await staged.append(utf8(newText));
        await fs.rename("/work/runs/.t", path);
        await fs.syncDirectory("/work/runs");
        acknowledge("new");
      },
      judge: (crash) => expect([oldText, newText]).toContain(crash.state.text(path)),
    }),
  ).rejects.toThrow(/power lost after change/);
});

const errnos = ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES", "EBUSY", "EMFILE", "ENOENT"];

test.each([
  ["replace", withOld, oldEtag, oldText],
  ["create", empty, "absent", "absent"],
] as const)(
  "%s: whichever call is refused, the file is old or new, nothing staged is left, and the error has a code",
  async (name, before, expected, oldContent) => {
    const clean = new FaultFs(before);
    await replaceOnce(clean, expected, () => undefined);
    let refusals = 0;
    for (const [call, { name: callName }] of clean.calls.entries()) {
      for (const errno of errnos) {
        refusals += 1;
        const fs = new FaultFs(before, [{ kind: "refuse", call, errno, effect: "none" }]);
        const ended = await endOf(fs, expected);
        const where = `${errno} at call ${call}, ${callName}: ${ended}`;
        const left = fs.afterKill();
        expect([oldContent, newText], where).toContain(left.text(path));
        if (ended === "written") expect(left.text(path), where).toBe(newText);
        if (ended.startsWith("refused")) expect(left.text(path), where).toBe(oldContent);
        // Only when the removing itself was refused may a staged file stay behind.
        if (callName !== "unlink")
          expect(left.names("/work/runs").filter(isStaged), where).toEqual([]);
      }
    }
    report(
      `${name}-file: ${refusals} refused calls: ${refusals} of ${refusals} old or new, with a code`,
    );
  },
);

test.each([
  ["rename", withOld, oldEtag],
  ["link", empty, "absent"],
] as const)(
  "a %s that was done although the answer says no is taken for what it is",
  async (callName, before, expected) => {
    const clean = new FaultFs(before);
    await replaceOnce(clean, expected, () => undefined);
    const call = clean.calls.findIndex(({ name }) => name === callName);
    for (const errno of ["EIO", "ENOENT", "EEXIST"]) {
      const fs = new FaultFs(before, [{ kind: "refuse", call, errno, effect: "taken" }]);
      expect(await endOf(fs, expected), errno).toBe("written");
      expect(fs.afterKill().text(path)).toBe(newText);
    }
  },
);

test("a refused sync of the folder after the rename is doubt, not failure: readers see the new document", async () => {
  const clean = new FaultFs(withOld);
  await replaceOnce(clean, oldEtag, () => undefined);
  const call = clean.calls.findLastIndex(({ name }) => name === "sync folder");
  const fs = new FaultFs(withOld, [{ kind: "refuse", call, errno: "EIO", effect: "none" }]);
  expect(await endOf(fs, oldEtag)).toBe("in doubt");
  expect(fs.afterKill().text(path)).toBe(newText);
});

test("short writes are gone on with, one byte at a time if need be", async () => {
  const clean = new FaultFs(withOld);
  await replaceOnce(clean, oldEtag, () => undefined);
  const call = clean.calls.findIndex(({ name }) => name === "write");
  const faults = [0, 1, 2].map((i) => ({ kind: "short-write", call: call + i, bytes: 1 }) as const);
  const fs = new FaultFs(withOld, faults);
  expect(await endOf(fs, oldEtag)).toBe("written");
  expect(fs.afterKill().text(path)).toBe(newText);
});

test("a system that takes no bytes and says nothing is an error, not an endless loop", async () => {
  const clean = new FaultFs(withOld);
  await replaceOnce(clean, oldEtag, () => undefined);
  const call = clean.calls.findIndex(({ name }) => name === "write");
  const fs = new FaultFs(withOld, [{ kind: "short-write", call, bytes: 0 }]);
  expect(await endOf(fs, oldEtag)).toBe("refused io-failed");
  expect(fs.afterKill().names("/work/runs")).toEqual(["other.json", "run_9d4a.json"]);
});

async function replaceOnce(
  fs: FaultFs,
  expected: Etag | "absent",
  acknowledge: (what: string) => void,
): Promise<void> {
  const store = await openLocalStore({ root: "/work", fs });
  const outcome = await store.replace(key, utf8(newText), expected);
  if (outcome.kind === "written") acknowledge("new");
}

async function endOf(fs: FaultFs, expected: Etag | "absent"): Promise<string> {
  try {
    const store = await openLocalStore({ root: "/work", fs });
    const outcome = await store.replace(key, utf8(newText), expected);
    return outcome.kind === "in-doubt" ? "in doubt" : outcome.kind;
  } catch (error) {
    // Whatever is refused must have become a coded error on its way here.
    if (!isLastgoodError(error)) throw error;
    expect(error.message).toMatch(/\. .+\./);
    return `refused ${error.code}`;
  }
}

function isStaged(name: string): boolean {
  return name.endsWith(".tmp");
}
