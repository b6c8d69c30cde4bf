/**
 * R1 to R4 for one update, by enumeration: power is lost at every point, the disk is left in every state it could be
 * left in, and then a fresh writer comes. Before that, in some sequences, a process is killed at every point as well.
 */
import { describe, expect, test } from "vitest";
import type { CrashPoint as StoreCrashPoint } from "../../../shared/adapters/local/crash-points.js";
import type { FsOps } from "../../../shared/adapters/local/fs-ops.js";
import { openLocalStore } from "../../../shared/adapters/local/local-store.js";
import { type RunCrashPoint, updateCrashPoints } from "../../../shared/durable/run-crash-points.js";
import type { UpdateOutcome } from "../../../shared/durable/run-outcomes.js";
import {
  openRunStore,
  type RunStore,
  type RunStoreOptions,
} from "../../../shared/durable/run-store.js";
import { readRunDocument } from "../../../shared/format/run-document.js";
import { claimAt, headAt, keptAt, run, runOptions } from "../../support/build-run.js";
import { type Crash, crashMatrix } from "../../support/crash-matrix.js";
import { DiskState } from "../../support/disk-state.js";
import { FaultFs } from "../../support/fault-fs.js";

const path = (key: string): string => `/work/${key}`;
const first = '{"version":1,"applied_ids":["u1"],"attempts":1}';
const second = '{"version":2,"applied_ids":["u1","u2"],"attempts":2}';
const foreign = '{"version":2,"applied_ids":["u1","foreign"],"attempts":10}';
const whole = { [path(headAt)]: first, [path(keptAt(1))]: first };

async function openRuns(fs: FaultFs, given: Partial<RunStoreOptions> = {}): Promise<RunStore> {
  return openRunStore(runOptions(await openLocalStore({ root: "/work", fs }), given));
}

function countUp(runs: RunStore, updateId: string): Promise<UpdateOutcome> {
  return runs.update<{ attempts: number }>(run, { updateId, onStale: "refuse" }, (document) => {
    document.attempts += 1;
    return undefined;
  });
}

const isAcknowledged = (outcome: UpdateOutcome): boolean =>
  outcome.kind === "applied" || outcome.kind === "already-applied";

async function updateAndAcknowledge(
  fs: FaultFs,
  updateId: string,
  acknowledge: (what: string) => void,
  given: Partial<RunStoreOptions> = {},
): Promise<void> {
  if (isAcknowledged(await countUp(await openRuns(fs, given), updateId))) acknowledge(updateId);
}

interface Judged {
  /** Ids that were there before the sequence began. */
  readonly before: readonly string[];
  /** Ids whose update was begun. */
  readonly begun: readonly string[];
}

/** What has to hold in every state that a crash can leave, and after the fresh writer. */
async function judge({ state, acknowledged }: Crash, { before, begun }: Judged): Promise<void> {
  // R1: whoever reads now finds one whole document, not a mixture.
  const head = readRunDocument(bytesOf(state.text(path(headAt))));
  if (head.kind !== "run") throw new Error(`the head is torn: ${state.text(path(headAt))}`);
  const fs = new FaultFs(state);
  const runs = await openRuns(fs);
  // The fresh writer is not stopped by anything that was left.
  expect(await countUp(runs, "fresh")).toMatchObject({ kind: "applied" });
  // R2 and R4: what was acknowledged is in the head it built on.
  expect(await idsIn(runs)).toEqual(expect.arrayContaining([...before, ...acknowledged, "fresh"]));
  // R3: each retry is absorbed, and absorbed once, also when the crash had already let it through.
  for (const id of begun) expect(isAcknowledged(await countUp(runs, id))).toBe(true);
  const ids = await idsIn(runs);
  expect([...ids].sort()).toEqual([...new Set([...before, ...begun, "fresh"])].sort());
  // One count for each id: a change applied twice would show here even if its id stood there once.
  const final = await runs.read(run);
  const foreignCount = ids.includes("foreign") ? 8 : 0;
  expect(final.kind === "run" && final.value.attempts).toBe(ids.length + foreignCount);
  // Every version up to the head is kept, and the newest is the head.
  const { versions, claims } = await runs.versions(run);
  expect(claims).toEqual([]);
  if (final.kind !== "run") return;
  expect(versions.at(-1)).toBe(final.version);
  expect(fs.afterKill().text(path(keptAt(final.version)))).toBe(
    new TextDecoder().decode(final.bytes),
  );
}

