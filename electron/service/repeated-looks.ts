/**
 * Looking again at what may be being written: half a save and a torn document differ only in time. Decides when
 * the looks at a file are enough, and which of them stands.
 */
import { limits } from "../../shared/base/limits.js";
import type { InspectContext } from "../../shared/inspect/context.js";
import { diagnoseDocument } from "../../shared/inspect/diagnose-document.js";
import { createLogDiagnosis } from "../../shared/inspect/diagnose-log.js";
import type { ObservedContent, ObservedFile } from "../../shared/inspect/evidence.js";
import { documentCapture } from "../../shared/inspect/evidence-index.js";
import type { FileRole } from "../../shared/inspect/guess-roles.js";
import { logQueries } from "../../shared/inspect/log-views.js";
import type { CoverageRecord } from "./coverage.js";
import { type FileReading, sayErrno } from "./file-reading.js";
import { inTurns } from "./in-turns.js";
import { type Look, lookAtDocument, lookAtLog } from "./look-at-file.js";
import type { WalkedFile } from "./walk-folder.js";

/** The world, as far as looking needs it. */
export interface LookMeans {
  readonly reading: FileReading;
  nowMs(): number;
  pause(waitMs: number): Promise<void>;
}

export interface WantedFile {
  readonly file: WalkedFile;
  readonly role: FileRole;
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

export class RepeatedLooks {
  private readonly means: LookMeans;
  private readonly context: InspectContext;
  private readonly coverage: CoverageRecord;
  private heldBytes = 0;

  constructor(means: LookMeans, context: InspectContext, coverage: CoverageRecord) {
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

function isOwnAudit(path: string): boolean {
  return path === ".lastgood/audit.jsonl" || path.endsWith("/.lastgood/audit.jsonl");
}
