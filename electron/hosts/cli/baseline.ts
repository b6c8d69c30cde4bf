/** A list of known findings, so that a build fails only for new ones. */
import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { LastgoodError } from "../../../shared/base/errors.js";
import { visibleText } from "../../../shared/base/text.js";
import type { Report } from "../../../shared/inspect/report.js";
import { errnoOf, sayErrno } from "../../service/file-reading.js";

const schema = "lastgood.baseline/1";

/** Errors: `input-rejected` when the file is there but no baseline; `not-found` when it is not there. */
export async function readBaseline(path: string): Promise<ReadonlySet<string>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw refused("read", path, error);
  }
  const known = knownIds(text);
  if (known === undefined) throw notBaseline(path);
  return known;
}

/** Replaces an earlier baseline; refuses to replace any other file. */
export async function writeBaseline(path: string, report: Report): Promise<void> {
  const found = await readFile(path, "utf8").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw refused("write", path, error);
  });
  if (found !== undefined && knownIds(found) === undefined) throw notBaseline(path);
  const known = report.findings.map(({ id }) => id).sort();
  const staged = `${path}.${randomBytes(8).toString("hex")}.tmp`;
  try {
    // A stopped run must not leave half a list, which would call old findings new.
    await writeFile(staged, `${JSON.stringify({ schema, known }, null, 2)}\n`, { flag: "wx" });
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw refused("write", path, error);
  }
}

function knownIds(text: string): ReadonlySet<string> | undefined {
  try {
    const value = JSON.parse(text) as { schema?: unknown; known?: unknown } | null;
    if (value?.schema !== schema || !Array.isArray(value.known)) return undefined;
    return new Set(value.known.filter((id) => typeof id === "string"));
  } catch {
    return undefined;
  }
}

function notBaseline(path: string): LastgoodError {
  return new LastgoodError(
    "input-rejected",
    `${visibleText(path)} is not a baseline of Lastgood; it is left as it is.`,
    { subject: path },
  );
}

function refused(doing: "read" | "write", path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  const isMissing = errno === "ENOENT";
  const reason = isMissing
    ? doing === "read"
      ? "it is not there"
      : "its folder is not there"
    : sayErrno(errno);
  return new LastgoodError(
    isMissing ? "not-found" : "not-permitted",
    `The baseline ${visibleText(path)} could not be ${doing === "read" ? "read" : "written"}: ${reason} (${errno}).`,
    { subject: path, cause: error },
  );
}
