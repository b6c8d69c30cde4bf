/**
 * Taking a log over from a holder that may still be writing to it.
 *
 *   under the name        the old file's other name           what is true
 *   old file                                                  begun: nothing has changed for anybody
 *   old file              checkpoint.5.superseding.jsonl      the old file cannot get lost any more
 *   first fresh copy      checkpoint.5.superseding.jsonl      moved: the old holder can confirm nothing any more
 *   second fresh copy     checkpoint.5.superseding.jsonl      completed: made after that, so it has all that was confirmed
 *   second fresh copy     checkpoint.5.superseded.jsonl       finished: from here on the new holder appends
 *
 * Two copies, because whatever the old holder confirmed, it confirmed before the first was moved over the name, and
 * perhaps after the first was made. Nothing is ever added to a copy under the name before the last row, so each row
 * can be left by a crash at any point and gone on from by anybody: the log is made anew from the old file. A reader
 * finds one whole file under the name all the time; between the two moves it may lack the records confirmed last.
 *
 * Two takers: each makes a fresh copy, then looks for later tokens and gives up if it sees one, then takes the fresh
 * copies of all others away. So of two that run at once the later token wins, and an earlier one that slept through
 * it finds nothing to move over the name when it wakes.
 */
import { join } from "node:path";
import { takeOverName } from "../../storage/keys.js";
import type { OpenLogOptions, TailRepair } from "../../storage/object-store.js";
import { lostTheLog } from "../../storage/refusals.js";
import { judgeTail, lineEnd } from "../../storage/tail.js";
import type { OpenedLog } from "./append-file.js";
import type { Disk } from "./disk.js";
import type { OpenFile } from "./fs-ops.js";
import { openLogHandle, readLastLine } from "./log-tail.js";
import { errnoOf } from "./open-flags.js";
import { discard, identityAt, identityIfKnown, type Place } from "./stage-file.js";
import {
  newestToken,
  oldFilePaths,
  readTraces,
  type Trace,
  unfinishedMove,
} from "./take-over-traces.js";
import { appendAll, copyRange, usingFile } from "./whole-file.js";

export interface TakeOver {
  readonly disk: Disk;
  readonly log: Place;
  readonly token: number;
  readonly options: OpenLogOptions;
}

/** A copy that is not under the name yet. */
interface FreshCopy {
  readonly path: string;
  readonly file: OpenFile;
  readonly identity: string;
  /** What was found beside it once everybody else's copy was taken away. */
  readonly traces: readonly Trace[];
}

/**
 * Puts a fresh copy of the log under its name, with everything in it that the old holder has confirmed. Goes on with
 * a take-over under this or an earlier token that moved the name and then stopped.
 *
 * Errors: lease-lost when a later token turns up. Then, and on any refusal, nothing confirmed is lost, and the next
 * opening goes on from wherever this one stopped.
 */
export async function takeOverLog(own: TakeOver): Promise<OpenedLog> {
  let fresh = await makeFresh(own);
  if (unfinishedMove(fresh.traces) === undefined) {
    await closing(own, fresh, () => displaceOldHolder(own, fresh));
    await fresh.file.close();
    fresh = await makeFresh(own);
  }
  return await closing(own, fresh, async () => {
    await claimOldFile(own, fresh.traces);
    const tailRepair = await completeLog(own, fresh);
    return await finish(own, fresh, tailRepair);
  });
}

/**
 * A fresh copy, still empty. First the copy, then the look for later tokens, then the copies of all others away: in
 * this order the later of two takers always sees, or takes away, what the earlier one made. What it finds after that
 * stays so: nobody with an earlier token can move the name any more.
 */
async function makeFresh(own: TakeOver): Promise<FreshCopy> {
  const { disk, log, token } = own;
  const there = await disk.fs.lstat(log.path);
  const access = there === "absent" ? {} : { access: there.access };
  const path = join(log.folder, takeOverName(log.name, token, disk.stagedRandom()));
  const file = await disk.fs.open(path, { kind: "create-exclusive", ...access });
  return await closing(own, { path, file }, async () => {
    const { identity } = await file.stat();
    const found = await readTraces(disk, log);
    if (newestToken(found) > token) throw lostTheLog(log.path);
    for (const trace of found) {
      if (trace.kind === "begun" && trace.path !== path) await removeIfThere(disk, trace);
    }
    const traces = await readTraces(disk, log);
    // Only those found after their makers lost their copies: before that, "not moved" could change any moment, and
    // the name taken away here would be the only one the old file has left.
    for (const trace of traces) {
      if (trace.kind === "not-moved" && trace.token < token) await removeIfThere(disk, trace);
    }
    return { path, file, identity, traces };
  });
}

/** Moves a copy of the log over its name, after which the old holder finds another file there and stops. */
async function displaceOldHolder(own: TakeOver, fresh: FreshCopy): Promise<void> {
  const { disk, log } = own;
  await disk.atCrashPoint("take-over: begun");
  const identity = await copyWholeLines(own, fresh);
  try {
    await fresh.file.sync(); // before it gets the name, or a power loss could leave an empty log there
    await disk.atCrashPoint("take-over: copied");
    await keepOldFile(own, identity);
    await disk.fs.syncDirectory(log.folder); // or the move could survive a power loss that the second name did not
    await disk.atCrashPoint("take-over: old file kept");
    await moveOverName(own, fresh);
  } catch (error) {
    // As it was: the name still leads to the old file, so its second name is not needed.
    const isAsItWas = (await identityIfKnown(disk, log.path)) === identity;
    if (isAsItWas) await discard(disk, oldFilePaths(log, own.token).superseding);
    throw error;
  }
  await disk.atCrashPoint("take-over: moved");
}

