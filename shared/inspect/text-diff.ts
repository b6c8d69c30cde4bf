/** Two texts compared line by line: for logs, and for documents that no longer read as JSON. */
import { structuredPatch } from "diff";
import { limits } from "../base/limits.js";

export interface TextHunk {
  /** First line of the hunk in each text, from 1. */
  readonly beforeLine: number;
  readonly afterLine: number;
  readonly lines: readonly TextLine[];
}

export interface TextLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

export type TextDiff =
  | {
      readonly kind: "compared";
      readonly hunks: readonly TextHunk[];
      readonly added: number;
      readonly removed: number;
    }
  /** More than limits.diffEditsMax lines differ, or the texts are too large to be compared by lines. */
  | { readonly kind: "too-different" };

/** Bytes that are not UTF-8 stand as U+FFFD. `contextLines` unchanged lines are given around each change. */
export function textDiff(before: Uint8Array, after: Uint8Array, contextLines: number): TextDiff {
  if (before.length + after.length > limits.treeDocumentBytesMax) return { kind: "too-different" };
  const decoder = new TextDecoder();
  const patch = structuredPatch("", "", decoder.decode(before), decoder.decode(after), "", "", {
    context: contextLines,
    maxEditLength: limits.diffEditsMax,
  });
  if (patch === undefined) return { kind: "too-different" };
  const hunks = patch.hunks.map((hunk) => ({
    beforeLine: hunk.oldStart,
    afterLine: hunk.newStart,
    lines: hunk.lines.flatMap(toLine),
  }));
  const all = hunks.flatMap((hunk) => hunk.lines);
  return {
    kind: "compared",
    hunks,
    added: all.filter((line) => line.kind === "added").length,
    removed: all.filter((line) => line.kind === "removed").length,
  };
}

/** "\ No newline at end of file" is the format's own remark, not a line of the text. */
function toLine(line: string): readonly TextLine[] {
  const text = line.slice(1);
  if (line.startsWith("+")) return [{ kind: "added", text }];
  if (line.startsWith("-")) return [{ kind: "removed", text }];
  return line.startsWith("\\") ? [] : [{ kind: "same", text }];
}
