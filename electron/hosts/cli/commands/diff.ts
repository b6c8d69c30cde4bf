import {
  clipToColumns,
  counted,
  grouped,
  safeJson,
  visibleText,
  wrapWords,
} from "../../../../shared/base/text.js";
import { type ReadablePart, readablePart } from "../../../../shared/inspect/readable-part.js";
import {
  type StructuralChange,
  type StructuralDiff,
  structuralDiff,
  type WrittenValue,
} from "../../../../shared/inspect/structural-diff.js";
import { type TextDiff, type TextLine, textDiff } from "../../../../shared/inspect/text-diff.js";
import { type OpenedVersion, openVersion } from "../../../service/open-version.js";
import { byteDiff, hexRows } from "../byte-diff.js";
import { badUsage, type Command, type CommandHost, type ExitCode, type Words } from "../command.js";
import { type Paint, paintFor } from "../paint.js";
import { wantsColor } from "../terminal.js";

export const diffCommand: Command = {
  name: "diff",
  summary: "compare two versions of a document, a damaged one included",
  usage: "diff A B",
  details: [
    "A and B are files, or FILE@vN for a kept version. By structure, elements of a list are told apart by their id where they have one. Of a damaged document the readable part is compared; what its break took away is called unknown, never removed.",
    "Exit code: 0 no difference, 1 differences, 2 not to be compared.",
  ],
  options: [
    {
      name: "mode",
      takes: "MODE",
      choices: ["structure", "text", "bytes"],
      says: "structure (default where both can be read), text or bytes",
    },
    { name: "json", says: "print JSON" },
    { name: "color", says: "colour the text; --no-color: do not" },
  ],
  examples: ["diff runs/run_9d4a.json@v61 runs/run_9d4a.json", "diff a.json b.json --mode text"],
  run: runDiff,
};

interface Sides {
  readonly before: OpenedVersion;
  readonly after: OpenedVersion;
}

interface Output {
  readonly host: CommandHost;
  readonly asJson: boolean;
  readonly paint: Paint;
}

async function runDiff(words: Words, host: CommandHost): Promise<ExitCode> {
  const [a, b, ...more] = words.positionals;
  if (a === undefined || b === undefined || more.length > 0)
    throw badUsage("diff", "name two documents");
  const sides = {
    before: await openVersion(host.means, a),
    after: await openVersion(host.means, b),
  };
  const output = {
    host,
    asJson: words.flag("json") === true,
    paint: paintFor(wantsColor(host.terminal, words.flag("color"))),
  };
  const mode = words.text("mode");
  if (mode === "bytes") return showBytes(sides, output);
  if (mode === "text") return showText(sides, output);
  const before = readablePart(sides.before.bytes);
  const after = readablePart(sides.after.bytes);
  if (before.kind !== "none" && after.kind !== "none")
    return showStructure(sides, before, after, output);
  if (mode === undefined) {
    for (const remark of [
      ...unreadableRemark(sides.before, before),
      ...unreadableRemark(sides.after, after),
    ])
      host.terminal.err(`lastgood: ${remark}; compared as text\n`);
    return showText(sides, output);
  }
  for (const remark of [
    ...unreadableRemark(sides.before, before),
    ...unreadableRemark(sides.after, after),
  ])
    host.terminal.err(`lastgood: ${remark}; --mode text or --mode bytes can compare it\n`);
  return 2;
}

function unreadableRemark(side: OpenedVersion, part: ReadablePart): readonly string[] {
  return part.kind === "none"
    ? [`${visibleText(side.path)} has no part that reads as JSON (${part.reason})`]
    : [];
}

function showStructure(
  sides: Sides,
  before: Exclude<ReadablePart, { kind: "none" }>,
  after: Exclude<ReadablePart, { kind: "none" }>,
  output: Output,
): ExitCode {
  const diff = structuralDiff(before, after);
  const broken = [...brokenPlace(sides.before, before), ...brokenPlace(sides.after, after)];
  const differs = diff.changes.length + diff.unknown.length + broken.length > 0;
  if (output.asJson) {
    const names = { before: sides.before.path, after: sides.after.path };
    output.host.terminal.out(`${safeJson({ mode: "structure", ...names, broken, ...diff }, 2)}\n`);
  } else output.host.terminal.out(structureText(sides, diff, broken, output));
  return differs ? 1 : 0;
}

interface Broken {
  readonly file: string;
  readonly kind: string;
  readonly byteOffset: number;
  readonly line: number;
  readonly column: number;
}

function brokenPlace(
  side: OpenedVersion,
  part: Exclude<ReadablePart, { kind: "none" }>,
): readonly Broken[] {
  if (part.kind === "whole") return [];
  const { kind, at } = part.broken;
  return [{ file: side.path, kind, ...at }];
}

