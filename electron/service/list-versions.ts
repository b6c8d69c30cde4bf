/** The document at a path with every copy of it that stands beside it. */
import { LastgoodError } from "../../shared/base/errors.js";
import { visibleText } from "../../shared/base/text.js";
import { emptyContext } from "../../shared/inspect/context.js";
import { EvidenceIndex, type ObservedDocument } from "../../shared/inspect/evidence-index.js";
import { families } from "../../shared/inspect/families.js";
import type { Health } from "../../shared/inspect/finding.js";
import { inspectRun } from "../../shared/inspect/inspect-run.js";
import { type CollectMeans, collectEvidence } from "./collect-evidence.js";
import { toRoot } from "./scan-roots.js";

export interface FileVersion {
  /** Relative to `folder`, with `/`. */
  readonly file: string;
  readonly place: "head" | "kept" | "temporary" | "conflict copy";
  readonly version: number | undefined;
  readonly health: Health;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly sha256: string;
  /** The newest copy that may be restored, when the head is damaged. */
  readonly recommended: boolean;
}

export interface FileVersions {
  readonly folder: string;
  readonly file: string;
  /** Head first, then newest version first. */
  readonly versions: readonly FileVersion[];
}

/** Errors: those of a path that cannot be looked at; `input-rejected` when it is a folder. */
export async function listVersions(means: CollectMeans, path: string): Promise<FileVersions> {
  const root = await toRoot(path);
  const file = root.only;
  if (file === undefined)
    throw new LastgoodError(
      "input-rejected",
      `${visibleText(path)} is a folder; name one document in it.`,
    );
  const { evidence } = await collectEvidence(means, {
    roots: [root],
    context: emptyContext,
    leftOut: new Map(),
  });
  const index = new EvidenceIndex(evidence);
  const { files, findings } = inspectRun(evidence);
  const healths = new Map(files.map((verdict) => [verdict.path, verdict.health]));
  const target = findings.find((one) => one.file === file && one.recoverable != null)?.recoverable;
  const family = families(index.documents).find((one) => one.path === file);
  const row = (place: FileVersion["place"]) => (document: ObservedDocument) => ({
    file: document.path,
    place,
    version: index.version(document),
    health: healths.get(document.path) ?? "ok",
    bytes: document.content.bytes,
    modifiedMs: document.modifiedMs,
    sha256: document.content.sha256,
    recommended: document.path === target,
  });
  const head = index.documents.filter((document) => document.path === file).map(row("head"));
  const copies = [
    ...(family?.kept ?? []).map(row("kept")),
    ...(family?.temps ?? []).map(row("temporary")),
    ...(family?.conflictCopies ?? []).map(row("conflict copy")),
  ].sort((a, b) => (b.version ?? -1) - (a.version ?? -1) || b.modifiedMs - a.modifiedMs);
  return { folder: root.folder, file, versions: [...head, ...copies] };
}
