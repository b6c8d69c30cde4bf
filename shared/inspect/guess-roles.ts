/**
 * What each file of a folder is for, and how to read it, told from its name and first bytes. A guess is
 * shown as a guess; the context file overrules it.
 */
import { scanJson } from "../format/json-scan.js";
import type { InspectContext, Role } from "./context.js";

export interface NamedFile {
  readonly path: string;
  readonly bytes: number;
  /** The first 4,096 bytes. */
  readonly head: Uint8Array;
}

export type Reading = "document" | "log" | "none";

export interface FileRole {
  readonly role: Role;
  readonly from: "context" | "guessed";
  readonly reading: Reading;
  /** Why the file is not read; empty when it is. */
  readonly why: string;
}

export function guessRoles(
  files: readonly NamedFile[],
  context: InspectContext,
): ReadonlyMap<string, FileRole> {
  const names = new Set(files.map((file) => file.path));
  const roles = new Map<string, FileRole>();
  for (const file of files) roles.set(file.path, roleOf(file, names, context));
  return roles;
}

function roleOf(file: NamedFile, names: ReadonlySet<string>, context: InspectContext): FileRole {
  const given = context.roles.get(file.path);
  if (given !== undefined)
    return { role: given, from: "context", reading: readingOf(file, given), why: "" };
  const last = context.order.at(-1);
  const role =
    context.order.includes(file.path) && looksLikeLogName(file.path)
      ? file.path === last
        ? "log"
        : "rotated"
      : guessedRole(file, names);
  if (role === undefined) return { role: "other", from: "guessed", reading: "none", why: notState };
  return { role, from: "guessed", reading: readingOf(file, role), why: "" };
}

const notState = "not run state by its name and first bytes";

