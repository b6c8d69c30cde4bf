import type { EvidenceIndex, ObservedDocument } from "./evidence-index.js";

/** Bytes that two copies must share behind the seam before chance is no explanation. */
const sharedBytesMin = 64;

/**
 * Where the bytes of an older copy begin in a document that does not parse: the start of the longest common
 * end, at equal offsets, behind bytes that differ (the true seam is there or, where a few bytes are equal by
 * chance, shortly behind). Undefined when no copy beside it shows two generations.
 */
export function seamWithOlderCopy(
  index: EvidenceIndex,
  document: ObservedDocument,
): { readonly seam: number; readonly copy: string } | undefined {
  const own = document.content.held;
  if (own === "not-held") return undefined;
  const family = index.familyAt(document.root, document.path);
  for (const copy of family?.kept ?? []) {
    const old = copy.content.held;
    if (old === "not-held" || old.length !== own.length) continue;
    let seam = own.length;
    while (seam > 0 && own[seam - 1] === old[seam - 1]) seam -= 1;
    if (seam > 0 && own.length - seam >= sharedBytesMin) return { seam, copy: copy.path };
  }
  return undefined;
}
