/**
 * Taking a log over from a holder that may still be writing to it.
 *
 *   under the name      beside it                                  what is true
 *   old file            .checkpoint.jsonl.take-over-5.tmp          begun: nothing has changed for anybody
 *   old file            + checkpoint.5.superseding.jsonl           the old file has a second name, so it cannot get lost
 *   fresh copy          checkpoint.5.superseding.jsonl             moved: the old holder can confirm nothing any more
 *   fresh copy + late   checkpoint.5.superseded.jsonl              finished: what it had confirmed by then is carried over
 *
 * A reader finds a file under the name at each moment. Whoever opens the log next goes on from whichever row it
 * finds. Two takers: each makes its fresh copy, then looks for later tokens and stops if it sees one, and takes
 * the copies of earlier tokens away; so an earlier one that sleeps through this finds nothing to move when it wakes.
 */
import type { OpenLogOptions, TailRepair } from "../../storage/object-store.js";
import { lostTheLog } from "../../storage/refusals.js";
import { judgeTail, lineEnd } from "../../storage/tail.js";
import type { OpenedLog } from "./append-file.js";
import type { Disk } from "./disk.js";
import type { OpenFile } from "./fs-ops.js";
import {
  commonLines,
  endOfLastLine,
  leadsTo,
  openLogHandle,
  readLastLine,
  repairTail,
} from "./log-tail.js";
import { errnoOf } from "./open-flags.js";
import { discard, identityAt, identityIfKnown } from "./stage-file.js";
import {
  fenceEarlier,
  type LogPaths,
  logPaths,
  movedBefore,
  newestToken,
  readTraces,
  settleEarlier,
  type Trace,
} from "./take-over-traces.js";
import { appendAll, copyRange, readRange, usingFile } from "./whole-file.js";

/**
 * Puts a fresh copy of the log under its name and carries over what reaches the old file until then.
 *
 * Guarantee: every record that the old holder has confirmed is in the log that is returned.
 * Errors: lease-lost when a later token turns up; then, and on any refusal before the name is moved, the log is
 * as it was. After a refusal behind that point the next opening goes on from there.
 */
export async function takeOverLog(
  disk: Disk,
  paths: LogPaths,
  options: OpenLogOptions,
): Promise<OpenedLog> {
  const fresh = await makeFresh(disk, paths);
  try {
    const traces = await fence(disk, paths);
    // Opened only now: until the line above an earlier taker could still have moved the name.
    const old = await openLogHandle(disk, paths.log);
    return await usingFile(old, () => moveAndCarry(disk, paths, { old, fresh, traces }, options));
  } catch (error) {
    await fresh.close().catch(() => undefined);
    throw error;
  }
}

