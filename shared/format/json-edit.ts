/**
 * Puts a changed value back into the bytes it was read from. What did not change keeps its bytes: big
 * integers, spelling of numbers, escapes, white space and the order of keys. What is new is written the way
 * the document is written.
 *
 * No recursion: a stack of tasks, so that depth is bounded by memory alone.
 */
import { formatPath, type PathStep } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { ContainerFrame, type Piece } from "./json-frame.js";
import { childNodes, childSpans, type JsonStyle, type Place, styleOf } from "./json-layout.js";
import { arraySlots, isContainer, isSameScalar, objectSlots, type Slot } from "./json-slots.js";
import type { ArrayNode, JsonNode, JsonValue, ObjectNode, ParsedJson } from "./json-value.js";
import { JsonOutput, scalarText, stringText } from "./json-write.js";

export type EditOutcome =
  | { readonly kind: "edited"; readonly bytes: Uint8Array }
  /** The value cannot be written as JSON; `path` says which part of it. */
  | { readonly kind: "rejected"; readonly path: string; readonly reason: string };

/**
 * The document `bytes`, changed so that it reads as `value`.
 *
 * Shape: `value` is usually `parsed.value` after changes in place. Objects and arrays that were moved take
 * their bytes along; those that were replaced by others are compared with what stood in their place. Where a
 * key is written twice, the last one is edited, and removing the key removes both.
 * Guarantee: an unchanged value gives the same bytes; the result parses to `value`.
 */
export function editJson(bytes: Uint8Array, parsed: ParsedJson, value: JsonValue): EditOutcome {
  let style: JsonStyle | undefined;
  const editor = new Editor(bytes, parsed.root, () => {
    style ??= styleOf(bytes, parsed.root);
    return style;
  });
  return editor.write(value);
}

/** A new document. Ends with a line end when it is laid out in lines. */
export function writeJson(value: JsonValue, style: JsonStyle): EditOutcome {
  const editor = new Editor(new Uint8Array(), undefined, () => style);
  return editor.write(value, style.indentUnit === undefined ? "" : style.lineEnd);
}

interface PathLink {
  readonly before: PathLink | undefined;
  readonly step: PathStep;
}

interface ValueTask {
  readonly kind: "value";
  /** Comes from the caller's hands: checked, whatever its type says. */
  readonly value: unknown;
  /** What stood in this place. */
  readonly node: JsonNode | undefined;
  /** Asked only where something new is written. */
  readonly place: () => Place;
  readonly path: PathLink | undefined;
}

type Task = Piece | { readonly kind: "leave"; readonly container: object } | ValueTask;

type Refusal = Extract<EditOutcome, { kind: "rejected" }>;

class Editor {
  readonly #bytes: Uint8Array;
  readonly #root: JsonNode | undefined;
  readonly #style: () => JsonStyle;
  readonly #output: JsonOutput;
  readonly #tasks: Task[] = [];
  /** Containers around the value being written: one that comes again holds itself. */
  readonly #around = new Set<object>();
  #known: Map<object, JsonNode> | undefined;

  constructor(bytes: Uint8Array, root: JsonNode | undefined, style: () => JsonStyle) {
    this.#bytes = bytes;
    this.#root = root;
    this.#style = style;
    this.#output = new JsonOutput(bytes);
  }

  write(value: JsonValue, ending = ""): EditOutcome {
    const { start, end } = this.#root ?? { start: 0, end: this.#bytes.length };
    const place = (): Place => this.#rootPlace();
    this.#tasks.push(
      { kind: "copy", start: end, end: this.#bytes.length },
      { kind: "value", value, node: this.#root, place, path: undefined },
      { kind: "copy", start: 0, end: start },
    );
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) {
      const refusal = this.#run(task);
      if (refusal !== undefined) return refusal;
      if (this.#output.sizeAtLeast > limits.documentBytesMax) return tooLarge();
    }
    this.#output.text(ending);
    const bytes = this.#output.bytes();
    return bytes.length > limits.documentBytesMax ? tooLarge() : { kind: "edited", bytes };
  }

  #rootPlace(): Place {
    return this.#style().indentUnit === undefined
      ? { kind: "inline" }
      : { kind: "lines", indent: "" };
  }

