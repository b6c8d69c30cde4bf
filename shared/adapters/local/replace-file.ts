import { limits } from "../../base/limits.js";
import type { DoubtReason } from "../../storage/object-store.js";
import type { Disk } from "./disk.js";
import { explainErrno } from "./errno.js";
import type { FileAccess } from "./fs-ops.js";
import { errnoOf } from "./open-flags.js";
import {
  discard,
  folderSynced,
  identityIfKnown,
  linkStaged,
  type Place,
  type StagedFile,
  stageFile,
} from "./stage-file.js";

export type ReplaceOutcome =
  | { readonly kind: "replaced" }
  | { readonly kind: "changed-meanwhile" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

export type CreateOutcome =
  | { readonly kind: "created" }
  | { readonly kind: "exists" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

/**
 * Replaces one file so that a reader sees the old bytes or the new, never a mixture.
 *
 * Shape:     `access` is that of the file being replaced, so that whoever could read it still can.
 *            `stillExpected` is asked last, right before the rename; "changed-meanwhile" if it says no.
 * Errors:    storage-full, read-only, not-permitted, busy, cross-device, io-failed …: the old file is untouched.
 * Guarantee: "replaced" survives process kill, and power loss where folders can be synced.
 *            "in-doubt": readers see the new bytes now; after a power loss perhaps the old ones again.
 */
export async function replaceFile(
  disk: Disk,
  target: Place,
  bytes: Uint8Array,
  access: FileAccess,
  stillExpected: () => Promise<boolean>,
): Promise<ReplaceOutcome> {
  const untouched = "The old file is untouched.";
  const staged = await stageFile(disk, target, bytes, untouched, access);
  let renamed: "renamed" | "unknown";
  try {
    await disk.atCrashPoint("replace: staged");
    // Rename replaces whatever is there, so the look comes last: what is missed is only what arrives in between.
    if (!(await stillExpected())) {
      await discard(disk, staged.path);
      return { kind: "changed-meanwhile" };
    }
    await disk.atCrashPoint("replace: about to rename");
    renamed = await renameOver(disk, staged, target.path); // from here on readers see the new bytes
  } catch (error) {
    await discard(disk, staged.path);
    throw explainErrno(error, { doing: "replace", path: target.path, stillTrue: untouched });
  }
  await disk.atCrashPoint("replace: renamed");
  // Without this the rename itself could be undone by a power loss. A failure here is doubt, not failure.
  if (!(await folderSynced(disk, target.folder))) {
    return { kind: "in-doubt", reason: "directory-sync-failed" };
  }
  return renamed === "renamed" ? { kind: "replaced" } : { kind: "in-doubt", reason: "reply-lost" };
}

/**
 * Creates one file, whole at once and only if nothing is there: of any number of creators exactly one wins.
 *
 * Errors:    as for replaceFile, and store-refused where the file system has no hard links; nothing was created.
 * Guarantee: as for replaceFile.
 */
export async function createFile(
  disk: Disk,
  target: Place,
  bytes: Uint8Array,
): Promise<CreateOutcome> {
  const staged = await stageFile(disk, target, bytes, "Nothing was created.");
  let outcome: "linked" | "exists";
  try {
    await disk.atCrashPoint("create: staged");
    outcome = await linkStaged(disk, staged, target); // link, since rename would replace what is there
    if (outcome === "linked") await disk.atCrashPoint("create: linked");
  } finally {
    // Before the sync, so that one sync covers both entries and no staged name comes back after a power loss.
    await discard(disk, staged.path);
  }
  if (outcome === "exists") return { kind: "exists" };
  return (await folderSynced(disk, target.folder))
    ? { kind: "created" }
    : { kind: "in-doubt", reason: "directory-sync-failed" };
}

/**
 * Renames over the target; "unknown" when the staged file is gone and yet is not what the name leads to.
 *
 * A refusal is believed only after a look: a network file system may do the rename, lose the answer and refuse its
 * own repetition. On Windows somebody else's open handle refuses it for a moment, so it is asked again, within bounds.
 */
async function renameOver(
  disk: Disk,
  staged: StagedFile,
  target: string,
): Promise<"renamed" | "unknown"> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await disk.fs.rename(staged.path, target);
      return "renamed";
    } catch (error) {
      if ((await identityIfKnown(disk, target)) === staged.identity) return "renamed";
      if ((await identityIfKnown(disk, staged.path)) !== staged.identity) return "unknown";
      if (!mayPass(disk, error) || attempt >= limits.renameAttemptsMax) throw error;
      await disk.pause(limits.renamePauseMs * attempt);
    }
  }
}

function mayPass(disk: Disk, error: unknown): boolean {
  const whileHeld = ["EPERM", "EACCES", "EBUSY"];
  return disk.platform === "windows" && whileHeld.includes(errnoOf(error) ?? "");
}
