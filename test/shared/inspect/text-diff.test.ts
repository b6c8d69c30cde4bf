import { expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import { textDiff } from "../../../shared/inspect/text-diff.js";

const encoder = new TextEncoder();

function diff(before: string, after: string, contextLines = 1) {
  const found = textDiff(encoder.encode(before), encoder.encode(after), contextLines);
  if (found.kind === "too-different") throw new Error("too different");
  return found;
}

test("equal texts have no hunk", () => {
  expect(diff("a\nb\n", "a\nb\n")).toEqual({ kind: "compared", hunks: [], added: 0, removed: 0 });
});

test("a changed line is shown with the lines around it, and where it stands", () => {
  expect(diff("1\n2\n3\n4\n5\n", "1\n2\nx\n4\n5\n")).toEqual({
    kind: "compared",
    hunks: [
      {
        beforeLine: 2,
        afterLine: 2,
        lines: [
          { kind: "same", text: "2" },
          { kind: "removed", text: "3" },
          { kind: "added", text: "x" },
          { kind: "same", text: "4" },
        ],
      },
    ],
    added: 1,
    removed: 1,
  });
});

test("changes far apart are two hunks", () => {
  const lines = Array.from({ length: 30 }, (_, i) => `${i}`);
  const changed = lines.map((line) => (line === "2" || line === "25" ? "x" : line));
  expect(diff(lines.join("\n"), changed.join("\n")).hunks).toHaveLength(2);
});

test("a line end that is missing at the end is no line of its own", () => {
  const { hunks } = diff("a\nb", "a\nb\n");
  expect(hunks.flatMap(({ lines }) => lines).map(({ text }) => text)).toEqual(["a", "b", "b"]);
});

test("bytes that are not UTF-8 are compared without a failure", () => {
  const found = textDiff(new Uint8Array([0xff, 0x0a]), new Uint8Array([0x61, 0x0a]), 0);
  expect(found).toMatchObject({ kind: "compared", added: 1, removed: 1 });
});

test("texts that are too large are not compared by lines", () => {
  const large = new Uint8Array(limits.treeDocumentBytesMax);
  expect(textDiff(large, encoder.encode("a"), 1)).toEqual({ kind: "too-different" });
});
