import { concatBytes } from "../base/bytes.js";
import { formatPath } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import type { CaptureNode, CapturePlan } from "./capture-plan.js";
import type { CapturedValue, Position } from "./json-answer.js";
import type { JsonLevels } from "./json-levels.js";

const decoder = new TextDecoder("utf-8");

interface OpenCapture {
  readonly patterns: readonly number[];
  readonly path: string;
  readonly kind: CapturedValue["kind"];
  readonly at: Position;
  readonly depth: number;
  /** Bytes of earlier chunks; "too-long" once they passed the limit. */
  spill: Uint8Array | "too-long";
}

const nothing = new Uint8Array(0);

/** Keeps the bytes of the few values that were asked for while a scan passes over them. */
export class CaptureRun {
  private readonly root: CaptureNode;
  /** Path of each pattern; undefined where `[*]` makes it depend on the place. */
  private readonly fixedPaths: readonly (string | undefined)[];
  private open: OpenCapture[] = [];
  private done: CapturedValue[] = [];
  private bytes: Uint8Array = nothing;
  private base = 0;
  private from = 0;

  constructor(plan: CapturePlan) {
    this.root = plan.root;
    this.fixedPaths = plan.patterns.map((pattern) =>
      pattern.some((step) => step.kind === "each") ? undefined : formatPath(pattern),
    );
  }

  clear(): void {
    this.open = [];
    this.done = [];
  }

  chunk(bytes: Uint8Array, base: number, from: number): void {
    this.bytes = bytes;
    this.base = base;
    this.from = from;
  }

  endOfChunk(to: number): void {
    for (const capture of this.open) capture.spill = this.upTo(capture, this.base + to, false);
    this.bytes = nothing;
  }

  /** A value begins here; answers the node to use for what is inside it. */
  begin(levels: JsonLevels, at: Position, kind: CapturedValue["kind"]): CaptureNode | undefined {
    const node = levels.depth === 0 ? this.root : levels.childNode();
    if (node === undefined) return undefined;
    if (node.patterns.length > 0) {
      const path = this.fixedPaths[node.patterns[0] ?? 0] ?? levels.path(true);
      const depth = levels.depth;
      this.open.push({ patterns: node.patterns, path, kind, at, depth, spill: nothing });
    }
    return node;
  }

  /** A value ended; `depth` is the nesting around it. */
  end(depth: number, end: number): void {
    let capture = this.open.at(-1);
    while (capture !== undefined && capture.depth >= depth) {
      this.open.pop();
      if (capture.depth === depth) this.finishOne(capture, this.upTo(capture, end, true), end);
      capture = this.open.at(-1);
    }
  }

  private finishOne(capture: OpenCapture, bytes: Uint8Array | "too-long", end: number): void {
    const raw = bytes === "too-long" ? bytes : textOf(bytes);
    const { path, kind, at } = capture;
    for (const pattern of capture.patterns) this.done.push({ pattern, path, kind, at, end, raw });
  }

  /** Bytes of the capture up to `end`; a copy unless they are used up at once. */
  private upTo(capture: OpenCapture, end: number, isFinal: boolean): Uint8Array | "too-long" {
    if (capture.spill === "too-long") return "too-long";
    const start = Math.max(capture.at.byteOffset - this.base, this.from);
    const length = capture.spill.length + (end - this.base - start);
    if (length > limits.capturedFieldBytesMax) return "too-long";
    const here = this.bytes.subarray(start, end - this.base);
    if (capture.spill.length === 0) return isFinal ? here : here.slice();
    return concatBytes([capture.spill, here]);
  }

  /** Captures so far; a number that the end of the text ends is ended at `numberEnd` (-1: none). */
  finished(numberEnd: number): readonly CapturedValue[] {
    const last = this.open.at(-1);
    if (numberEnd < 0 || last === undefined || last.kind !== "number") return this.done;
    const { path, kind, at } = last;
    const raw = last.spill === "too-long" ? last.spill : textOf(last.spill);
    const ended = last.patterns.map((pattern) => ({
      pattern,
      path,
      kind,
      at,
      end: numberEnd,
      raw,
    }));
    return [...this.done, ...ended];
  }
}

/** Short plain text is put together here: a call of the decoder costs more than the letters. */
function textOf(bytes: Uint8Array): string {
  if (bytes.length > 128) return decoder.decode(bytes);
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) >= 0x80) return decoder.decode(bytes);
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}
