/** Which copies, temporary files and conflict copies belong to which document, told from their names. */
import type { ObservedDocument } from "./evidence-index.js";
import { isConflictCopyName } from "./guess-roles.js";

export interface Family {
  readonly root: number;
  /** Path of the document, which may itself be missing. */
  readonly path: string;
  readonly head: ObservedDocument | undefined;
  readonly kept: readonly ObservedDocument[];
  readonly temps: readonly ObservedDocument[];
  readonly conflictCopies: readonly ObservedDocument[];
}

export function families(documents: readonly ObservedDocument[]): readonly Family[] {
  const heads = new Heads(documents.filter(isHead));
  const found = new Map<string, Mutable>();
  for (const head of heads.all) familyAt(found, head.root, head.path).head = head;
  for (const document of documents) {
    if (document.role === "snapshot") place(found, heads, document, "kept");
    else if (document.role === "temp") place(found, heads, document, "temps");
    else if (isConflictCopyName(document.path)) place(found, heads, document, "conflictCopies");
  }
  return [...found.values()];
}

/** Heads by path and by folder, so that each copy is held against the few that can be its own. */
class Heads {
  readonly all: readonly ObservedDocument[];
  private readonly byPath = new Map<string, ObservedDocument>();
  private readonly byFolder = new Map<string, ObservedDocument[]>();
  private readonly byParent = new Map<string, ObservedDocument[]>();

  constructor(all: readonly ObservedDocument[]) {
    this.all = all;
    for (const head of all) {
      const folder = folderOf(head.path);
      this.byPath.set(`${head.root}:${head.path}`, head);
      put(this.byFolder, `${head.root}:${folder}`, head);
      if (folder !== "") put(this.byParent, `${head.root}:${parentOf(folder)}`, head);
    }
  }

  at(root: number, path: string): ObservedDocument | undefined {
    return this.byPath.get(`${root}:${path}`);
  }

  /** Heads in the copy's folder, in one above it, or in one beside it. */
  around(root: number, copyFolder: string): readonly ObservedDocument[] {
    const near: ObservedDocument[] = [];
    for (let folder = copyFolder; ; folder = parentOf(folder)) {
      near.push(...(this.byFolder.get(`${root}:${folder}`) ?? []));
      if (folder === "") break;
    }
    const beside = this.byParent.get(`${root}:${parentOf(copyFolder)}`) ?? [];
    return [...near, ...beside.filter((head) => folderOf(head.path) !== copyFolder)];
  }
}

function put(groups: Map<string, ObservedDocument[]>, name: string, head: ObservedDocument): void {
  const group = groups.get(name);
  if (group === undefined) groups.set(name, [head]);
  else group.push(head);
}

function parentOf(folder: string): string {
  return folder.replace(/[^/]+\/$/, "");
}

interface Mutable {
  root: number;
  path: string;
  head: ObservedDocument | undefined;
  kept: ObservedDocument[];
  temps: ObservedDocument[];
  conflictCopies: ObservedDocument[];
}

function familyAt(found: Map<string, Mutable>, root: number, path: string): Mutable {
  const name = `${root}:${path}`;
  const there = found.get(name);
  if (there !== undefined) return there;
  const made: Mutable = { root, path, head: undefined, kept: [], temps: [], conflictCopies: [] };
  found.set(name, made);
  return made;
}

function isHead(document: ObservedDocument): boolean {
  const isCopy = isConflictCopyName(document.path);
  return (
    (document.role === "run" || document.role === "derived" || document.role === "replica") &&
    !isCopy
  );
}

function place(
  found: Map<string, Mutable>,
  heads: Heads,
  document: ObservedDocument,
  group: "kept" | "temps" | "conflictCopies",
): void {
  const owner = ownerOf(document, heads);
  const path = owner?.path ?? (group === "conflictCopies" ? undefined : impliedHead(document.path));
  if (path !== undefined) familyAt(found, document.root, path)[group].push(document);
}

function ownerOf(copy: ObservedDocument, heads: Heads): ObservedDocument | undefined {
  const implied = impliedHead(copy.path);
  const named = implied === undefined ? undefined : heads.at(copy.root, implied);
  if (named !== undefined) return named;
  const near = heads.around(copy.root, folderOf(copy.path));
  let best: ObservedDocument | undefined;
  let bestScore = 0;
  for (const head of near) {
    const score = kinship(head.path, copy.path);
    if (score > bestScore) {
      best = head;
      bestScore = score;
    }
  }
  if (best !== undefined) return best;
  // A copy whose name says nothing belongs to the one document that lives where it does.
  return near.length === 1 && implied === undefined ? near[0] : undefined;
}

/** How surely a name belongs to a document; 0: not at all. Longer stems win over shorter ones. */
function kinship(head: string, copy: string): number {
  const folder = folderOf(head);
  const stem = stemOf(baseOf(head));
  const copyFolder = folderOf(copy);
  const copyBase = baseOf(copy);
  if (copyFolder === `${folder}${stem}/` && /^v\d+(\.|$)/.test(copyBase)) return 1_000;
  if (copyFolder === folder && /^v\d+\.json$/.test(copyBase) && folder.endsWith(`${stem}/`))
    return 900;
  if (!isAround(folder, copyFolder)) return 0;
  const plain = copyBase.replace(/^[.~]+/, "");
  const nearness = copyFolder === folder ? 100 : 0;
  if (plain.startsWith(`${baseOf(head)}.`) || plain.startsWith(`${baseOf(head)}~`))
    return 500 + nearness + stem.length;
  if (hasToken(plain, baseOf(head)) || hasToken(plain, stem)) return 200 + nearness + stem.length;
  return 0;
}

function hasToken(name: string, token: string): boolean {
  const at = name.indexOf(token);
  if (at < 0 || token.length === 0) return false;
  const before = name[at - 1];
  const after = name[at + token.length];
  const isEdge = (letter: string | undefined): boolean =>
    letter === undefined || !/[\p{L}\p{N}]/u.test(letter);
  return isEdge(before) && isEdge(after);
}

/** The copy stands in the document's folder, one below it, or in one beside it. */
function isAround(folder: string, copyFolder: string): boolean {
  if (copyFolder.startsWith(folder)) return true;
  return parentOf(copyFolder) === parentOf(folder) && folder !== "";
}

/** `run_9d4a/v61.json` → `run_9d4a.json`; `state.json.bak` → `state.json`; undefined when the name says nothing. */
export function impliedHead(path: string): string | undefined {
  const kept = /^(.+)\/v\d+(\.pending\.[0-9a-f]+)?\.json$/.exec(path);
  if (kept?.[1] !== undefined) return `${kept[1]}.json`;
  const suffixed =
    /^(.*\.(?:json|tfstate|state|conf))(?:\.\d+)?(?:\.(?:bak|backup|old|prev|previous|orig|save|tmp|new|part)(?:[.-][\w-]+)*)$/i.exec(
      path,
    );
  return suffixed?.[1];
}

export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function stemOf(base: string): string {
  const dot = base.indexOf(".", 1);
  return dot < 0 ? base : base.slice(0, dot);
}

/** `vN` of a kept version's name. */
export function versionInName(path: string): number | undefined {
  const match = /(?:^|\/)v(\d{1,15})\.json$/.exec(path);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Time or number in a backup's name, for copies that carry no version. */
export function numberInName(path: string): number {
  const numbers = baseOf(path).match(/\d+/g) ?? [];
  return numbers.reduce((most, text) => Math.max(most, Number(text)), 0);
}
