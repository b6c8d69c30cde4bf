import { join } from "node:path";
import { stagedName } from "../../storage/keys.js";
import type { Disk } from "./disk.js";
import { explainErrno, explainLinkErrno } from "./errno.js";
import type { FileAccess } from "./fs-ops.js";
import { errnoOf } from "./open-flags.js";
import { appendAll } from "./whole-file.js";

/** A name in a folder whose path was looked at and led through no symbolic link. */
export interface Place {
  readonly folder: string;
  readonly name: string;
  readonly path: string;
}

/** Whole, synced bytes under a name of their own beside the target. */
export interface StagedFile {
  readonly path: string;
  readonly identity: string;
}

/**
 * Puts the bytes on the device under a staged name next to the target: rename and link are atomic only within
 * one file system. Nothing is left when it fails.
 */
export async function stageFile(
  disk: Disk,
  target: Place,
  bytes: Uint8Array,
  stillTrue: string,
  access?: FileAccess,
): Promise<StagedFile> {
  const path = join(target.folder, stagedName(target.name, disk.stagedRandom()));
  let doing = "create a staged file for";
  let created = false;
  try {
    // Exclusive: a name that is there belongs to somebody else, and their bytes are not ours to overwrite.
    const mode = { kind: "create-exclusive", ...(access === undefined ? {} : { access }) } as const;
    const file = await disk.fs.open(path, mode);
    created = true;
    try {
      doing = "write the staged bytes of";
      await appendAll(file, bytes);
      // Contents before the name: otherwise the new name could survive a power loss that the bytes did not.
      doing = "sync the staged bytes of";
      await file.sync();
      const { identity } = await file.stat();
      doing = "close the staged file of";
      await file.close();
      return { path, identity };
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    if (created) await discard(disk, path);
    throw explainErrno(error, { doing, path: target.path, stillTrue });
  }
}

/** Removes a staged file of ours. A failure is not told: what matters is why we gave up, and a leftover is only untidy. */
export async function discard(disk: Disk, path: string): Promise<void> {
  await disk.fs.unlink(path).catch(() => undefined);
}

/**
 * Links the staged file under the target's name, only if nothing is there.
 *
 * A network file system may do it, lose the answer and refuse its own repetition; so after a refusal we look
 * whether the file under the name is the staged one.
 */
export async function linkStaged(
  disk: Disk,
  staged: StagedFile,
  target: Place,
): Promise<"linked" | "exists"> {
  try {
    await disk.fs.link(staged.path, target.path);
    return "linked";
  } catch (error) {
    if ((await identityIfKnown(disk, target.path)) === staged.identity) return "linked";
    if (errnoOf(error) === "EEXIST") return "exists";
    const attempt = { doing: "create", path: target.path, stillTrue: "Nothing was created." };
    throw explainLinkErrno(error, attempt);
  }
}

/** Identity of the file under a path, or "absent". */
export async function identityAt(disk: Disk, path: string): Promise<string> {
  const found = await disk.fs.lstat(path);
  return found === "absent" ? "absent" : found.identity;
}

/** The same while a refusal is being looked into: a second refusal must not cover the first. */
export async function identityIfKnown(disk: Disk, path: string): Promise<string> {
  return await identityAt(disk, path).catch(() => "unknown");
}

/** Whether the folder's entries are on the device; where a folder cannot be synced at all, the traits say so. */
export async function folderSynced(disk: Disk, folder: string): Promise<boolean> {
  try {
    await disk.fs.syncDirectory(folder);
    return true;
  } catch {
    return false;
  }
}
