/**
 * From folders to evidence: everything one inspection rests on, read once and never judged here.
 */
import { limits } from "../../shared/base/limits.js";
import type { InspectContext } from "../../shared/inspect/context.js";
import type { Evidence, ObservedFile } from "../../shared/inspect/evidence.js";
import { guessRoles } from "../../shared/inspect/guess-roles.js";
import { CoverageRecord } from "./coverage.js";
import { sayErrno } from "./file-reading.js";
import { inTurns } from "./in-turns.js";
import { lookAtHead } from "./look-at-file.js";
import { type LookMeans, RepeatedLooks, type WantedFile } from "./repeated-looks.js";
import { type RefusedEntry, type WalkedFile, walkFolder } from "./walk-folder.js";

/** The world, as far as the collection needs it. */
export interface CollectMeans extends LookMeans {
  readonly hostName: string;
}

export interface ScanRoot {
  readonly folder: string;
  /** What the report calls the root. */
  readonly name: string;
  /** Paths of interest, where the root is one file; undefined: all. */
  readonly wants?: (path: string) => boolean;
}

export interface Collected {
  readonly evidence: Evidence;
  readonly coverage: CoverageRecord;
}

export interface CollectRequest {
  readonly roots: readonly ScanRoot[];
  readonly context: InspectContext;
  /** Files that are ours to read otherwise, such as the context file: path → reason. */
  readonly leftOut: ReadonlyMap<string, string>;
}

/**
 * Reads what the roots hold.
 *
 * Errors: none for what stands on the disk; a refusal of the system is part of the evidence.
 */
export async function collectEvidence(
  means: CollectMeans,
  request: CollectRequest,
): Promise<Collected> {
  const { context } = request;
  const coverage = new CoverageRecord();
  const walked: WalkedFile[] = [];
  const refused: RefusedEntry[] = [];
  for (const [root, { folder, wants }] of request.roots.entries()) {
    const found = await walkFolder(means.reading, coverage, {
      root,
      folder,
      named: new Set([...context.roles.keys(), ...context.order]),
      filesMax: limits.scanFilesMax - walked.length,
      ...(wants === undefined ? {} : { wants }),
    });
    walked.push(...found.files.filter((file) => !isLeftOut(file, request, coverage)));
    refused.push(...found.refused);
  }
  const wanted = await chooseFiles(means, walked, context, coverage);
  const read = await new RepeatedLooks(means, context, coverage).readAll(wanted);
  const files = [...read, ...refused.map(refusedFile)].sort(byPlace);
  for (const file of files) coverage.lookedAt(bytesOf(file));
  const { hostName } = means;
  const given = context.now === undefined ? Number.NaN : Date.parse(context.now);
  const nowMs = Number.isNaN(given) ? means.nowMs() : given;
  const roots = request.roots.map(({ name }) => name);
  return { evidence: { roots, files, context, nowMs, hostName }, coverage };
}

function isLeftOut(file: WalkedFile, request: CollectRequest, coverage: CoverageRecord): boolean {
  const reason = request.leftOut.get(file.path);
  if (reason === undefined || request.context.roles.has(file.path)) return false;
  coverage.skip(file.path, reason);
  return true;
}

/** Each root is guessed by itself: a name in one says nothing about its namesake in another. */
async function chooseFiles(
  means: CollectMeans,
  walked: readonly WalkedFile[],
  context: InspectContext,
  coverage: CoverageRecord,
): Promise<readonly WantedFile[]> {
  const heads = await inTurns(walked, async (file) => ({
    path: file.path,
    bytes: file.facts.sizeBytes,
    head: await lookAtHead(means.reading, file.location),
  }));
  const chosen: WantedFile[] = [];
  const roots = new Set(walked.map((file) => file.root));
  for (const root of roots) {
    const named = heads.filter((_, i) => walked[i]?.root === root);
    const roles = guessRoles(named, context);
    for (const file of walked) {
      if (file.root !== root) continue;
      const role = roles.get(file.path);
      if (role === undefined || role.reading === "none")
        coverage.skip(file.path, role?.why || "not run state");
      else chosen.push({ file, role });
    }
  }
  return chosen;
}

function refusedFile(entry: RefusedEntry): ObservedFile {
  const says = entry.isFolder
    ? `it is a folder, and ${sayErrno(entry.errno)}`
    : sayErrno(entry.errno);
  return {
    root: entry.root,
    path: entry.path,
    ...(entry.nameBase64 === undefined ? {} : { nameBase64: entry.nameBase64 }),
    role: "other",
    roleFrom: "guessed",
    modifiedMs: 0,
    content: { kind: "unreadable", errno: entry.errno, says },
  };
}

function bytesOf(file: ObservedFile): number {
  return file.content.kind === "document" || file.content.kind === "log" ? file.content.bytes : 0;
}

function byPlace(a: ObservedFile, b: ObservedFile): number {
  return a.root - b.root || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
}
