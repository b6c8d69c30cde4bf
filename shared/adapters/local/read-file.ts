import { LastgoodError } from "../../base/errors.js";
import { limits } from "../../base/limits.js";
import type { Disk } from "./disk.js";
import { type Attempt, explainErrno } from "./errno.js";
import type { FileStat, OpenFile } from "./fs-ops.js";
import { errnoOf } from "./open-flags.js";
import type { Place } from "./stage-file.js";
import { readWhole, usingFile } from "./whole-file.js";

/** The bytes of a plain file. Errors: not-a-file, limit-exceeded, and what the system refused. */
export async function readFileAt(disk: Disk, place: Place): Promise<Uint8Array | "absent"> {
  const opened = await openToRead(disk, place);
  if (opened === "absent") return "absent";
  const { file, sizeBytes } = opened;
  try {
    return await usingFile(file, () =>
      readWhole(file, place.path, sizeBytes, limits.objectBytesMax),
    );
  } catch (error) {
    throw explainErrno(error, reading(place));
  }
}

/** The bytes of a plain file from a position on, up to where it ends when we get there; nothing when it is not there. */
export async function* readChunksAt(
  disk: Disk,
  place: Place,
  fromByte: number,
): AsyncIterable<Uint8Array> {
  const opened = await openToRead(disk, place);
  if (opened === "absent") return;
  const { file } = opened;
  try {
    for (let at = fromByte; ; ) {
      const chunk = new Uint8Array(limits.readChunkBytes);
      const count = await readAt(file, chunk, at, place);
      if (count === 0) return;
      yield chunk.subarray(0, count);
      at += count;
    }
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** What stands under the place, looked at without following a link. LastgoodError not-a-file for anything but a file. */
export async function lookAtFile(disk: Disk, place: Place): Promise<FileStat | "absent"> {
  let found: FileStat | "absent";
  try {
    found = await disk.fs.lstat(place.path);
  } catch (error) {
    throw explainErrno(error, reading(place));
  }
  if (found !== "absent" && found.kind !== "file") throw notAFile(place);
  return found;
}

async function readAt(
  file: OpenFile,
  into: Uint8Array,
  atByte: number,
  place: Place,
): Promise<number> {
  try {
    return await file.read(into, atByte);
  } catch (error) {
    throw explainErrno(error, reading(place));
  }
}

async function openToRead(
  disk: Disk,
  place: Place,
): Promise<{ readonly file: OpenFile; readonly sizeBytes: number } | "absent"> {
  let file: OpenFile;
  try {
    file = await disk.fs.open(place.path, { kind: "read" });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "absent";
    throw explainErrno(error, reading(place));
  }
  try {
    // Opening a folder or a pipe to read succeeds; reading it would fail oddly, or never end.
    const { kind, sizeBytes } = await file.stat();
    if (kind === "file") return { file, sizeBytes };
    throw notAFile(place);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw explainErrno(error, reading(place));
  }
}

function reading(place: Place): Attempt {
  return { doing: "read", path: place.path, stillTrue: "Nothing was changed." };
}

function notAFile(place: Place): LastgoodError {
  return new LastgoodError(
    "not-a-file",
    `${place.path} is a folder, a link, a pipe or a device, not a plain file. Nothing was read or written. ` +
      "Put the file itself there, or choose another name.",
    { subject: place.path },
  );
}
