/** Text laid out for people: a narrow column of labels, then sentences wrapped between words. */
import { columnsOf, padToColumns, visibleText, wrapWords } from "../../../shared/base/text.js";
import type { Paint } from "./paint.js";

export const gutterColumns = 10;

/** A labelled paragraph: the label stands right-aligned before its first line. */
export function labelled(
  label: string,
  sentence: string,
  columns: number,
  paint: Paint,
): readonly string[] {
  const gutter = label === "" ? "" : `${label.padStart(gutterColumns - 2)}  `;
  const [first = "", ...rest] = wrapWords(visibleText(sentence), columns - gutterColumns);
  const margin = " ".repeat(gutterColumns);
  return [
    `${label === "" ? margin : paint.quiet(gutter)}${first}`,
    ...rest.map((line) => `${margin}${line}`),
  ];
}

/** A sentence under a margin of its own. */
export function indented(sentence: string, margin: number, columns: number): readonly string[] {
  return wrapWords(visibleText(sentence), columns - margin).map(
    (line) => " ".repeat(margin) + line,
  );
}

/** Two columns: names, then what they mean. */
export function twoColumns(
  rows: readonly (readonly [name: string, says: string])[],
  columns: number,
): readonly string[] {
  const widest = Math.min(30, Math.max(0, ...rows.map(([name]) => name.length)));
  const margin = widest + 4;
  return rows.flatMap(([name, says]) => {
    const lines = wrapWords(visibleText(says), columns - margin);
    const head = `  ${padToColumns(visibleText(name), widest)}  `;
    if (name.length > widest)
      return [head.trimEnd(), ...lines.map((line) => " ".repeat(margin) + line)];
    return lines.map((line, i) => (i === 0 ? head : " ".repeat(margin)) + line);
  });
}

/** A table whose columns are as wide as they need to be; the last one is not padded. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => columnsOf(visibleText(row[column] ?? "")))),
  );
  return rows.map((row) =>
    row
      .map((cell, i) =>
        i === row.length - 1 ? visibleText(cell) : padToColumns(visibleText(cell), widths[i] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
