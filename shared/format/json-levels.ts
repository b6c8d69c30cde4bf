import { formatPath, indexStep, keyStep, type PathStep } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { type CaptureNode, elementNode } from "./capture-plan.js";

/** Objects with more keys than this are looked up in a map; below it, comparing is quicker. */
const linearLookupMax = 16;

interface Level {
  isObject: boolean;
  key: string;
  keyOffset: number;
  index: number;
  node: CaptureNode | undefined;
  names: string[];
  offsets: number[];
  byName: Map<string, number> | undefined;
}

/**
 * The open brackets of a scan. Kinds are kept for every level, a bit each, so a hundred million opening
 * brackets cost megabytes; keys, indexes and duplicate checks only down to limits.depthShownMax.
 */
export class JsonLevels {
  depth = 0;
  depthMax = 0;
  private bits = new Uint8Array(16);
  private readonly levels: Level[] = [];

  clear(): void {
    this.depth = 0;
    this.depthMax = 0;
  }

  open(isObject: boolean, node: CaptureNode | undefined): void {
    const at = this.depth >> 3;
    if (at >= this.bits.length) {
      const grown = new Uint8Array(this.bits.length * 2);
      grown.set(this.bits);
      this.bits = grown;
    }
    const mask = 1 << (this.depth & 7);
    const old = this.bits[at] as number;
    this.bits[at] = isObject ? old | mask : old & ~mask;
    if (this.depth < limits.depthShownMax) this.openShown(isObject, node);
    this.depth += 1;
    if (this.depth > this.depthMax) this.depthMax = this.depth;
  }

  private openShown(isObject: boolean, node: CaptureNode | undefined): void {
    const level = this.levels[this.depth];
    if (level === undefined) {
      const fresh = { isObject, key: "", keyOffset: -1, index: 0, node, names: [], offsets: [] };
      this.levels.push({ ...fresh, byName: undefined });
      return;
    }
    level.isObject = isObject;
    level.key = "";
    level.keyOffset = -1;
    level.index = 0;
    level.node = node;
    if (level.names.length > 0) {
      level.names.length = 0;
      level.offsets.length = 0;
      level.byName = undefined;
    }
  }

  close(): void {
    this.depth -= 1;
  }

  topIsObject(): boolean {
    const at = this.depth - 1;
    return ((this.bits[at >> 3] as number) & (1 << (at & 7))) !== 0;
  }

  private top(): Level | undefined {
    return this.depth > limits.depthShownMax ? undefined : this.levels[this.depth - 1];
  }

  nextElement(): void {
    const level = this.top();
    if (level !== undefined) level.index += 1;
  }

  /** Notes the key of the member that begins; answers where the same key stood before, or -1. */
  enterKey(key: string, byteOffset: number, comparable: boolean): number {
    const level = this.top();
    if (level === undefined) return -1;
    level.key = key;
    level.keyOffset = byteOffset;
    if (!comparable || level.names.length >= limits.objectKeysTrackedMax) return -1;
    const before = lookUp(level, key);
    if (before >= 0) return before;
    level.names.push(key);
    level.offsets.push(byteOffset);
    level.byName?.set(key, byteOffset);
    return -1;
  }

  /** Capture node of the value that begins in the open container. */
  childNode(): CaptureNode | undefined {
    const level = this.top();
    if (level?.node === undefined) return undefined;
    if (level.isObject) return level.node.keys.get(level.key);
    return elementNode(level.node, level.index);
  }

  /** Path of the open container (`withCurrent` false) or of the value in it. */
  path(withCurrent: boolean): string {
    const steps: PathStep[] = [];
    const last = withCurrent ? this.depth : this.depth - 1;
    const shown = Math.min(last, limits.pathStepsShownMax);
    for (let i = 0; i < shown; i++) {
      const level = this.levels[i];
      if (level === undefined) break;
      steps.push(level.isObject ? keyStep(level.key) : indexStep(level.index));
    }
    return formatPath(steps) + (shown < last ? " …" : "");
  }
}

function lookUp(level: Level, key: string): number {
  if (level.byName !== undefined) return level.byName.get(key) ?? -1;
  if (level.names.length < linearLookupMax) {
    const at = level.names.indexOf(key);
    return at < 0 ? -1 : (level.offsets[at] as number);
  }
  level.byName = new Map(level.names.map((name, i) => [name, level.offsets[i] as number]));
  return level.byName.get(key) ?? -1;
}
