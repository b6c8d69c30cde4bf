/** The bytes that `FILE` or `FILE@vN` means. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { LastgoodError } from "../../shared/base/errors.js";
import { limits } from "../../shared/base/limits.js";
import { visibleText } from "../../shared/base/text.js";
import type { CollectMeans } from "./collect-evidence.js";
import { errnoOf, sayErrno } from "./file-reading.js";
import { listVersions } from "./list-versions.js";

export interface OpenedVersion {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Errors: `not-found` for a file or version that is not there; `limit-exceeded`; `not-permitted`, `io-failed`. */
export async function openVersion(means: CollectMeans, named: string): Promise<OpenedVersion> {
  const match = /^(.+)@v(\d+)$/s.exec(named);
  // A file may be named like that itself; then the file is meant.
  if (match === null || (await isThere(named))) return readOne(named);
  const [, file = "", digits = ""] = match;
  const version = Number(digits);
  const { folder, versions } = await listVersions(means, file);
  const candidates = versions.filter((one) => one.version === version);
  const found = candidates.find((one) => one.place === "kept") ?? candidates[0];
  if (found !== undefined) return readOne(join(folder, found.file));
  const there = versions.flatMap((one) => (one.version === undefined ? [] : [one.version]));
  const list = [...new Set(there)].map((one) => `v${one}`).join(", ");
  throw new LastgoodError(
    "not-found",
    `${visibleText(file)} has no version ${version} here. ${list === "" ? "No version was found." : `There: ${list}.`}`,
    { subject: file },
  );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

async function readOne(path: string): Promise<OpenedVersion> {
  const shown = visibleText(path);
  try {
    const facts = await stat(path);
    if (!facts.isFile())
      throw new LastgoodError("not-a-file", `${shown} is not a file.`, { subject: path });
    if (facts.size > limits.documentBytesMax)
      throw new LastgoodError(
        "limit-exceeded",
        `${shown} has ${facts.size} bytes; at most ${limits.documentBytesMax} are compared.`,
        { subject: path },
      );
    return { path, bytes: await readFile(path) };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    if (errno === "ENOENT")
      throw new LastgoodError("not-found", `${shown} is not there.`, { subject: path });
    const code = errno === "EACCES" || errno === "EPERM" ? "not-permitted" : "io-failed";
    throw new LastgoodError(code, `${shown} cannot be read: ${sayErrno(errno)} (${errno}).`, {
      subject: path,
      cause: error,
    });
  }
}
