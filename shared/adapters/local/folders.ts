import { join } from "node:path";
import { LastgoodError } from "../../base/errors.js";
import type { Key } from "../../storage/object-store.js";
import type { Disk, Platform } from "./disk.js";
import { explainErrno } from "./errno.js";
import type { FileStat } from "./fs-ops.js";
import { errnoOf } from "./open-flags.js";
import type { Place } from "./stage-file.js";

/** A place together with the identity of its folder, under which writers of one name wait for each other. */
export interface FoundPlace extends Place {
  readonly folderIdentity: string;
}

/**
 * Turns keys into places below one root. Every folder on the way is looked at each time, because a symbolic link
 * put there meanwhile would lead reads and writes out of the workspace.
 */
export class Folders {
  readonly #disk: Disk;
  readonly #root: string;
  /** Folders whose own entry we know to be on the device; a file in a folder that vanishes vanishes with it. */
  readonly #durable = new Set<string>();

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
  }

  /** Where the key leads, or "absent" when a folder on the way is not there. */
  async find(key: Key): Promise<FoundPlace | "absent"> {
    const { names, name } = split(key, this.#disk.platform);
    let folder = this.#root;
    let stat = await this.#rootStat();
    for (const segment of names) {
      folder = join(folder, segment);
      const found = await this.#look(folder);
      if (found === "absent" || found.kind === "file") return "absent";
      refuseUnlessFolder(found, folder);
      stat = found;
    }
    return { folder, name, path: join(folder, name), folderIdentity: stat.identity };
  }

  /** The same, with the missing folders made, and each of them on the device before anything is put into it. */
  async make(key: Key): Promise<FoundPlace> {
    const { names, name } = split(key, this.#disk.platform);
    let folder = this.#root;
    let stat = await this.#rootStat();
    for (const segment of names) {
      const parent = folder;
      folder = join(folder, segment);
      stat = await this.#durableFolder(parent, folder);
    }
    return { folder, name, path: join(folder, name), folderIdentity: stat.identity };
  }

  async #durableFolder(parent: string, folder: string): Promise<FileStat> {
    let found = await this.#look(folder);
    if (found === "absent") found = await this.#create(folder);
    refuseUnlessFolder(found, folder);
    // Also for a folder that was there: whoever made it may have been killed before syncing its entry.
    if (!this.#durable.has(found.identity)) {
      try {
        await this.#disk.fs.syncDirectory(parent);
      } catch (error) {
        throw explainErrno(error, {
          doing: "sync the entry of the folder",
          path: folder,
          stillTrue: "Nothing was written into it.",
        });
      }
      this.#durable.add(found.identity);
    }
    return found;
  }

  async #create(folder: string): Promise<FileStat> {
    try {
      await this.#disk.fs.mkdir(folder);
    } catch (error) {
      // EEXIST: somebody else made it at the same moment, which is as good.
      if (errnoOf(error) !== "EEXIST") throw explainErrno(error, making(folder));
    }
    const made = await this.#look(folder);
    if (made !== "absent") return made;
    throw new LastgoodError(
      "vanished",
      `The folder ${folder} was removed the moment it was made. Nothing was written. Find out what removes it.`,
      { subject: folder },
    );
  }

  async #rootStat(): Promise<FileStat> {
    const found = await this.#look(this.#root);
    if (found !== "absent" && found.kind !== "file" && found.kind !== "other") return found;
    throw new LastgoodError(
      "not-found",
      `${this.#root} is not a folder any more. Nothing was read or written. Mount or restore it, then try again.`,
      { subject: this.#root },
    );
  }

  async #look(path: string): Promise<FileStat | "absent"> {
    try {
      return await this.#disk.fs.lstat(path);
    } catch (error) {
      throw explainErrno(error, { doing: "look at", path, stillTrue: "Nothing was changed." });
    }
  }
}

function refuseUnlessFolder(found: FileStat, path: string): void {
  if (found.kind === "directory") return;
  const what = found.kind === "symlink" ? "a symbolic link" : "not a folder";
  throw new LastgoodError(
    "not-a-file",
    `${path} is ${what}, and nothing is read or written through it. ` +
      "Put the folder itself there, or open the folder it leads to as a workspace of its own.",
    { subject: path },
  );
}

function split(
  key: Key,
  platform: Platform,
): { readonly names: readonly string[]; readonly name: string } {
  const names = key.split("/");
  if (platform === "windows") for (const name of names) refuseWindowsName(name, key);
  const name = names.pop() ?? key;
  return { names, name };
}

/** `a:b` is a hidden stream of the file `a`, `con.json` is the console, and `a.` is `a`. */
const otherThanFiles = /[<>:"|?*\p{Cc}]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu;

function refuseWindowsName(name: string, key: Key): void {
  if (!otherThanFiles.test(name)) return;
  throw new LastgoodError(
    "name-rejected",
    `${key} cannot be a file on Windows: it takes "${name}" for something else. Nothing was read or written. ` +
      "Choose another name.",
    { subject: key },
  );
}

function making(folder: string) {
  return { doing: "make the folder", path: folder, stillTrue: "Nothing was written." };
}
