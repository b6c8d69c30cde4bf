/** One look at one file: its bytes as they were while it was read, or why there are none. */
import { createHash } from "node:crypto";
import { limits } from "../../shared/base/limits.js";
import { type EntryFacts, errnoOf, type FileReading, type OpenReading } from "./file-reading.js";

export type Look =
  | {
      readonly kind: "read";
      readonly facts: EntryFacts;
      readonly bytes: number;
      readonly sha256: string;
      /** False: the file changed under our hands, so the bytes may belong to no one version. */
      readonly steady: boolean;
      /** The last byte that was read; undefined when there was none. */
      readonly lastByte: number | undefined;
    }
  | { readonly kind: "too-large"; readonly bytes: number }
  | { readonly kind: "refused"; readonly errno: string }
  /** A pipe, socket, device or folder stands there now. */
  | { readonly kind: "not-a-file"; readonly found: string };

export interface ChunkTarget {
  push(chunk: Uint8Array): void;
}

/** Reads a document whole. `limits.documentBytesMax` bounds the memory. */
export async function lookAtDocument(
  reading: FileReading,
  location: Buffer,
): Promise<{ readonly look: Look; readonly bytes: Uint8Array }> {
  let bytes: Uint8Array = new Uint8Array(0);
  const look = await withOpen(reading, location, async (file, facts) => {
    if (facts.sizeBytes > limits.documentBytesMax)
      return { kind: "too-large", bytes: facts.sizeBytes };
    bytes = await readUpTo(file, facts.sizeBytes);
    const after = await file.look();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const steady = after.stamp === facts.stamp && bytes.length === facts.sizeBytes;
    return { kind: "read", facts, bytes: bytes.length, sha256, steady, lastByte: bytes.at(-1) };
  });
  return { look, bytes };
}

/**
 * Reads a log in chunks, as far as it reached when it was opened. A log that only grew meanwhile is steady: the
 * bytes that were there are the bytes that are there.
 *
 * `wholeLinesOnly`: a last line without its end is left out; for a log whose writer is in the middle of it.
 */
export async function lookAtLog(
  reading: FileReading,
  location: Buffer,
  target: ChunkTarget,
  wholeLinesOnly: "whole-lines" | "all-bytes",
): Promise<Look> {
  return withOpen(reading, location, async (file, facts) => {
    const until =
      wholeLinesOnly === "all-bytes" ? facts.sizeBytes : await lastLineEnd(file, facts.sizeBytes);
    const sum = createHash("sha256");
    const chunk = new Uint8Array(limits.readChunkBytes);
    let at = 0;
    let lastByte: number | undefined;
    while (at < until) {
      const count = await file.read(chunk.subarray(0, Math.min(chunk.length, until - at)), at);
      if (count === 0) break;
      // A copy: what the target keeps of a chunk must not change when the buffer is filled again.
      const bytes = chunk.slice(0, count);
      sum.update(bytes);
      target.push(bytes);
      lastByte = bytes.at(-1);
      at += count;
    }
    const after = await file.look();
    const grew = after.sizeBytes > facts.sizeBytes && after.identity === facts.identity;
    const steady = at === until && (after.stamp === facts.stamp || grew);
    return { kind: "read", facts, bytes: at, sha256: sum.digest("hex"), steady, lastByte };
  });
}

/** The first bytes, for guessing what the file is; empty when they cannot be had. */
export async function lookAtHead(reading: FileReading, location: Buffer): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  await withOpen(reading, location, async (file, facts) => {
    head = await readUpTo(file, Math.min(limits.headBytes, facts.sizeBytes));
    return { kind: "too-large", bytes: facts.sizeBytes };
  });
  return head;
}

async function withOpen(
  reading: FileReading,
  location: Buffer,
  read: (file: OpenReading, facts: EntryFacts) => Promise<Look>,
): Promise<Look> {
  let file: OpenReading | undefined;
  try {
    file = await reading.open(location);
    const facts = await file.look();
    if (facts.kind !== "file") return { kind: "not-a-file", found: facts.kind };
    return await read(file, facts);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { kind: "refused", errno };
  } finally {
    // A descriptor opened for reading has nothing to lose in a failing close.
    await file?.close().catch(() => undefined);
  }
}

async function readUpTo(file: OpenReading, sizeBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  while (at < sizeBytes) {
    const part = bytes.subarray(at, Math.min(sizeBytes, at + limits.readChunkBytes));
    const count = await file.read(part, at);
    if (count === 0) return bytes.slice(0, at);
    at += count;
  }
  return bytes;
}

/** The byte after the last line end, looked for from the end. */
async function lastLineEnd(file: OpenReading, sizeBytes: number): Promise<number> {
  const chunk = new Uint8Array(Math.min(limits.readChunkBytes, sizeBytes));
  let end = sizeBytes;
  while (end > 0) {
    const from = Math.max(0, end - chunk.length);
    const count = await file.read(chunk.subarray(0, end - from), from);
    const at = chunk.subarray(0, count).lastIndexOf(0x0a);
    if (at >= 0) return from + at + 1;
    if (count === 0) return 0;
    end = from;
  }
  return 0;
}
