import type { OpenLogOptions } from "../../storage/object-store.js";
import { lostTheLog } from "../../storage/refusals.js";
import { AppendFile, type OpenedLog } from "./append-file.js";
import type { Disk } from "./disk.js";
import { explainErrno } from "./errno.js";
import { leadsTo, openLogHandle, repairTail } from "./log-tail.js";
import type { Place } from "./stage-file.js";
import { takeOverLog } from "./take-over-log.js";
import { decideOpening, readTraces } from "./take-over-traces.js";

/**
 * Opens a log for appending under the lease that the caller holds.
 *
 * Guarantee: what a reader of the opened log goes by is on the device, it ends with `\n`, and everything that an
 * earlier holder acknowledged is in it, even if that holder, or a take-over of its log, stopped at any point.
 * Errors: lease-lost when somebody with a later token is at the log; otherwise what the system refused.
 */
export async function openLogFile(
  disk: Disk,
  log: Place,
  options: OpenLogOptions,
): Promise<AppendFile> {
  try {
    const opened = await open(disk, log, options);
    return new AppendFile(disk, log, opened);
  } catch (error) {
    throw explainErrno(error, {
      doing: "open for appending",
      path: log.path,
      stillTrue: "No confirmed record is lost, and bytes that were cut had been set aside before.",
    });
  }
}

async function open(disk: Disk, log: Place, options: OpenLogOptions): Promise<OpenedLog> {
  const traces = await readTraces(disk, log);
  const isThere = (await disk.fs.lstat(log.path)) !== "absent";
  const opening = decideOpening(options.takeOver, traces, isThere);
  switch (opening.kind) {
    case "in-place":
      return await openInPlace(disk, log, options);
    case "take-over":
      return await takeOverLog({ disk, log, token: opening.token, options });
    case "lost":
      throw lostTheLog(log.path);
  }
}

async function openInPlace(disk: Disk, log: Place, options: OpenLogOptions): Promise<OpenedLog> {
  const file = await openLogHandle(disk, log);
  try {
    const tailRepair = await repairTail(disk, log, file, options);
    // Also when nothing was repaired: the last holder may have been killed between its write and its sync, and
    // what we read here and act upon must not vanish with a power loss after we acted.
    await file.sync();
    await disk.fs.syncDirectory(log.folder);
    const { identity, sizeBytes } = await file.stat();
    if (!(await leadsTo(disk, log.path, identity))) throw lostTheLog(log.path);
    return { file, identity, sizeBytes, tailRepair };
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}