/** Goes on with a take-over that had moved the name and then stopped. */
export async function finishTakeOver(
  disk: Disk,
  paths: LogPaths,
  options: OpenLogOptions,
): Promise<OpenedLog> {
  const file = await openLogHandle(disk, paths.log);
  try {
    // Its own last write may be cut; the same bytes are still whole in the old file.
    const ownRepair = await repairTail(disk, paths.log, file, options);
    const old = await disk.fs.open(paths.superseding, { kind: "read" });
    const carried = await usingFile(old, () => carryOver(old, file, paths.log.path, options));
    await file.sync();
    const traces = await readTraces(disk, paths.log);
    return await finish(disk, paths, traces, file, ownRepair.kind === "none" ? carried : ownRepair);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

interface Taking {
  readonly old: OpenFile;
  readonly fresh: OpenFile;
  readonly traces: readonly Trace[];
}

async function moveAndCarry(
  disk: Disk,
  paths: LogPaths,
  { old, fresh, traces }: Taking,
  options: OpenLogOptions,
): Promise<OpenedLog> {
  const { log } = paths;
  try {
    await disk.atCrashPoint("take-over: about to copy");
    await copyRange(old, fresh, 0, await endOfLastLine(old, (await old.stat()).sizeBytes));
    await carryFromUnfinished(disk, paths, traces, fresh, options);
    await fresh.sync(); // before it gets the name, or a power loss could leave an empty log there
    await disk.atCrashPoint("take-over: copied");
    await keepOldFile(disk, paths, old);
    await disk.fs.syncDirectory(log.folder); // or the move could survive a power loss that this name did not
    await disk.atCrashPoint("take-over: old file kept");
  } catch (error) {
    await discard(disk, paths.superseding);
    await discard(disk, paths.fresh);
    throw error;
  }
  await moveName(disk, paths, fresh); // from here on the old holder finds another file, and confirms nothing more
  await disk.atCrashPoint("take-over: moved");
  await disk.fs.syncDirectory(log.folder); // on the device before anything is built on it
  await disk.atCrashPoint("take-over: about to carry over");
  const tailRepair = await carryOver(old, fresh, log.path, options);
  await fresh.sync();
  await disk.atCrashPoint("take-over: carried over");
  return await finish(disk, paths, traces, fresh, tailRepair);
}

async function makeFresh(disk: Disk, paths: LogPaths): Promise<OpenFile> {
  // A copy under our own token is our own, from an attempt that failed; nobody else makes one under it.
  await discard(disk, paths.fresh);
  const log = await disk.fs.lstat(paths.log.path);
  const access = log === "absent" ? {} : { access: log.access };
  return await disk.fs.open(paths.fresh, { kind: "create-exclusive", ...access });
}

/**
 * First our own copy, then the look, then theirs away. Of two takers that run at the same time the later token goes
 * on: either the earlier one sees a trace of it, or its copy was already there to be taken away.
 */
async function fence(disk: Disk, paths: LogPaths): Promise<readonly Trace[]> {
  const traces = await readTraces(disk, paths.log);
  if (newestToken(traces) > paths.token) {
    await discard(disk, paths.fresh);
    throw lostTheLog(paths.log.path);
  }
  await fenceEarlier(disk, paths, traces);
  return await readTraces(disk, paths.log);
}

/** Late records of a take-over before ours that had moved the name and was not finished. */
async function carryFromUnfinished(
  disk: Disk,
  paths: LogPaths,
  traces: readonly Trace[],
  fresh: OpenFile,
  options: OpenLogOptions,
): Promise<void> {
  const token = movedBefore(paths.token, traces);
  if (token === undefined) return;
  const from = await disk.fs.open(logPaths(paths.log, token).superseding, { kind: "read" });
  await usingFile(from, () => carryOver(from, fresh, paths.log.path, options));
}

async function keepOldFile(disk: Disk, paths: LogPaths, old: OpenFile): Promise<void> {
  try {
    await disk.fs.link(paths.log.path, paths.superseding);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error; // From an attempt of our own; the look below says of which file.
  }
  const { identity } = await old.stat();
  // Another file came under the name while we copied: moving ours over it would lose it.
  if ((await identityAt(disk, paths.superseding)) !== identity) throw lostTheLog(paths.log.path);
}

async function moveName(disk: Disk, paths: LogPaths, fresh: OpenFile): Promise<void> {
  const { identity } = await fresh.stat();
  try {
    await disk.fs.rename(paths.fresh, paths.log.path);
  } catch (error) {
    // A network file system may do it, lose the answer and refuse its own repetition.
    if ((await identityIfKnown(disk, paths.log.path)) === identity) return;
    // Our copy was taken away: a later token is here. The old file's second name is theirs to settle.
    if (errnoOf(error) === "ENOENT") throw lostTheLog(paths.log.path);
    throw error;
  }
}

/**
 * Adds to `to` the whole lines by which `from` is ahead. A whole record at the end that lacks only its `\n` comes
 * along and gets one; a cut record is set aside and stays behind in the old file.
 */
async function carryOver(
  from: OpenFile,
  to: OpenFile,
  path: string,
  options: OpenLogOptions,
): Promise<TailRepair> {
  const common = await commonLines(from, to);
  const { sizeBytes } = await from.stat();
  const lastLine = await readLastLine(from, path, sizeBytes);
  const linesEnd = sizeBytes - lastLine.length;
  await copyRange(from, to, common.linesEnd, linesEnd);
  const tail = judgeTail(lastLine, sizeBytes, options.isWholeRecord);
  if (tail.kind === "ended") return { kind: "none" };
  if (tail.kind === "cut") {
    await options.setAside({ bytes: tail.bytes, fromByte: tail.fromByte });
    return { kind: "cut", fromByte: tail.fromByte, bytes: tail.bytes.length };
  }
  if (tail.debris.length > 0) {
    await options.setAside({ bytes: tail.debris, fromByte: tail.endByte });
  }
  // Carried before, with its line end, by an attempt that stopped later: once is enough.
  const next = await readRange(to, tail.endByte, tail.endByte + 1);
  if (common.bytes >= tail.endByte && next[0] === lineEnd) return { kind: "none" };
  const atByte = (await to.stat()).sizeBytes + tail.record.length;
  await appendAll(to, tail.record);
  await appendAll(to, Uint8Array.of(lineEnd));
  return { kind: "line-ended", atByte };
}

async function finish(
  disk: Disk,
  paths: LogPaths,
  traces: readonly Trace[],
  file: OpenFile,
  tailRepair: TailRepair,
): Promise<OpenedLog> {
  // Only after everything is carried and synced: this name says that nothing is due any more.
  await disk.fs.rename(paths.superseding, paths.superseded).catch((error: unknown) => {
    throw errnoOf(error) === "ENOENT" ? lostTheLog(paths.log.path) : error;
  });
  await settleEarlier(disk, paths, traces);
  await disk.fs.syncDirectory(paths.log.folder); // or the next holder could carry over what came after us
  await disk.atCrashPoint("take-over: finished");
  const { identity, sizeBytes } = await file.stat();
  if (!(await leadsTo(disk, paths.log.path, identity))) throw lostTheLog(paths.log.path);
  return { file, identity, sizeBytes, tailRepair };
}