function structureText(
  sides: Sides,
  diff: StructuralDiff,
  broken: readonly Broken[],
  { host, paint }: Output,
): string {
  const { columns } = host.terminal;
  const lines = [
    paint.removed(clipToColumns(`--- ${visibleText(sides.before.path)}`, columns)),
    paint.added(clipToColumns(`+++ ${visibleText(sides.after.path)}`, columns)),
  ];
  for (const { file, kind, byteOffset, line, column } of broken)
    lines.push(
      ...wrapWords(
        `${visibleText(file)} is broken at ${line}:${column}, byte ${byteOffset} (${kind}): only what stands before is compared`,
        columns,
      ),
    );
  lines.push("");
  for (const change of diff.changes) lines.push(...changeLines(change, columns, paint));
  if (diff.changes.length === 0) lines.push("no change in what can be compared");
  if (diff.unknown.length > 0) {
    lines.push("", "unknown: the break may have taken these away");
    for (const { path } of diff.unknown)
      lines.push(paint.quiet(clipToColumns(`? ${visibleText(path)}`, columns)));
  }
  if (diff.notListed > 0) lines.push("", `${counted(diff.notListed, "more change")} not listed`);
  return `${lines.join("\n")}\n`;
}

function changeLines(change: StructuralChange, columns: number, paint: Paint): readonly string[] {
  const { path, beforePath, kind, before, after } = change;
  const from = beforePath === undefined ? "" : `  (was ${beforePath})`;
  const head = clipToColumns(visibleText(`${path}${from}`), columns - 2);
  const value = (sign: string, written: WrittenValue | undefined): readonly string[] =>
    written === undefined ? [] : [`    ${sign} ${clipToColumns(shown(written), columns - 6)}`];
  switch (kind) {
    case "added":
      return [paint.added(`+ ${head}`), ...value("+", after)];
    case "removed":
      return [paint.removed(`- ${head}`), ...value("-", before)];
    case "moved":
      return [`> ${head}`];
    case "changed":
      return [
        paint.strong(`~ ${head}`),
        ...value("-", before).map(paint.removed),
        ...value("+", after).map(paint.added),
      ];
  }
}

function shown({ text, bytes }: WrittenValue): string {
  const line = visibleText(text.replace(/\s*\n\s*/g, " "));
  return bytes > text.length * 4 ? `${line}… (${bytes} bytes)` : line;
}

const contextLines = 3;

function showText(sides: Sides, { host, asJson, paint }: Output): ExitCode {
  const { terminal } = host;
  const diff = textDiff(sides.before.bytes, sides.after.bytes, contextLines);
  const same = byteDiff(sides.before.bytes, sides.after.bytes).firstDifference === undefined;
  const names = { before: sides.before.path, after: sides.after.path };
  if (asJson) terminal.out(`${safeJson({ mode: "text", ...names, ...diff }, 2)}\n`);
  else if (diff.kind === "too-different")
    terminal.err("lastgood: too different to be compared by lines; --mode bytes can compare it\n");
  else terminal.out(textLines(sides, diff, terminal.columns, paint));
  if (diff.kind === "too-different") return 2;
  return same ? 0 : 1;
}

function textLines(
  sides: Sides,
  diff: Extract<TextDiff, { kind: "compared" }>,
  columns: number,
  paint: Paint,
): string {
  const lines = [
    paint.removed(clipToColumns(`--- ${visibleText(sides.before.path)}`, columns)),
    paint.added(clipToColumns(`+++ ${visibleText(sides.after.path)}`, columns)),
  ];
  for (const hunk of diff.hunks) {
    lines.push(paint.quiet(`@@ line ${hunk.beforeLine} -> line ${hunk.afterLine} @@`));
    for (const line of hunk.lines) lines.push(textLine(line, columns, paint));
  }
  if (diff.hunks.length === 0) lines.push("no line differs");
  return `${lines.join("\n")}\n`;
}

function textLine({ kind, text }: TextLine, columns: number, paint: Paint): string {
  const shownText = clipToColumns(visibleText(text), columns - 1);
  if (kind === "added") return paint.added(`+${shownText}`);
  return kind === "removed" ? paint.removed(`-${shownText}`) : ` ${shownText}`;
}

const hexRowsCount = 6;

function showBytes(sides: Sides, { host, asJson, paint }: Output): ExitCode {
  const { terminal } = host;
  const diff = byteDiff(sides.before.bytes, sides.after.bytes);
  const at = diff.firstDifference;
  const names = { before: sides.before.path, after: sides.after.path };
  if (asJson) terminal.out(`${safeJson({ mode: "bytes", ...names, ...diff }, 2)}\n`);
  else if (at === undefined) terminal.out(`the same ${counted(diff.beforeBytes, "byte")}\n`);
  else {
    const lines = [
      `equal up to byte ${at}; ${grouped(diff.beforeBytes)} and ${counted(diff.afterBytes, "byte")} in all; the last ${grouped(diff.commonEndBytes)} are equal again`,
      "",
      paint.removed(clipToColumns(`--- ${visibleText(sides.before.path)}`, terminal.columns)),
      ...hexRows(sides.before.bytes, at, hexRowsCount),
      paint.added(clipToColumns(`+++ ${visibleText(sides.after.path)}`, terminal.columns)),
      ...hexRows(sides.after.bytes, at, hexRowsCount),
    ];
    terminal.out(`${lines.join("\n")}\n`);
  }
  return at === undefined ? 0 : 1;
}
