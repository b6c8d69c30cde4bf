/** Pointers (URIs) that only the torn bytes still name: outputs that no older copy knows. */

import { limits } from "../base/limits.js";
import type { ObservedDocument } from "./evidence-index.js";
import type { Finding } from "./finding.js";

const pointer = /"([a-z][a-z0-9+.-]{1,15}:\/\/[^"\\\s]{1,2000})"/gi;

/** Adds the pointers to a finding about torn bytes; whole strings only, since a cut one may be half a name. */
export function withTornPointers(
  finding: Finding,
  torn: ObservedDocument,
  target: ObservedDocument | undefined,
): Finding {
  const [mine, theirs] = [torn.content.held, target?.content.held];
  if (mine === "not-held" || theirs === "not-held" || mine.length > limits.treeDocumentBytesMax)
    return finding;
  const known = theirs === undefined ? new Set<string>() : pointersIn(theirs);
  const only = [...pointersIn(mine)].filter((uri) => !known.has(uri));
  if (only.length === 0 || target === undefined) return finding;
  const listed = only.slice(0, limits.tornPointersToldMax);
  const count = only.length === 1 ? "" : ` and ${only.length - 1} more`;
  const note = `note what only the torn bytes name: ${listed[0]}${count}`;
  return {
    ...finding,
    facts: { ...finding.facts, urisOnlyHere: listed },
    next: [note, ...finding.next],
  };
}

function pointersIn(bytes: Uint8Array): Set<string> {
  const text = new TextDecoder().decode(bytes);
  return new Set(Array.from(text.matchAll(pointer), (match) => match[1] ?? ""));
}