async function idsIn(runs: RunStore): Promise<unknown[]> {
  const head = await runs.read(run);
  return head.kind === "run" && Array.isArray(head.value.applied_ids) ? head.value.applied_ids : [];
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe("power is lost at any point of an update", () => {
  test("on a run in good order", async () => {
    await crashMatrix({
      name: "update",
      promise: "old or new, nothing acknowledged lost, nothing applied twice",
      before: DiskState.with(whole),
      act: (fs, acknowledge) => updateAndAcknowledge(fs, "u2", acknowledge),
      judge: (crash) => judge(crash, { before: ["u1"], begun: ["u2"] }),
    });
  });

  test("that first finishes the claim of a stopped writer", async () => {
    await crashMatrix({
      name: "update that finishes a claim",
      promise: "old or new, nothing acknowledged lost, nothing applied twice",
      before: DiskState.with({ ...whole, [path(claimAt(first, 2))]: second }),
      act: (fs, acknowledge) => updateAndAcknowledge(fs, "u3", acknowledge),
      judge: (crash) => judge(crash, { before: ["u1"], begun: ["u2", "u3"] }),
    });
  });

  test("that first adopts the head of a foreign writer", async () => {
    await crashMatrix({
      name: "update that adopts a foreign head",
      promise: "old or new, nothing acknowledged lost, nothing applied twice",
      before: DiskState.with({ ...whole, [path(headAt)]: foreign }),
      act: (fs, acknowledge) => updateAndAcknowledge(fs, "u2", acknowledge),
      judge: (crash) => judge(crash, { before: ["u1", "foreign"], begun: ["u2"] }),
    });
  });

  test("that first sets a torn claim aside: its bytes are in the claim or in evidence", async () => {
    const torn = second.slice(0, 30);
    await crashMatrix({
      name: "update that sets a torn claim aside",
      promise: "old or new, nothing acknowledged lost, torn bytes kept",
      before: DiskState.with({ ...whole, [path(claimAt(first, 2))]: torn }),
      act: (fs, acknowledge) => updateAndAcknowledge(fs, "u2", acknowledge),
      judge: async (crash) => {
        const evidence = crash.state.names("/work/.lastgood/evidence");
        const kept = evidence.map((name) => crash.state.text(`/work/.lastgood/evidence/${name}`));
        expect([...kept, crash.state.text(path(claimAt(first, 2)))]).toContain(torn);
        await judge(crash, { before: ["u1"], begun: ["u2"] });
      },
    });
  });

  test("that prunes: the head and the two versions before it are always there", async () => {
    const files: Record<string, string> = {};
    for (let version = 1; version <= 6; version += 1) {
      files[path(keptAt(version))] = first.replace("1", String(version));
    }
    const sixth = first.replace("1", "6");
    await crashMatrix({
      name: "update that prunes",
      promise: "old or new, nothing acknowledged lost, the newest versions kept",
      before: DiskState.with({ ...files, [path(headAt)]: sixth }),
      act: (fs, acknowledge) =>
        updateAndAcknowledge(fs, "u2", acknowledge, { keptVersionsCount: 2 }),
      judge: async (crash) => {
        for (const version of [5, 6]) {
          expect(crash.state.text(path(keptAt(version)))).toBe(first.replace("1", String(version)));
        }
        await judge(crash, { before: ["u1"], begun: ["u2"] });
      },
    });
  });

  test("of the creation of a run", async () => {
    await crashMatrix({
      name: "create a run",
      promise: "absent or whole; asked again it is created",
      before: DiskState.with({}, ["/work"]),
      act: async (fs, acknowledge) => {
        const created = await (await openRuns(fs)).createRun(run, { attempts: 0 });
        if (created.kind === "created") acknowledge("created");
      },
      judge: async (crash) => {
        if (crash.acknowledged.length > 0)
          expect(crash.state.text(path(headAt))).not.toBe("absent");
        const runs = await openRuns(new FaultFs(crash.state));
        const again = await runs.createRun(run, { attempts: 0 });
        // A kept first version whose head did not survive: said so, and a person puts it back.
        const isBuried =
          crash.state.text(path(headAt)) === "absent" && again.kind === "head-missing";
        if (!isBuried) expect(again).toMatchObject({ kind: "created", version: 1 });
        else expect(crash.acknowledged).toEqual([]);
      },
    });
  });
});

describe("a process is killed at any point of an update, a second one asks again, then power is lost", () => {
  /** A disk of its own for the process that is killed: what it held in memory must not stand in anyone's way. */
  function ownView(fs: FaultFs): FsOps {
    return {
      open: (at, mode) => fs.open(at, mode),
      rename: (from, to) => fs.rename(from, to),
      link: (from, to) => fs.link(from, to),
      unlink: (at) => fs.unlink(at),
      mkdir: (at) => fs.mkdir(at),
      readdir: (at) => fs.readdir(at),
      lstat: (at) => fs.lstat(at),
      syncDirectory: (at) => fs.syncDirectory(at),
    };
  }

  /** Runs an update until the point is reached for the nth time, and leaves it there for good, as SIGKILL does. */
  async function killAt(fs: FaultFs, point: string, nth: number): Promise<"killed" | "finished"> {
    let seen = 0;
    let stop: (how: "killed") => void = () => {};
    const killed = new Promise<"killed">((resolve) => {
      stop = resolve;
    });
    const atCrashPoint = async (at: string): Promise<void> => {
      if (at !== point) return;
      seen += 1;
      if (seen < nth) return;
      stop("killed");
      await new Promise(() => {});
    };
    const store = await openLocalStore({ root: "/work", fs: ownView(fs), atCrashPoint });
    const runs = openRunStore(runOptions(store, { atCrashPoint }));
    return Promise.race([killed, countUp(runs, "u2").then(() => "finished" as const)]);
  }

  const third = '{"version":2,"applied_ids":["u1","u3"],"attempts":2}';
  const states = {
    "in good order": { files: whole, begun: ["u2"] },
    "with a claim": { files: { ...whole, [path(claimAt(first, 2))]: third }, begun: ["u2", "u3"] },
    "with a torn claim": { files: { ...whole, [path(claimAt(first, 2))]: "{" }, begun: ["u2"] },
    "with a head not kept": { files: { [path(headAt)]: first }, begun: ["u2"] },
  } as const;
  const points: readonly (readonly [
    keyof typeof states,
    RunCrashPoint | StoreCrashPoint,
    number,
  ])[] = [
    ["in good order", "look-begun", 1],
    ["in good order", "looked", 1],
    ["in good order", "change-made", 1],
    ["in good order", "create: staged", 1],
    ["in good order", "create: linked", 1],
    ["in good order", "claimed", 1],
    ["in good order", "next-version-looked-for", 1],
    ["in good order", "lease-checked", 1],
    ["in good order", "replace: staged", 1],
    ["in good order", "replace: about to rename", 1],
    ["in good order", "replace: renamed", 1],
    ["in good order", "committed", 1],
    ["in good order", "create: staged", 2],
    ["in good order", "create: linked", 2],
    ["in good order", "kept", 1],
    ["in good order", "claim-removed", 1],
    ["in good order", "leftovers-set-aside", 1],
    ["in good order", "pruned", 1],
    ["with a claim", "help-lease-checked", 1],
    ["with a claim", "replace: renamed", 1],
    ["with a claim", "help-committed", 1],
    ["with a claim", "create: linked", 1],
    ["with a claim", "help-kept", 1],
    ["with a claim", "help-claim-removed", 1],
    ["with a torn claim", "create: linked", 1],
    ["with a torn claim", "torn-claim-set-aside", 1],
    ["with a head not kept", "create: linked", 1],
    ["with a head not kept", "head-kept", 1],
  ];

  test.each(points)("a run %s, killed at “%s”, time %i", async (name, point, nth) => {
    const { files, begun } = states[name];
    await crashMatrix({
      name: `run ${name}, killed at “${point}” (${nth}), asked again`,
      promise: "nothing acknowledged lost, nothing applied twice",
      before: DiskState.with(files),
      act: async (fs, acknowledge) => {
        if ((await killAt(fs, point, nth)) === "finished") throw new Error("never killed");
        await updateAndAcknowledge(fs, "u2", acknowledge);
      },
      judge: (crash) => judge(crash, { before: ["u1"], begun }),
    });
  });

  test("no crash point of an update is left out", () => {
    expect(points.map(([, point]) => point)).toEqual(
      expect.arrayContaining([...updateCrashPoints]),
    );
  });
});
