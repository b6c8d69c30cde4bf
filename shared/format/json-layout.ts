/** How a document is laid out: what its writer puts between values. New parts are written the same way. */
import type { JsonNode, MemberNode } from "./json-value.js";

export interface JsonStyle {
  /** White space of one nesting level; undefined when the document stands on one line. */
  readonly indentUnit: string | undefined;
  readonly lineEnd: "\n" | "\r\n";
  /** Between a key and its value. */
  readonly colon: string;
  /** Between two values of one line. */
  readonly comma: string;
}

/** Where a value stands: within one line, or in a container whose line begins with this white space. */
export type Place =
  | { readonly kind: "inline" }
  | { readonly kind: "lines"; readonly indent: string };

export const compactStyle: JsonStyle = {
  indentUnit: undefined,
  lineEnd: "\n",
  colon: ":",
  comma: ",",
};

export const indentedStyle: JsonStyle = {
  indentUnit: "  ",
  lineEnd: "\n",
  colon: ": ",
  comma: ", ",
};

const inlinePlace: Place = { kind: "inline" };

/** Bytes as text, for white space and punctuation only: one character per byte. */
export function gapText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}

/** Where the children of a container stand: elements, or members from their key on. */
export function childSpans(
  node: JsonNode,
): readonly { readonly start: number; readonly end: number }[] {
  if (node.kind === "array") return node.elements;
  if (node.kind === "object") return node.members.map(memberSpan);
  return [];
}

export function memberSpan(member: MemberNode): { readonly start: number; readonly end: number } {
  return { start: member.keyStart, end: member.node.end };
}

/** The style of a document, taken from the first place that shows each habit. Reads as far as it has to. */
export function styleOf(bytes: Uint8Array, root: JsonNode): JsonStyle {
  const seen: { indentUnit?: string; lineEnd?: "\n" | "\r\n"; colon?: string; comma?: string } = {};
  const nodes: { readonly node: JsonNode; readonly indent: string }[] = [
    { node: root, indent: "" },
  ];
  // The list grows while it is walked: nearest containers first, without recursion.
  for (const { node, indent } of nodes) {
    const spans = childSpans(node);
    const [first, second] = spans;
    if (first === undefined) continue;
    const lead = gapText(bytes, node.start + 1, first.start);
    const own = lineIndent(lead) ?? indent;
    if (lead.includes("\n")) {
      seen.lineEnd ??= lead.includes("\r\n") ? "\r\n" : "\n";
      if (own.startsWith(indent) && own.length > indent.length) {
        seen.indentUnit ??= own.slice(indent.length);
      }
    }
    if (second !== undefined) {
      const separator = gapText(bytes, first.end, second.start);
      if (!separator.includes("\n")) seen.comma ??= separator;
    }
    if (node.kind === "object") {
      const [member] = node.members;
      if (member !== undefined) seen.colon ??= gapText(bytes, member.keyEnd, member.node.start);
    }
    if (seen.colon !== undefined && seen.comma !== undefined && seen.indentUnit !== undefined)
      break;
    for (const child of childNodes(node)) {
      if (child.kind !== "scalar") nodes.push({ node: child, indent: own });
    }
  }
  const spaced = seen.colon === undefined ? seen.indentUnit !== undefined : seen.colon !== ":";
  return {
    indentUnit: seen.indentUnit,
    lineEnd: seen.lineEnd ?? "\n",
    colon: seen.colon ?? (spaced ? ": " : ":"),
    comma: seen.comma ?? (spaced ? ", " : ","),
  };
}

export function childNodes(node: JsonNode): readonly JsonNode[] {
  if (node.kind === "array") return node.elements;
  return node.kind === "object" ? node.members.map((member) => member.node) : [];
}

/** The white space that begins the last line of a gap; undefined when the gap has no line end. */
export function lineIndent(gap: string): string | undefined {
  const at = gap.lastIndexOf("\n");
  return at < 0 ? undefined : gap.slice(at + 1);
}

/** Where the children of a container that has some stand. */
export function placeInside(bytes: Uint8Array, node: JsonNode): Place {
  const [first] = childSpans(node);
  if (first === undefined) return inlinePlace;
  const indent = lineIndent(gapText(bytes, node.start + 1, first.start));
  return indent === undefined ? inlinePlace : { kind: "lines", indent };
}

/** Where the children of a container stand that is new, or that was empty until now. */
export function placeInsideNew(style: JsonStyle, own: Place): Place {
  if (own.kind === "inline" || style.indentUnit === undefined) return inlinePlace;
  return { kind: "lines", indent: own.indent + style.indentUnit };
}

/**
 * Where a new child stands: as its neighbours are written. Beside containers that keep to one line
 * (`{"clause": "9.4"},` one per line) it keeps to one line too.
 */
export function placeOfNewChild(bytes: Uint8Array, node: JsonNode, inside: Place): Place {
  if (inside.kind === "inline") return inside;
  const children = childNodes(node);
  for (let i = children.length - 1; i >= 0; i -= 1) {
    const child = children[i];
    if (child === undefined || childSpans(child).length === 0) continue;
    return placeInside(bytes, child).kind === "inline" ? inlinePlace : inside;
  }
  return inside;
}