/** Answers which file it was that was copied. */
async function copyWholeLines({ disk, log }: TakeOver, fresh: FreshCopy): Promise<string> {
  const old = await openLogHandle(disk, log);
  return await usingFile(old, async () => {
    const { identity, sizeBytes } = await old.stat();
    const lastLine = await readLastLine(old, log.path, sizeBytes);
    await copyRange(old, fresh.file, 0, sizeBytes - lastLine.length);
    return identity;
  });
}

async function keepOldFile({ disk, log, token }: TakeOver, identity: string): Promise<void> {
  const { superseding } = oldFilePaths(log, token);
  try {
    await disk.fs.link(log.path, superseding);
  } catch (error) {
    // There from an attempt that stopped here; the look below says whether it is the same file.
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  if ((await identityAt(disk, superseding)) === identity) return;
  // Another file came under the name while we copied: moving ours over it would lose it.
  if ((await identityAt(disk, superseding)) === (await identityAt(disk, log.path))) {
    await discard(disk, superseding);
  }
  throw lostTheLog(log.path);
}

/**
 * The old file of the take-over that moved the name, under our own token from now on: whoever moved it under another
 * cannot finish any more, and so confirms nothing.
 */
async function claimOldFile(
  { disk, log, token }: TakeOver,
  traces: readonly Trace[],
): Promise<void> {
  const moved = unfinishedMove(traces);
  if (moved === undefined) throw lostTheLog(log.path); // finished by somebody else meanwhile: the log is theirs
  if (moved.token === token) return;
  await renameOrLose(disk, log, moved.path, oldFilePaths(log, token).superseding);
}

/** Makes the log anew from the old file, which can gain no confirmed record any more. */
async function completeLog(own: TakeOver, fresh: FreshCopy): Promise<TailRepair> {
  const { disk, log, token, options } = own;
  const old = await disk.fs.open(oldFilePaths(log, token).superseding, { kind: "read" });
  const tailRepair = await usingFile(old, () => copyWithTail(old, fresh.file, log, options));
  await fresh.file.sync();
  await disk.atCrashPoint("take-over: completed");
  await moveOverName(own, fresh);
  await disk.atCrashPoint("take-over: moved again");
  await disk.fs.syncDirectory(log.folder); // before the next name says that the log is complete
  return tailRepair;
}

/**
 * Copies all whole lines. A whole record at the end that lacks only its `\n` comes along and gets one; a cut one is
 * set aside like any cut tail, and stays in the old file too.
 */
async function copyWithTail(
  old: OpenFile,
  fresh: OpenFile,
  log: Place,
  { setAside, isWholeRecord }: OpenLogOptions,
): Promise<TailRepair> {
  const { sizeBytes } = await old.stat();
  const lastLine = await readLastLine(old, log.path, sizeBytes);
  await copyRange(old, fresh, 0, sizeBytes - lastLine.length);
  const tail = judgeTail(lastLine, sizeBytes, isWholeRecord);
  if (tail.kind === "ended") return { kind: "none" };
  const cut = tail.kind === "cut" ? tail : { fromByte: tail.endByte, bytes: tail.debris };
  if (cut.bytes.length > 0) await setAside({ bytes: cut.bytes, fromByte: cut.fromByte });
  if (tail.kind === "line-end-missing") {
    await appendAll(fresh, tail.record);
    await appendAll(fresh, Uint8Array.of(lineEnd));
  }
  return cut.bytes.length > 0
    ? { kind: "cut", fromByte: cut.fromByte, bytes: cut.bytes.length }
    : { kind: "line-ended", atByte: cut.fromByte };
}

async function finish(
  own: TakeOver,
  { file, identity }: FreshCopy,
  tailRepair: TailRepair,
): Promise<OpenedLog> {
  const { disk, log, token } = own;
  const { superseding, superseded } = oldFilePaths(log, token);
  await renameOrLose(disk, log, superseding, superseded);
  await disk.fs.syncDirectory(log.folder); // or the next holder would make the log anew, without what we append
  await disk.atCrashPoint("take-over: finished");
  const { sizeBytes } = await file.stat();
  if ((await identityAt(disk, log.path)) !== identity) throw lostTheLog(log.path);
  return { file, identity, sizeBytes, tailRepair };
}

async function moveOverName({ disk, log }: TakeOver, fresh: FreshCopy): Promise<void> {
  try {
    await disk.fs.rename(fresh.path, log.path);
  } catch (error) {
    // A network file system may do it, lose the answer and refuse its own repetition.
    if ((await identityIfKnown(disk, log.path)) === fresh.identity) return;
    throw errnoOf(error) === "ENOENT" ? lostTheLog(log.path) : error; // taken away by a later taker
  }
}

async function renameOrLose(disk: Disk, log: Place, from: string, to: string): Promise<void> {
  try {
    await disk.fs.rename(from, to);
  } catch (error) {
    throw errnoOf(error) === "ENOENT" ? lostTheLog(log.path) : error;
  }
}

async function removeIfThere(disk: Disk, { path }: Trace): Promise<void> {
  try {
    await disk.fs.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** When the use fails, the copy is closed and, unless it was moved over the name, taken away. */
async function closing<T>(
  { disk }: TakeOver,
  { file, path }: Pick<FreshCopy, "file" | "path">,
  use: () => Promise<T>,
): Promise<T> {
  try {
    return await use();
  } catch (error) {
    await file.close().catch(() => undefined);
    await discard(disk, path);
    throw error;
  }
}
