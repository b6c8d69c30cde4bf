import { LastgoodError } from "../../base/errors.js";
import { limits } from "../../base/limits.js";
import type { OpenLogOptions, TailRepair } from "../../storage/object-store.js";
import { lostTheLog } from "../../storage/refusals.js";
import { judgeTail, lineEnd, type TailState } from "../../storage/tail.js";
import type { Disk } from "./disk.js";
import type { OpenFile } from "./fs-ops.js";
import { identityAt, type Place } from "./stage-file.js";
import { appendAll, readRange, usingFile } from "./whole-file.js";

/**
 * Makes sure that the log ends with `\n`, so that no record is ever glued to a cut one.
 *
 * Guarantee: the bytes that are cut were set aside before; a whole record that lacks only its `\n` keeps all its
 * bytes. Nothing is synced here: the caller does that before it lets anybody append.
 */
export async function repairTail(
  disk: Disk,
  log: Place,
  file: OpenFile,
  options: OpenLogOptions,
): Promise<TailRepair> {
  const { sizeBytes } = await file.stat();
  const lastLine = await readLastLine(file, log.path, sizeBytes);
  const tail = judgeTail(lastLine, sizeBytes, options.isWholeRecord);
  switch (tail.kind) {
    case "ended":
      return { kind: "none" };
    case "cut":
      return await setAsideAndCut(disk, log, file, tail, options);
    case "line-end-missing": {
      const repair = await cutDebris(disk, log, file, tail, options);
      await appendAll(file, Uint8Array.of(lineEnd));
      return repair ?? { kind: "line-ended", atByte: tail.endByte };
    }
  }
}

type Missing = Extract<TailState, { kind: "line-end-missing" }>;

async function cutDebris(
  disk: Disk,
  log: Place,
  file: OpenFile,
  { endByte, debris }: Missing,
  options: OpenLogOptions,
): Promise<TailRepair | undefined> {
  if (debris.length === 0) return undefined;
  return await setAsideAndCut(disk, log, file, { fromByte: endByte, bytes: debris }, options);
}

async function setAsideAndCut(
  disk: Disk,
  log: Place,
  file: OpenFile,
  { fromByte, bytes }: { readonly fromByte: number; readonly bytes: Uint8Array },
  options: OpenLogOptions,
): Promise<TailRepair> {
  await disk.atCrashPoint("open log: about to set aside");
  await options.setAside({ bytes, fromByte }); // first, or the bytes could be lost
  await disk.atCrashPoint("open log: about to cut");
  await cutFile(disk, log, file, fromByte + bytes.length, fromByte);
  await disk.atCrashPoint("open log: cut");
  return { kind: "cut", fromByte, bytes: bytes.length };
}

async function cutFile(
  disk: Disk,
  log: Place,
  file: OpenFile,
  expectedBytes: number,
  toByte: number,
): Promise<void> {
  const { identity } = await file.stat();
  const cutter = await disk.fs.open(log.path, { kind: "cut" });
  await usingFile(cutter, async () => {
    const found = await cutter.stat();
    // Another file, or another size: somebody else writes here, and the cut would take their record with it.
    if (found.identity !== identity || found.sizeBytes !== expectedBytes)
      throw lostTheLog(log.path);
    await cutter.truncate(toByte);
  });
}

/** The bytes after the last `\n`. LastgoodError limit-exceeded when they are more than a tail can be. */
export async function readLastLine(
  file: OpenFile,
  path: string,
  sizeBytes: number,
): Promise<Uint8Array> {
  const start = await endOfLastLine(file, sizeBytes);
  const lengthBytes = sizeBytes - start;
  if (lengthBytes <= limits.logTailBytesMax) return await readRange(file, start, sizeBytes);
  throw new LastgoodError(
    "limit-exceeded",
    `The last line of ${path} has ${lengthBytes} bytes without a line end, more than the ` +
      `${limits.logTailBytesMax} bytes a cut record may have. Nothing was changed. Inspect the file: it is probably no log.`,
    { subject: path },
  );
}

/** Position right after the last `\n` before `sizeBytes`; 0 when there is none. Reads backwards from the end. */
async function endOfLastLine(file: OpenFile, sizeBytes: number): Promise<number> {
  for (let end = sizeBytes; end > 0; ) {
    const start = Math.max(0, end - limits.readChunkBytes);
    const at = (await readRange(file, start, end)).lastIndexOf(lineEnd);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** The log open for appending, made when it is not there. LastgoodError not-a-file for anything but a file. */
export async function openLogHandle(disk: Disk, log: Place): Promise<OpenFile> {
  const file = await disk.fs.open(log.path, { kind: "append-create" });
  if ((await file.stat()).kind === "file") return file;
  await file.close();
  throw new LastgoodError(
    "not-a-file",
    `${log.path} is not a plain file, so nothing is appended to it. Choose another name for the log.`,
    { subject: log.path },
  );
}

/** Whether the name still leads to the file that we hold open. */
export async function leadsTo(disk: Disk, path: string, identity: string): Promise<boolean> {
  return (await identityAt(disk, path)) === identity;
}
