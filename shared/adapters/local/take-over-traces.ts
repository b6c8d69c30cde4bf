import { join } from "node:path";
import { takeOverName } from "../../storage/keys.js";
import { supersededKey, supersedingKey, takeOverTrace } from "../../storage/log-names.js";
import type { OpenLogOptions } from "../../storage/object-store.js";
import type { Disk } from "./disk.js";
import { errnoOf } from "./open-flags.js";
import { identityAt, type Place } from "./stage-file.js";

/**
 * What take-overs of one log have left in its folder, by their tokens.
 *
 * The traces are what later holders go by, so nothing of a take-over is ever known from memory alone:
 * a fresh copy says "begun"; a superseding file that is not the one under the name says "the name was moved, late
 * records may still have to be carried over"; a superseded file says "finished".
 */
export type Trace =
  | { readonly kind: "begun"; readonly token: number }
  | { readonly kind: "not-moved"; readonly token: number }
  | { readonly kind: "moved"; readonly token: number }
  | { readonly kind: "finished"; readonly token: number };

export type Opening =
  | { readonly kind: "in-place" }
  | { readonly kind: "take-over"; readonly token: number }
  /** The name was already moved under this token; what is left is carrying over. */
  | { readonly kind: "finish"; readonly token: number }
  /** Somebody with a later token was here. */
  | { readonly kind: "lost" };

export async function readTraces(disk: Disk, log: Place): Promise<readonly Trace[]> {
  const traces: Trace[] = [];
  for (const { name } of await disk.fs.readdir(log.folder)) {
    const found = takeOverTrace(log.name, name);
    if (found === undefined) continue;
    if (found.kind === "fresh") traces.push({ kind: "begun", token: found.token });
    else if (found.kind === "superseded") traces.push({ kind: "finished", token: found.token });
    else {
      const old = await identityAt(disk, join(log.folder, name));
      const moved = old !== (await identityAt(disk, log.path));
      traces.push({ kind: moved ? "moved" : "not-moved", token: found.token });
    }
  }
  return traces;
}

export function decideOpening(
  takeOver: OpenLogOptions["takeOver"],
  traces: readonly Trace[],
  logIsThere: boolean,
): Opening {
  if (!logIsThere && traces.length === 0) return { kind: "in-place" }; // nobody can be writing to it
  const finished = newestToken(traces.filter((trace) => trace.kind === "finished"));
  if (takeOver === "in-place") {
    const unfinished = newestToken(traces.filter((trace) => trace.token > finished));
    // The last holder is gone, but it began to take the log over from one that may still be writing to the old
    // file. So the take-over is gone on with, under the token of whoever began it.
    return unfinished < 0 ? { kind: "in-place" } : goOn(unfinished, traces);
  }
  const { token } = takeOver;
  if (newestToken(traces) > token) return { kind: "lost" };
  // The same holder opens once more what it has taken over before.
  return finished === token ? { kind: "in-place" } : goOn(token, traces);
}

function goOn(token: number, traces: readonly Trace[]): Opening {
  const moved = traces.some((trace) => trace.kind === "moved" && trace.token === token);
  return { kind: moved ? "finish" : "take-over", token };
}

/** The newest take-over that moved the name and was not finished, below `token`: its late records are still due. */
export function movedBefore(token: number, traces: readonly Trace[]): number | undefined {
  const finished = newestToken(traces.filter((trace) => trace.kind === "finished"));
  const due = traces.filter(
    (trace) => trace.kind === "moved" && trace.token < token && trace.token > finished,
  );
  return due.length === 0 ? undefined : newestToken(due);
}

/**
 * Takes the fresh copies of earlier tokens away. Their makers may only be asleep: without its fresh copy none of
 * them can move the log's name any more, whenever it wakes.
 */
export async function fenceEarlier(
  disk: Disk,
  paths: LogPaths,
  traces: readonly Trace[],
): Promise<void> {
  for (const trace of traces) {
    if (trace.kind === "begun" && trace.token < paths.token) {
      await removeIfThere(disk, logPaths(paths.log, trace.token).fresh);
    }
  }
}

/** Gives the old files of all earlier take-overs their last name, and removes what led nowhere. */
export async function settleEarlier(
  disk: Disk,
  paths: LogPaths,
  traces: readonly Trace[],
): Promise<void> {
  for (const trace of traces) {
    if (trace.token >= paths.token) continue;
    const earlier = logPaths(paths.log, trace.token);
    if (trace.kind === "not-moved") await removeIfThere(disk, earlier.superseding);
    if (trace.kind === "moved") {
      await disk.fs.rename(earlier.superseding, earlier.superseded).catch(unlessAbsent);
    }
  }
}

/** The names around a log while it is taken over under one token. */
export interface LogPaths {
  readonly log: Place;
  readonly token: number;
  readonly fresh: string;
  readonly superseding: string;
  readonly superseded: string;
}

export function logPaths(log: Place, token: number): LogPaths {
  const beside = (name: string) => join(log.folder, name);
  return {
    log,
    token,
    fresh: beside(takeOverName(log.name, token)),
    superseding: beside(supersedingKey(log.name, token)),
    superseded: beside(supersededKey(log.name, token)),
  };
}

async function removeIfThere(disk: Disk, path: string): Promise<void> {
  await disk.fs.unlink(path).catch(unlessAbsent);
}

function unlessAbsent(error: unknown): void {
  if (errnoOf(error) !== "ENOENT") throw error;
}

/** -1 when there is none. */
export function newestToken(traces: readonly Trace[]): number {
  return traces.reduce((newest, trace) => Math.max(newest, trace.token), -1);
}
