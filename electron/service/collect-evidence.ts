/**
 * From folders to evidence: everything one inspection rests on, read once and never judged here.
 *
 * A file that somebody may be writing at this moment is looked at again before anything is said about it: what
 * half a save looks like and what a torn document looks like differ only in time.
 */
import { limits } from "../../shared/base/limits.js";
import type { InspectContext } from "../../shared/inspect/context.js";
import { diagnoseDocument } from "../../shared/inspect/diagnose-document.js";
import { createLogDiagnosis } from "../../shared/inspect/diagnose-log.js";
import type { Evidence, ObservedContent, ObservedFile } from "../../shared/inspect/evidence.js";
import { documentCapture } from "../../shared/inspect/evidence-index.js";
import { type FileRole, guessRoles } from "../../shared/inspect/guess-roles.js";
import { logQueries } from "../../shared/inspect/log-views.js";
import { CoverageRecord } from "./coverage.js";
import { type FileReading, sayErrno } from "./file-reading.js";
import { type Look, lookAtDocument, lookAtHead, lookAtLog } from "./look-at-file.js";
import { type RefusedEntry, type WalkedFile, walkFolder } from "./walk-folder.js";

/** The world, as far as the collection needs it. */
export interface CollectMeans {
  readonly reading: FileReading;
  nowMs(): number;
  pause(waitMs: number): Promise<void>;
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
  const read = await new Looks(means, context, coverage).readAll(wanted);
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

interface WantedFile {
  readonly file: WalkedFile;
  readonly role: FileRole;
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

/** Runs at most `limits.filesReadAtOnce` at a time; results in the order given. */
async function inTurns<From, To>(
  all: readonly From[],
  work: (one: From) => Promise<To>,
): Promise<readonly To[]> {
  const results: To[] = new Array(all.length);
  let next = 0;
  async function worker(): Promise<void> {
    for (let at = next++; at < all.length; at = next++) results[at] = await work(all[at] as From);
  }
  const workers = Math.min(limits.filesReadAtOnce, all.length);
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

/** What one look at a wanted file gave. */
interface Seen {
  readonly look: Look;
  /** The content if this look stands; undefined when nothing was read. */
  readonly content: ObservedContent | undefined;
  /** Nothing in it looks as if a writer were in the middle of it. */
  readonly whole: boolean;
}

interface Pending {
  readonly wanted: WantedFile;
  readonly seen: readonly Seen[];
}

class Looks {
  private readonly means: CollectMeans;
  private readonly context: InspectContext;
  private readonly coverage: CoverageRecord;
  private heldBytes = 0;

  constructor(means: CollectMeans, context: InspectContext, coverage: CoverageRecord) {
    this.means = means;
    this.context = context;
    this.coverage = coverage;
  }

  /** Looks in rounds, so that a thousand files that were just written cost one pause and not a thousand. */
  async readAll(wanted: readonly WantedFile[]): Promise<readonly ObservedFile[]> {
    const files: ObservedFile[] = [];
    let pending: readonly Pending[] = wanted.map((one) => ({ wanted: one, seen: [] }));
    for (let round = 1; round <= limits.looksMax && pending.length > 0; round++) {
      if (round > 1) await this.means.pause(limits.secondLookMs);
      const isLast = round === limits.looksMax;
      const next: Pending[] = [];
      for (const one of await this.lookAtAll(pending, isLast)) {
        if (!isLast && needsAnotherLook(one.seen, this.means.nowMs())) {
          this.release(one.seen.at(-1));
          next.push(one);
        } else this.settle(one.wanted, one.seen, files);
      }
      pending = next;
    }
    return files;
  }

  private async lookAtAll(
    pending: readonly Pending[],
    isLast: boolean,
  ): Promise<readonly Pending[]> {
    const look = async ({ wanted, seen }: Pending): Promise<Pending> => ({
      wanted,
      seen: [...seen, await this.lookOnce(wanted, isLast)],
    });
    const isSmall = ({ wanted }: Pending): boolean =>
      wanted.file.facts.sizeBytes <= limits.readTogetherBytesMax;
    const looked = [...(await inTurns(pending.filter(isSmall), look))];
    for (const one of pending) if (!isSmall(one)) looked.push(await look(one));
    return looked;
  }

  private async lookOnce(wanted: WantedFile, isLast: boolean): Promise<Seen> {
    return wanted.role.reading === "log"
      ? this.lookOnceAtLog(wanted, isLast)
      : this.lookOnceAtDocument(wanted);
  }

  private async lookOnceAtDocument({ file }: WantedFile): Promise<Seen> {
    const { look, bytes } = await lookAtDocument(this.means.reading, file.location);
    if (look.kind === "too-large")
      return { look, content: { kind: "too-large", bytes: look.bytes }, whole: true };
    if (look.kind !== "read") return { look, content: undefined, whole: false };
    const diagnosis = diagnoseDocument(bytes, { capture: documentCapture(this.context) });
    const whole = diagnosis.damage.every((damage) => damage.severity === "notice");
    const fits = this.heldBytes + bytes.length <= limits.evidenceBytesHeldMax;
    if (fits) this.heldBytes += bytes.length;
    const held = fits ? bytes : "not-held";
    const { sha256 } = look;
    return {
      look,
      content: { kind: "document", bytes: bytes.length, sha256, diagnosis, held },
      whole,
    };
  }

  /** At the last look a growing log is judged up to its last whole line: its writer is in the middle of the next. */
  private async lookOnceAtLog({ file, role }: WantedFile, isLast: boolean): Promise<Seen> {
    // Our own audit log has our own fields, whatever the context says about the logs of the run.
    const fields = isOwnAudit(file.path) ? undefined : this.context.fields;
    const queries = logQueries(this.context, file.path);
    const log = createLogDiagnosis({ path: file.path, role: role.role, fields, queries });
    const extent = isLast ? "whole-lines" : "all-bytes";
    const look = await lookAtLog(this.means.reading, file.location, log, extent);
    if (look.kind !== "read") return { look, content: undefined, whole: false };
    const content: ObservedContent = {
      kind: "log",
      bytes: look.bytes,
      sha256: look.sha256,
      log: log.finish(),
    };
    const left = look.facts.sizeBytes - look.bytes;
    if (isLast && left > 0)
      this.coverage.unknown(
        `${file.path} is being written: its last ${left} bytes, a line without end, were not judged.`,
      );
    return { look, content, whole: look.lastByte === undefined || look.lastByte === 0x0a };
  }

  /** The bytes of a look that will be repeated need not be held. */
  private release(seen: Seen | undefined): void {
    if (seen?.content?.kind === "document" && seen.content.held !== "not-held")
      this.heldBytes -= seen.content.held.length;
  }

  private settle({ file, role }: WantedFile, seen: readonly Seen[], files: ObservedFile[]): void {
    const last = seen.at(-1);
    if (last === undefined) return;
    if (last.look.kind === "not-a-file") {
      this.coverage.skip(file.path, last.look.found);
    } else if (last.look.kind === "refused" && last.look.errno === "ENOENT" && seen.length > 1) {
      this.coverage.skip(file.path, "gone at the second look");
    } else {
      files.push({
        root: file.root,
        path: file.path,
        ...(file.nameBase64 === undefined ? {} : { nameBase64: file.nameBase64 }),
        role: role.role,
        roleFrom: role.from,
        modifiedMs: last.look.kind === "read" ? last.look.facts.modifiedMs : file.facts.modifiedMs,
        content: settledContent(seen, last),
      });
    }
  }
}

/** Decides whether the looks so far are enough to say what the file is. */
function needsAnotherLook(seen: readonly Seen[], nowMs: number): boolean {
  const last = seen.at(-1);
  const before = seen.at(-2);
  if (last === undefined) return true;
  const { look } = last;
  // Vanished, or moved aside for a moment by a writer that replaces without a rename.
  if (look.kind === "refused") return look.errno === "ENOENT" && before === undefined;
  if (look.kind !== "read") return false;
  if (!look.steady) return true;
  if (last.whole) return false;
  if (before === undefined) {
    // A clock behind the file server's may put the change into the future: that is recent too.
    return nowMs - look.facts.modifiedMs < limits.recentChangeMs;
  }
  return !sameBytes(before, last);
}

function sameBytes(a: Seen, b: Seen): boolean {
  return (
    a.look.kind === "read" &&
    b.look.kind === "read" &&
    a.look.steady &&
    b.look.steady &&
    a.look.sha256 === b.look.sha256 &&
    a.look.bytes === b.look.bytes
  );
}

function settledContent(seen: readonly Seen[], last: Seen): ObservedContent {
  const { look, content } = last;
  if (look.kind === "refused")
    return { kind: "unreadable", errno: look.errno, says: sayErrno(look.errno) };
  const isStill =
    look.kind !== "read" ||
    (look.steady && (last.whole || seen.length === 1)) ||
    seen.slice(0, -1).some((earlier) => sameBytes(earlier, last));
  if (isStill && content !== undefined) return content;
  const first = seen[0]?.look;
  const bytes = look.kind === "read" ? look.bytes : 0;
  return {
    kind: "changing",
    bytes,
    firstBytes: first?.kind === "read" ? first.bytes : bytes,
  };
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

function isOwnAudit(path: string): boolean {
  return path === ".lastgood/audit.jsonl" || path.endsWith("/.lastgood/audit.jsonl");
}