const tempName = /(\.tmp([-.]|$)|\.temp$|\.part(ial)?$|\.new$|\.json\.\d{4,}$|\.jsonl\.\d{5,}$)/i;
const lockName = /(\.lock$|\.lock\.(json|info)$|\.lease(\.\d+)*\.json$|\.pid$|(^|\/)lock$)/i;
const evidenceName = /[.-](corrupted|corrupt|broken|damaged|bad|torn|quarantined?)([.-]|$)/i;
const conflictName = /(\.sync-conflict-|conflicted copy|-conflict-\d|\.conflict\b|\(conflict)/i;
const snapshotName =
  /((^|\/)v\d+(\.pending\.[0-9a-f]+)?\.json$|\.(bak|backup|old|orig|prev|previous|save)(\.\d+)?$|~$|\.json\.\d{1,3}$|[.-](backup|bak)[.-][^/]*$|\.(bak|backup)\.json$)/i;
/** A copy of a text file is no copy of run state. */
const documentInName = /\.(json|jsonc|jsonl|ndjson|tfstate|state|checkpoint|ckpt)([.~_-]|$)/i;
const snapshotFolder = /(^|\/)(backups?|versions?|history|snapshots?|\.history|archive)\//i;
const rotatedName =
  /(\.(jsonl|ndjson|log)\.\d{1,4}$|\.supersed(ed|ing)\.jsonl$|[.-]\d{4}-?\d{2}-?\d{2}\.(jsonl|ndjson|log)$)/i;
const logName = /\.(jsonl|ndjson|jsonlines|log)$/i;
const documentName = /\.(json|tfstate|jsonc|json5|state|checkpoint|ckpt)$/i;
const derivedName =
  /(^|[/._-])(cache|usercache|index|sessions-index|report|summary|baseline|catalog|feed|derived)([._-]|$)/i;
const nfsName = /(^|\/)\.nfs[0-9a-f]{8,}/i;
const otherNames =
  /\.(md|txt|ts|tsx|js|mjs|cjs|py|rb|go|rs|java|c|h|cpp|css|html?|xml|ya?ml|toml|ini|cfg|sh|svg|png|jpe?g|gif|webp|ico|pdf|zip|gz|tgz|xz|zst|bz2|tar|so|dylib|dll|exe|wasm|map|d\.ts|lock-wal|db|sqlite3?|db-wal|db-shm|pckl|pkl|csv|tsv|parquet|swp|woff2?|ttf|conf|desktop|service|properties|env|rules|list)$/i;

export function isConflictCopyName(path: string): boolean {
  return conflictName.test(path);
}

export function isNfsPlaceholderName(path: string): boolean {
  return nfsName.test(path);
}

/** A name that a log goes by, rotated parts included. */
export function looksLikeLogName(path: string): boolean {
  return logName.test(path) || rotatedName.test(path);
}

function guessedRole(file: NamedFile, names: ReadonlySet<string>): Role | undefined {
  const { path } = file;
  if (nfsName.test(path)) return "other";
  if (conflictName.test(path)) return "other";
  if (evidenceName.test(path)) return "evidence";
  if (lockName.test(path)) return "lock";
  if (rotatedName.test(path)) return "rotated";
  if (tempName.test(path)) return "temp";
  const isCopy = snapshotName.test(path) && (documentInName.test(path) || beginsLikeJson(file));
  if (isCopy || timeStampedCopy(path, names)) return "snapshot";
  if (otherNames.test(path)) return undefined;
  if (snapshotFolder.test(path) && (documentName.test(path) || beginsLikeJson(file)))
    return "snapshot";
  if (/\.log$/i.test(path)) return hasJsonLine(file) ? "log" : undefined;
  if (logName.test(path)) return "log";
  if (documentName.test(path) || beginsLikeJson(file)) {
    if (isJsonLines(file)) return "log";
    return derivedName.test(path) ? "derived" : "run";
  }
  return undefined;
}

/** `settings.1772120431503.json` beside or below a `settings.json`. */
function timeStampedCopy(path: string, names: ReadonlySet<string>): boolean {
  const match = /^(.*?)([^/]+)[.-](\d{8,}|\d{4}-\d{2}-\d{2}[^/]*)(\.[a-z]+)$/i.exec(path);
  if (match === null) return false;
  const [, folder = "", stem = "", , extension = ""] = match;
  const above = folder.replace(/[^/]+\/$/, "");
  return names.has(`${folder}${stem}${extension}`) || names.has(`${above}${stem}${extension}`);
}

function readingOf(file: NamedFile, role: Role): Reading {
  if (role === "log" || role === "rotated") return "log";
  if (/\.(jsonl|ndjson)([.-]|$)/i.test(file.path)) return "log";
  return "document";
}

function firstByteAfterSpace(bytes: Uint8Array): number {
  let at = bytes[0] === 0xef ? 3 : 0;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09)
    at += 1;
  return at;
}

/** A bracket alone is no JSON: INI files and scripts begin with one as well. */
function beginsLikeJson(file: NamedFile): boolean {
  const text = String.fromCharCode(
    ...file.head.subarray(firstByteAfterSpace(file.head)).subarray(0, 256),
  );
  return (
    /^(\{\s*("|\}|$)|\[\s*(["{[\]\d-]|true|false|null|$))/.test(text) &&
    !/^\[[\w .:-]+\]\s*\n/.test(text)
  );
}

/** A text log names itself by its first bytes; a damaged JSON log still has a line that begins as one. */
function hasJsonLine(file: NamedFile): boolean {
  if (file.bytes === 0) return true;
  const { head } = file;
  const allNul = head.every((byte) => byte === 0);
  if (allNul || head[firstByteAfterSpace(head)] === 0x7b) return true;
  for (let at = 0; at + 1 < head.length; at++)
    if ((head[at] === 0x0a || head[at] === 0) && head[at + 1] === 0x7b) return true;
  return false;
}

/** Three whole objects, a line each, under a document's name: JSON Lines. Two may be a glued save. */
function isJsonLines(file: NamedFile): boolean {
  let at = 0;
  for (let lines = 0; lines < 3; lines++) {
    const end = file.head.indexOf(0x0a, at);
    if (end < 0) return false;
    const scan = scanJson(file.head.subarray(at, end));
    if (scan.outcome.kind !== "whole" || scan.root !== "object") return false;
    at = end + 1;
  }
  return true;
}
