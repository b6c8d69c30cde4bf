/** One inspection's evidence, with what several rules ask of it worked out once. */
import type { JsonPath, PathStep } from "../base/json-path.js";
import { formatPath, indexStep, keyStep } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { type JsonNode, type JsonValue, parseJson } from "../format/json-value.js";
import type { InspectContext } from "./context.js";
import type { LogDiagnosis } from "./diagnose-log.js";
import { versionAmong } from "./document-version.js";
import type { Evidence, ObservedFile } from "./evidence.js";
import { type Family, families, folderOf } from "./families.js";

export interface ObservedDocument extends ObservedFile {
  readonly content: Extract<ObservedFile["content"], { kind: "document" }>;
}

export interface ObservedLog extends ObservedFile {
  readonly content: Extract<ObservedFile["content"], { kind: "log" }>;
}

/** A value in a document, with its place. */
export interface PlacedNode {
  readonly path: JsonPath;
  readonly node: JsonNode;
}

export class EvidenceIndex {
  readonly evidence: Evidence;
  readonly documents: readonly ObservedDocument[];
  readonly logs: readonly ObservedLog[];
  private readonly trees = new Map<ObservedFile, JsonNode | undefined>();
  private readonly byPath = new Map<string, ObservedFile>();
  private readonly byHead = new Map<string, Family>();
  private readonly runsInFolder = new Map<string, number>();
  /** Every document with its copies; worked out once, since each rule asks. */
  readonly families: readonly Family[];

  constructor(evidence: Evidence) {
    this.evidence = evidence;
    this.documents = evidence.files.filter(isDocument);
    this.logs = evidence.files.filter(isLog);
    for (const file of evidence.files) this.byPath.set(`${file.root}:${file.path}`, file);
    this.families = families(this.documents);
    for (const family of this.families) this.byHead.set(`${family.root}:${family.path}`, family);
    for (const document of this.documents) {
      if (document.role !== "run") continue;
      const folder = `${document.root}:${folderOf(document.path)}`;
      this.runsInFolder.set(folder, (this.runsInFolder.get(folder) ?? 0) + 1);
    }
  }

  /** The family whose head stands, or should stand, under this path. */
  familyAt(root: number, path: string): Family | undefined {
    return this.byHead.get(`${root}:${path}`);
  }

  /** How many run documents stand in a folder itself. */
  runCountIn(root: number, folder: string): number {
    return this.runsInFolder.get(`${root}:${folder}`) ?? 0;
  }

  get context(): InspectContext {
    return this.evidence.context;
  }

  file(root: number, path: string): ObservedFile | undefined {
    return this.byPath.get(`${root}:${path}`);
  }

  /** Files that a name of the context file means, in every root. */
  named(path: string): readonly ObservedFile[] {
    return this.evidence.files.filter((file) => file.path === path);
  }

  /** The document as a tree; undefined when it is not whole, too large, or its bytes are not held. */
  tree(document: ObservedDocument): JsonNode | undefined {
    if (this.trees.has(document)) return this.trees.get(document);
    const tree = readTree(document);
    this.trees.set(document, tree);
    return tree;
  }

  value(document: ObservedDocument): JsonValue | undefined {
    return this.tree(document)?.value;
  }

  /** The version the document carries, also where only its beginning can be read. */
  version(document: ObservedDocument): number | undefined {
    return versionAmong(document.content.diagnosis.captured);
  }

  /** Byte offset in the file of a tree's node. */
  offsetOf(document: ObservedDocument, node: JsonNode): number {
    return node.start + (document.content.diagnosis.document?.from ?? 0);
  }
}

export function isDocument(file: ObservedFile): file is ObservedDocument {
  return file.content.kind === "document";
}

export function isLog(file: ObservedFile): file is ObservedLog {
  return file.content.kind === "log";
}

function readTree(document: ObservedDocument): JsonNode | undefined {
  const { held, diagnosis } = document.content;
  if (held === "not-held" || diagnosis.document === undefined) return undefined;
  const { from, to } = diagnosis.document;
  if (to - from > limits.treeDocumentBytesMax) return undefined;
  const parsed = parseJson(held.subarray(from, to));
  return parsed.kind === "value" ? parsed.root : undefined;
}

/** Names that a version goes by; the first that is there and an integer counts. */
const versionNames = ["version", "serial", "revision", "rev"] as const;

/** What every document is asked for while it is scanned. */
export function documentCapture(context: InspectContext): readonly JsonPath[] {
  const declared = context.versionField;
  const names = declared === undefined ? versionNames : [declared];
  return names.map((name) => fieldPath(name));
}

function fieldPath(name: string): JsonPath {
  return name
    .replace(/^\$\.?/, "")
    .split(".")
    .map(keyStep);
}

/** Every value that a pattern reaches, in document order. */
export function reach(root: JsonNode, pattern: JsonPath): readonly PlacedNode[] {
  let places: PlacedNode[] = [{ path: [], node: root }];
  for (const step of pattern) places = places.flatMap((place) => stepInto(place, step));
  return places;
}

function stepInto(place: PlacedNode, step: PathStep): PlacedNode[] {
  const { node, path } = place;
  if (step.kind === "key") {
    if (node.kind !== "object") return [];
    const member = node.members.findLast((candidate) => candidate.key === step.key);
    return member === undefined ? [] : [{ path: [...path, step], node: member.node }];
  }
  if (step.kind === "index") {
    const element = node.kind === "array" ? node.elements[step.index] : undefined;
    return element === undefined ? [] : [{ path: [...path, step], node: element }];
  }
  if (node.kind === "array")
    return node.elements.map((element, i) => ({ path: [...path, indexStep(i)], node: element }));
  if (node.kind !== "object") return [];
  return node.members.map((member) => ({
    path: [...path, keyStep(member.key)],
    node: member.node,
  }));
}

export function placeText(place: PlacedNode): string {
  return formatPath(place.path);
}

export type { LogDiagnosis };
