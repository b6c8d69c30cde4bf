/** Tries on a real folder what the durable core stands on, and says what each answer means. */
import {
  link,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LastgoodError } from "../../shared/base/errors.js";
import { grouped, visibleText } from "../../shared/base/text.js";
import { errnoOf, sayErrno } from "./file-reading.js";

export interface Probe {
  readonly name: string;
  /** "weaker": it works, with a smaller promise. */
  readonly result: "works" | "weaker" | "refused";
  readonly says: string;
}

export interface ProbedFolder {
  readonly folder: string;
  readonly probes: readonly Probe[];
}

/** Errors: `not-permitted` when no folder can be made in `folder`. */
export async function probeFolder(folder: string = tmpdir()): Promise<ProbedFolder> {
  let place: string;
  try {
    place = await mkdtemp(join(folder, "lastgood-doctor-"));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const reason = errno === "ENOENT" ? "it is not there" : sayErrno(errno);
    throw new LastgoodError(
      "not-permitted",
      `Nothing can be tried in ${visibleText(folder)}: ${reason} (${errno}).`,
      { subject: folder, cause: error },
    );
  }
  try {
    const probes = [
      await probe(
        "write",
        "a synced file reads back as written",
        "nothing can be stored here",
        () => probeWrite(place),
      ),
      await probe(
        "rename",
        "a document is replaced in one step: a reader sees the old or the new one",
        "documents cannot be replaced without a moment in which they are torn",
        () => probeRename(place),
      ),
      await probe(
        "link",
        "a file is created only if none is there, and appears whole",
        "a local store needs hard links; keep the workspace on a file system that has them",
        () => probeLink(place),
      ),
      await probeFolderSync(place),
      await probeSpace(place),
    ];
    return { folder, probes };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function probe(
  name: string,
  works: string,
  refused: string,
  attempt: () => Promise<void>,
): Promise<Probe> {
  try {
    await attempt();
    return { name, result: "works", says: works };
  } catch (error) {
    return { name, result: "refused", says: `${refused} (${reasonOf(error)})` };
  }
}

function reasonOf(error: unknown): string {
  const errno = errnoOf(error);
  return errno === undefined ? (error as Error).message : `${sayErrno(errno)}, ${errno}`;
}

async function probeWrite(place: string): Promise<void> {
  const path = join(place, "written");
  const handle = await open(path, "wx");
  try {
    await handle.writeFile("whole");
    await handle.sync();
  } finally {
    await handle.close();
  }
  if ((await readFile(path, "utf8")) !== "whole") throw new Error("it read back differently");
}

async function probeRename(place: string): Promise<void> {
  const target = join(place, "replaced");
  await writeFile(target, "old");
  await writeFile(join(place, "staged"), "new");
  await rename(join(place, "staged"), target);
  if ((await readFile(target, "utf8")) !== "new") throw new Error("the old file is still there");
}

async function probeLink(place: string): Promise<void> {
  const first = join(place, "first");
  await writeFile(first, "mine");
  await link(first, join(place, "second"));
  try {
    await link(first, join(place, "second"));
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    throw error;
  }
  throw new Error("a second link replaced the first");
}

async function probeFolderSync(place: string): Promise<Probe> {
  const name = "dir sync";
  try {
    const handle = await open(place, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    return { name, result: "works", says: "a rename survives power loss once it is acknowledged" };
  } catch (error) {
    const says = `a rename survives the death of the process, not surely a power loss (${reasonOf(error)})`;
    return { name, result: "weaker", says };
  }
}

async function probeSpace(place: string): Promise<Probe> {
  const name = "space";
  try {
    const { bavail, bsize } = await statfs(place);
    const { dev } = await stat(place);
    const freeMegabytes = Math.floor((bavail * bsize) / 1_000_000);
    const says = `${grouped(freeMegabytes)} MB are free on device ${dev}`;
    return { name, result: freeMegabytes < 100 ? "weaker" : "works", says };
  } catch (error) {
    return { name, result: "weaker", says: `free space is not told (${reasonOf(error)})` };
  }
}
