/** Which files a root holds. Links are not followed, so that no loop and no way out of the root exists. */
import { limits } from "../../shared/base/limits.js";
import { readKey } from "../../shared/format/keys.js";
import { type CoverageRecord, sayFilesLimit } from "./coverage.js";
import { joinBytes, type ShownPath, shownPath } from "./file-name.js";
import { type EntryFacts, errnoOf, type FileReading } from "./file-reading.js";

export interface WalkedFile extends ShownPath {
  readonly root: number;
  readonly location: Buffer;
  readonly facts: EntryFacts;
}

/** A file or folder that the system did not let us look at. */
export interface RefusedEntry extends ShownPath {
  readonly root: number;
  readonly errno: string;
  readonly isFolder: boolean;
}

export interface Walk {
  readonly files: readonly WalkedFile[];
  readonly refused: readonly RefusedEntry[];
}

export interface WalkOptions {
  readonly root: number;
  readonly folder: string;
  /** Paths that the context names: they are taken even where they would be skipped. */
  readonly named: ReadonlySet<string>;
  /** Whether a path is of interest; a folder's ends in `/`. Used when one file is the root. */
  readonly wants?: (path: string) => boolean;
  /** Files that may still be taken. */
  readonly filesMax: number;
}

interface OpenFolder {
  readonly location: Buffer;
  readonly relative: Buffer;
  readonly depth: number;
}

export async function walkFolder(
  reading: FileReading,
  coverage: CoverageRecord,
  options: WalkOptions,
): Promise<Walk> {
  const files: WalkedFile[] = [];
  const refused: RefusedEntry[] = [];
  const open: OpenFolder[] = [
    { location: Buffer.from(options.folder), relative: Buffer.alloc(0), depth: 0 },
  ];
  for (let folder = open.shift(); folder !== undefined; folder = open.shift()) {
    const names = await listed(reading, folder, options, refused);
    for (const name of names) {
      if (files.length >= options.filesMax) {
        coverage.unknown(sayFilesLimit());
        return { files, refused };
      }
      const entry = await lookAt(reading, folder, name, options, refused);
      if (entry === undefined) continue;
      const skip = skipReason(entry, folder, options);
      if (skip !== undefined) {
        if (skip !== "unwanted") coverage.skip(entry.path, skip);
      } else if (entry.facts.kind === "folder") {
        const relative = joinBytes(folder.relative, name);
        open.push({ location: entry.location, relative, depth: folder.depth + 1 });
      } else files.push(entry);
    }
  }
  return { files, refused };
}

async function listed(
  reading: FileReading,
  folder: OpenFolder,
  options: WalkOptions,
  refused: RefusedEntry[],
): Promise<readonly Buffer[]> {
  try {
    const names = await reading.names(folder.location, limits.scanFilesMax);
    return names.toSorted(Buffer.compare);
  } catch (error) {
    const shown = folder.relative.length === 0 ? { path: "." } : shownPath(folder.relative);
    refused.push({ root: options.root, ...shown, errno: refusal(error), isFolder: true });
    return [];
  }
}

async function lookAt(
  reading: FileReading,
  folder: OpenFolder,
  name: Buffer,
  options: WalkOptions,
  refused: RefusedEntry[],
): Promise<WalkedFile | undefined> {
  const location = joinBytes(folder.location, name);
  const shown = shownPath(joinBytes(folder.relative, name));
  try {
    return { root: options.root, ...shown, location, facts: await reading.look(location) };
  } catch (error) {
    // Gone between the listing and the look: nothing is lost that was there to be seen.
    const errno = refusal(error);
    if (errno !== "ENOENT") refused.push({ root: options.root, ...shown, errno, isFolder: false });
    return undefined;
  }
}

function refusal(error: unknown): string {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return errno;
}

const skippedFolders: ReadonlySet<string> = new Set(["node_modules", ".git", ".hg", ".svn"]);

function skipReason(
  entry: WalkedFile,
  folder: OpenFolder,
  options: WalkOptions,
): string | undefined {
  const { path, facts } = entry;
  if (options.named.has(path) && facts.kind === "file") return undefined;
  if (facts.kind === "folder") {
    if (skippedFolders.has(lastName(path))) return `${lastName(path)} is never run state`;
    if (options.wants?.(`${path}/`) === false) return "unwanted";
    if (folder.depth + 1 > limits.scanDepthMax)
      return `more than ${limits.scanDepthMax} folders deep`;
    return isOwnRecords(path) ? "bytes that Lastgood set aside" : undefined;
  }
  if (options.wants?.(path) === false) return "unwanted";
  if (facts.kind !== "file") return facts.kind;
  if (isOwnRecords(path)) return "Lastgood's own records";
  if (readKey(path).kind === "staged") return "staged file of a write under way";
  return undefined;
}

/** Of our own folder only the audit log is looked at: what was set aside is damaged on purpose. */
function isOwnRecords(path: string): boolean {
  const inside = /(?:^|\/)\.lastgood\/(.+)$/s.exec(path)?.[1];
  return inside !== undefined && inside !== "audit.jsonl";
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
