import { join } from "node:path";
import { limits } from "../../base/limits.js";
import { checkKey, isStagedName } from "../../storage/keys.js";
import type { Listing } from "../../storage/object-store.js";
import { explainErrno } from "./errno.js";
import type { FolderEntry, FsOps } from "./fs-ops.js";
import { errnoOf } from "./open-flags.js";

/** What is still to be listed: a key, or a folder whose keys all begin with `key`, which then ends with `/`. */
interface Pending {
  readonly key: string;
  readonly depth: number;
}

/**
 * The keys of plain files below `root` that start with `prefix`, in code-unit order. Links are neither listed nor
 * followed, and staged files of ours are not objects.
 */
export async function listKeys(
  fs: FsOps,
  root: string,
  prefix: string,
  countMax: number,
): Promise<Listing> {
  const keys: string[] = [];
  let complete = true;
  // A stack instead of recursion: the next key in order is always on its top.
  const stack: Pending[] = [{ key: folderOf(prefix), depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (!isFolder(next.key)) {
      if (keys.length >= countMax) return { keys, complete: false };
      keys.push(next.key);
    } else if (next.depth > limits.scanDepthMax) {
      complete = false;
    } else {
      const entries = await readFolder(fs, root, next.key);
      stack.push(...pendingIn(entries, next, prefix).reverse());
    }
  }
  return { keys, complete };
}

function pendingIn(entries: readonly FolderEntry[], folder: Pending, prefix: string): Pending[] {
  const found: Pending[] = [];
  for (const { name, kind } of entries) {
    const key = `${folder.key}${name}`;
    // Names that no key can spell (a backslash, too long) cannot be read through the store either.
    if (checkKey(key).kind === "rejected") continue;
    const folderKey = `${key}/`;
    if (kind === "file" && key.startsWith(prefix) && !isStagedName(name)) {
      found.push({ key, depth: folder.depth });
    }
    if (kind === "directory" && folderKey.startsWith(prefix)) {
      found.push({ key: folderKey, depth: folder.depth + 1 });
    }
  }
  // With its `/` a folder sorts where its keys belong: "a-b" < "a/…" < "a0".
  return found.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The folders of a prefix, with the last `/`; empty for the root. */
export function folderOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf("/") + 1);
}

function isFolder(key: string): boolean {
  return key === "" || key.endsWith("/");
}

async function readFolder(fs: FsOps, root: string, key: string): Promise<readonly FolderEntry[]> {
  const path = join(root, key);
  try {
    return await fs.readdir(path);
  } catch (error) {
    // Not there, or not a folder: nothing starts with this prefix, which is an answer and not a failure.
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return [];
    throw explainErrno(error, { doing: "list", path, stillTrue: "Nothing was changed." });
  }
}
