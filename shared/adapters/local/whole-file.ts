import { LastgoodError } from "../../base/errors.js";
import { limits } from "../../base/limits.js";
import type { OpenFile } from "./fs-ops.js";

/** Adds all bytes, however many writes that takes. Throws when the system stops taking any. */
export async function appendAll(file: OpenFile, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await appendSome(file, bytes.subarray(written));
}

/** One write. Answers how many bytes the system took, at least one. */
export async function appendSome(file: OpenFile, bytes: Uint8Array): Promise<number> {
  const count = await file.append(bytes);
  // Without this a system that takes nothing and says nothing would be asked for ever.
  if (count <= 0) throw stoppedTaking(bytes.length);
  return count;
}

/**
 * Reads a file of about `sizeBytes` to its end, which may move while we read.
 *
 * Errors: limit-exceeded beyond `bytesMax`.
 */
export async function readWhole(
  file: OpenFile,
  path: string,
  sizeBytes: number,
  bytesMax: number,
): Promise<Uint8Array> {
  if (sizeBytes > bytesMax) throw tooLarge(path, sizeBytes, bytesMax);
  // One byte more than expected, so that a file which has not grown needs no second buffer.
  let into = new Uint8Array(sizeBytes + 1);
  let filled = 0;
  for (;;) {
    const count = await file.read(into.subarray(filled), filled);
    if (count === 0) return into.subarray(0, filled);
    filled += count;
    if (filled > bytesMax) throw tooLarge(path, filled, bytesMax);
    if (filled === into.length) into = grown(into, Math.min(filled * 2, bytesMax) + 1);
  }
}

/** Exactly the bytes from `fromByte` up to `toByte`, fewer only if the file ends before. */
export async function readRange(
  file: OpenFile,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array> {
  const into = new Uint8Array(toByte - fromByte);
  let filled = 0;
  while (filled < into.length) {
    const count = await file.read(into.subarray(filled), fromByte + filled);
    if (count === 0) break;
    filled += count;
  }
  return into.subarray(0, filled);
}

/** Adds the bytes of `from` between the two positions to the end of `to`, a chunk at a time. */
export async function copyRange(
  from: OpenFile,
  to: OpenFile,
  fromByte: number,
  toByte: number,
): Promise<void> {
  for (let at = fromByte; at < toByte; ) {
    const chunk = await readRange(from, at, Math.min(at + limits.readChunkBytes, toByte));
    if (chunk.length === 0)
      throw new LastgoodError("vanished", "The log became shorter while it was being copied.");
    await appendAll(to, chunk);
    at += chunk.length;
  }
}

function grown(bytes: Uint8Array, sizeBytes: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(sizeBytes);
  larger.set(bytes);
  return larger;
}

function stoppedTaking(bytesLeft: number): LastgoodError {
  return new LastgoodError(
    "io-failed",
    `The system took none of the last ${bytesLeft} bytes, and did not say why. Check the device and its log.`,
  );
}

function tooLarge(path: string, sizeBytes: number, bytesMax: number): LastgoodError {
  return new LastgoodError(
    "limit-exceeded",
    `${path} has ${sizeBytes} bytes; objects are read whole up to ${bytesMax} bytes. Nothing was changed. ` +
      "Read it in chunks, as a log.",
    { subject: path },
  );
}

/** Closes the file whatever happens; what went wrong first is what is told. */
export async function usingFile<T>(
  file: OpenFile,
  use: (file: OpenFile) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await use(file);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
  await file.close();
  return result;
}
