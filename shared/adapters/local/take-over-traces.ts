import { join } from "node:path";
import { supersededKey, supersedingKey, takeOverTrace } from "../../storage/log-names.js";
import type { OpenLogOptions } from "../../storage/object-store.js";
import type { Disk } from "./disk.js";
import { identityAt, type Place } from "./stage-file.js";

/**
 * What take-overs of one log have left in its folder, by their tokens. Later holders go by these alone: nothing about
 * a take-over is ever known from memory only.
 */
export type Trace =
  /** A fresh copy that was not moved over the name. */
  | { readonly kind: "begun"; readonly token: number; readonly path: string }
  /** The old file has its second name, and still its first. */
  | { readonly kind: "not-moved"; readonly token: number; readonly path: string }
  /** Another file stands under the name; it may lack records that are in the old one. */
  | { readonly kind: "moved"; readonly token: number; readonly path: string }
  | { readonly kind: "finished"; readonly token: number; readonly path: string };

export type Opening =
  | { readonly kind: "in-place" }
  | { readonly kind: "take-over"; readonly token: number }
  /** Somebody with a later token was here. */
  | { readonly kind: "lost" };

export async function readTraces(disk: Disk, log: Place): Promise<readonly Trace[]> {
  const traces: Trace[] = [];
  for (const { name } of await disk.fs.readdir(log.folder)) {
    const found = takeOverTrace(log.name, name);
    if (found === undefined) continue;
    const trace = { token: found.token, path: join(log.folder, name) };
    if (found.kind === "fresh") traces.push({ kind: "begun", ...trace });
    else if (found.kind === "superseded") traces.push({ kind: "finished", ...trace });
    else traces.push({ kind: await whetherMoved(disk, log, trace.path), ...trace });
  }
  return traces;
}

async function whetherMoved(disk: Disk, log: Place, old: string): Promise<"moved" | "not-moved"> {
  return (await identityAt(disk, old)) === (await identityAt(disk, log.path))
    ? "not-moved"
    : "moved";
}

export function decideOpening(
  takeOver: OpenLogOptions["takeOver"],
  traces: readonly Trace[],
  logIsThere: boolean,
): Opening {
  if (!logIsThere && traces.length === 0) return { kind: "in-place" }; // nobody can be writing to it
  const finished = newestFinished(traces);
  const newest = newestToken(traces);
  if (takeOver === "in-place") {
    // The last holder is gone, but it began to take the log over from one that may still be writing to the old
    // file. So the take-over is gone on with, under the token of whoever began it.
    return newest > finished ? { kind: "take-over", token: newest } : { kind: "in-place" };
  }
  const { token } = takeOver;
  if (newest > token) return { kind: "lost" };
  // The same holder opens once more what it has taken over before.
  return finished === token ? { kind: "in-place" } : { kind: "take-over", token };
}

/** The take-over that moved the name and was not finished, if there is one. */
export function unfinishedMove(traces: readonly Trace[]): Trace | undefined {
  const finished = newestFinished(traces);
  const moved = traces.filter((trace) => trace.kind === "moved" && trace.token > finished);
  return moved.find((trace) => trace.token === newestToken(moved));
}

/** -1 when there is none. */
export function newestToken(traces: readonly Trace[]): number {
  return traces.reduce((newest, trace) => Math.max(newest, trace.token), -1);
}

function newestFinished(traces: readonly Trace[]): number {
  return newestToken(traces.filter((trace) => trace.kind === "finished"));
}

/** The two names of the old file while a log is taken over under one token, and afterwards. */
export function oldFilePaths(
  log: Place,
  token: number,
): { readonly superseding: string; readonly superseded: string } {
  return {
    superseding: join(log.folder, supersedingKey(log.name, token)),
    superseded: join(log.folder, supersededKey(log.name, token)),
  };
}