  #run(task: Task): Refusal | undefined {
    if (task.kind === "copy") this.#output.copy(task.start, task.end);
    else if (task.kind === "text") this.#output.text(task.text);
    else if (task.kind === "leave") this.#around.delete(task.container);
    else if (isContainer(task.value)) return this.#openContainer(task, task.value);
    else return this.#writeScalar(task);
    return undefined;
  }

  #writeScalar({ value, node, path }: ValueTask): Refusal | undefined {
    if (node?.kind === "scalar" && isSameScalar(node.value, value)) {
      this.#output.copy(node.start, node.end);
      return undefined;
    }
    const text = scalarText(value);
    if (text.kind === "rejected")
      return { kind: "rejected", path: pathText(path), reason: text.reason };
    this.#output.text(text.text);
    return undefined;
  }

  #openContainer(task: ValueTask, value: unknown[] | Record<string, unknown>): Refusal | undefined {
    if (this.#around.has(value))
      return { kind: "rejected", path: pathText(task.path), reason: "the value holds itself" };
    if (!Array.isArray(value) && !isPlainObject(value)) {
      return {
        kind: "rejected",
        path: pathText(task.path),
        reason: "only plain objects and arrays can be written",
      };
    }
    this.#around.add(value);
    this.#tasks.push({ kind: "leave", container: value });
    const node = task.node?.value === value ? task.node : (this.#nodeOf(value) ?? task.node);
    if (Array.isArray(value)) {
      const old = node?.kind === "array" ? node : undefined;
      this.#pushContainer("[]", arraySlots(value, old), old, task);
    } else {
      const old = node?.kind === "object" ? node : undefined;
      this.#pushContainer("{}", objectSlots(value, old), old, task);
    }
    return undefined;
  }

  /** Where a container stood when it was read, so that one that was moved takes its bytes along. */
  #nodeOf(container: object): JsonNode | undefined {
    if (this.#known === undefined) {
      this.#known = new Map();
      const nodes: JsonNode[] = this.#root === undefined ? [] : [this.#root];
      // The list grows while it is walked.
      for (const node of nodes) {
        if (node.kind === "scalar") continue;
        this.#known.set(node.value, node);
        for (const child of childNodes(node)) nodes.push(child);
      }
    }
    return this.#known.get(container);
  }

  /** Turns a container into tasks: brackets, gaps and children, in the order they are written. */
  #pushContainer(
    brackets: "[]" | "{}",
    slots: readonly Slot[],
    node: ArrayNode | ObjectNode | undefined,
    task: ValueTask,
  ): void {
    const frame = new ContainerFrame(this.#bytes, this.#style, node, task.place);
    const tasks: Task[] = [];
    if (slots.length === 0) {
      tasks.push(...emptyContainer(brackets, node));
    } else {
      tasks.push({ kind: "text", text: brackets.charAt(0) }, frame.lead());
      for (const [i, slot] of slots.entries()) {
        if (i > 0) tasks.push(frame.separatorBefore(slot));
        if (typeof slot.key === "string") {
          tasks.push({ kind: "text", text: stringText(slot.key) + frame.colon() });
        } else if (slot.key !== undefined) {
          tasks.push({ kind: "copy", ...slot.key });
        }
        if (slot.child === undefined) continue;
        const place = slot.from === undefined ? frame.newChildPlace : frame.childPlace;
        const path = { before: task.path, step: slot.child.step };
        tasks.push({ kind: "value", value: slot.child.value, node: slot.child.node, place, path });
      }
      tasks.push(frame.tail(), { kind: "text", text: brackets.charAt(1) });
    }
    for (let i = tasks.length - 1; i >= 0; i -= 1) {
      const next = tasks[i];
      if (next !== undefined) this.#tasks.push(next);
    }
  }
}

/** `[]`, or the white space that an empty container already had. */
function emptyContainer(brackets: string, node: ArrayNode | ObjectNode | undefined): Task[] {
  if (node === undefined || childSpans(node).length > 0) return [{ kind: "text", text: brackets }];
  return [{ kind: "copy", start: node.start, end: node.end }];
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function pathText(path: PathLink | undefined): string {
  const steps: PathStep[] = [];
  for (let link = path; link !== undefined; link = link.before) steps.push(link.step);
  return formatPath(steps.reverse());
}

function tooLarge(): Refusal {
  const reason = `the document would be larger than ${limits.documentBytesMax} bytes`;
  return { kind: "rejected", path: "$", reason };
}
