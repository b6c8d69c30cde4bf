import {
  childSpans,
  gapText,
  type JsonStyle,
  type Place,
  placeInside,
  placeInsideNew,
  placeOfNewChild,
} from "./json-layout.js";
import type { Slot } from "./json-slots.js";
import type { ArrayNode, ObjectNode } from "./json-value.js";

/** Something to be written: a span of the old bytes, or new text. */
export type Piece =
  | { readonly kind: "copy"; readonly start: number; readonly end: number }
  | { readonly kind: "text"; readonly text: string };

/** What stands around and between the children of one container. */
export class ContainerFrame {
  readonly #bytes: Uint8Array;
  readonly #style: () => JsonStyle;
  readonly #node: ArrayNode | ObjectNode | undefined;
  readonly #spans: readonly { readonly start: number; readonly end: number }[];
  readonly #own: () => Place;

  constructor(
    bytes: Uint8Array,
    style: () => JsonStyle,
    node: ArrayNode | ObjectNode | undefined,
    own: () => Place,
  ) {
    this.#bytes = bytes;
    this.#style = style;
    this.#node = node;
    this.#spans = node === undefined ? [] : childSpans(node);
    this.#own = own;
  }

  readonly childPlace = (): Place =>
    this.#node === undefined || this.#spans.length === 0
      ? placeInsideNew(this.#style(), this.#own())
      : placeInside(this.#bytes, this.#node);

  readonly newChildPlace = (): Place => {
    const inside = this.childPlace();
    return this.#node === undefined ? inside : placeOfNewChild(this.#bytes, this.#node, inside);
  };

  lead(): Piece {
    const [first] = this.#spans;
    if (first === undefined) return { kind: "text", text: this.#newLine(this.childPlace()) };
    return { kind: "copy", start: (this.#node?.start ?? 0) + 1, end: first.start };
  }

  tail(): Piece {
    const last = this.#spans.at(-1);
    if (last !== undefined)
      return { kind: "copy", start: last.end, end: (this.#node?.end ?? 0) - 1 };
    return {
      kind: "text",
      text: this.childPlace().kind === "inline" ? "" : this.#newLine(this.#own()),
    };
  }

  /** What stood before an old child; before a new one (or the first one, moved) what the container usually has. */
  separatorBefore(slot: Slot): Piece {
    const before = slot.from === undefined ? undefined : this.#spans[slot.from - 1];
    const own = slot.from === undefined ? undefined : this.#spans[slot.from];
    if (before !== undefined && own !== undefined)
      return { kind: "copy", start: before.end, end: own.start };
    const last = this.#spans.at(-1);
    const beforeLast = this.#spans.at(-2);
    if (last !== undefined && beforeLast !== undefined) {
      return { kind: "copy", start: beforeLast.end, end: last.start };
    }
    const place = this.childPlace();
    return {
      kind: "text",
      text: place.kind === "inline" ? this.#style().comma : `,${this.#newLine(place)}`,
    };
  }

  colon(): string {
    const last = this.#node?.kind === "object" ? this.#node.members.at(-1) : undefined;
    return last === undefined
      ? this.#style().colon
      : gapText(this.#bytes, last.keyEnd, last.node.start);
  }

  #newLine(place: Place): string {
    return place.kind === "inline" ? "" : this.#style().lineEnd + place.indent;
  }
}
