/** What can be read of a document that may be damaged, as a tree: never a value that touches the break. */
import { limits } from "../base/limits.js";
import { type JsonNode, parseJson } from "../format/json-value.js";
import { type DocumentDamage, diagnoseDocument } from "./diagnose-document.js";

export type ReadablePart =
  | { readonly kind: "whole"; readonly root: JsonNode; readonly bytes: Uint8Array }
  /**
   * `bytes` are those of the document up to `readUntil`, then closing brackets that it does not have: a node that
   * ends behind `readUntil` was still open at the break, and what it lacks is unknown rather than absent.
   */
  | {
      readonly kind: "partial";
      readonly root: JsonNode;
      readonly bytes: Uint8Array;
      readonly readUntil: number;
      readonly broken: DocumentDamage;
    }
  | { readonly kind: "none"; readonly reason: string };

/** Total: any bytes are answered. */
export function readablePart(bytes: Uint8Array): ReadablePart {
  if (bytes.length > limits.treeDocumentBytesMax)
    return { kind: "none", reason: `above ${limits.treeDocumentBytesMax} bytes` };
  const { damage, document } = diagnoseDocument(bytes, { capture: [] });
  if (document !== undefined) {
    const own = bytes.subarray(document.from, document.to);
    const parsed = parseJson(own);
    if (parsed.kind === "value") return { kind: "whole", root: parsed.root, bytes: own };
  }
  const broken = damage.find((one) => one.severity === "error") ?? damage[0];
  if (broken === undefined) return { kind: "none", reason: "not JSON by the letter" };
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const closed = closedAtBreak(bytes.subarray(hasMark ? 3 : 0, broken.at.byteOffset));
  const parsed = closed === undefined ? undefined : parseJson(closed.bytes);
  if (closed === undefined || parsed?.kind !== "value")
    return { kind: "none", reason: broken.kind };
  return { kind: "partial", root: parsed.root, ...closed, broken };
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * The bytes up to the last place where every value is whole, then the closing brackets. A value is known to be
 * whole only when a comma or a closing bracket stands behind it.
 */
function closedAtBreak(
  bytes: Uint8Array,
): { readonly bytes: Uint8Array; readonly readUntil: number } | undefined {
  // Brackets open right now. Behind the last safe place only closed strings and bare words can stand, so what is
  // open at the end of the bytes is what was open there.
  const open: number[] = [];
  let safeAt = 0;
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) {
      at = afterString(bytes, at);
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) open.push(byte);
    else if (byte === 0x7d || byte === 0x5d) open.pop();
    if (byte === 0x2c) safeAt = at;
    else if (byte === 0x7b || byte === 0x5b || byte === 0x7d || byte === 0x5d) safeAt = at + 1;
    at += 1;
  }
  if (safeAt === 0) return undefined;
  const joined = new Uint8Array(safeAt + open.length);
  joined.set(bytes.subarray(0, safeAt));
  joined.set(open.map((byte) => (byte === 0x7b ? 0x7d : 0x5d)).reverse(), safeAt);
  return { bytes: joined, readUntil: safeAt };
}

function afterString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at + 1;
}
