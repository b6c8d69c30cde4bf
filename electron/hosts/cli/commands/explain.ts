import { safeJson } from "../../../../shared/base/text.js";
import { explainKind } from "../../../../shared/inspect/explain.js";
import { type FindingKind, findingKinds } from "../../../../shared/inspect/finding.js";
import {
  badUsage,
  type Command,
  type CommandHost,
  type ExitCode,
  quoted,
  type Words,
} from "../command.js";
import { indented, twoColumns } from "../layout.js";
import { paintFor } from "../paint.js";
import { wantsColor } from "../terminal.js";

export const explainCommand: Command = {
  name: "explain",
  summary: "what a finding kind means, where it comes from, what to do",
  usage: "explain [KIND]",
  details: ["Without KIND: the list of all kinds."],
  options: [
    { name: "json", says: "print JSON" },
    { name: "color", says: "colour the text; --no-color: do not" },
  ],
  examples: ["explain", "explain truncated"],
  run: runExplain,
};

async function runExplain(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [asked, ...more] = words.positionals;
  if (more.length > 0) throw badUsage("explain", "one kind at a time");
  if (asked === undefined) {
    const rows = findingKinds.map((kind) => [kind, explainKind(kind).title] as const);
    terminal.out(
      words.flag("json") === true
        ? `${safeJson(Object.fromEntries(rows), 2)}\n`
        : `${twoColumns(rows, terminal.columns).join("\n")}\n`,
    );
    return 0;
  }
  const kind = findingKinds.find((one) => one === asked);
  if (kind === undefined) throw badUsage("explain", unknownKind(asked));
  if (words.flag("json") === true) terminal.out(`${safeJson({ kind, ...explainKind(kind) }, 2)}\n`);
  else terminal.out(explanationText(kind, host, words));
  return 0;
}

function explanationText(kind: FindingKind, { terminal }: CommandHost, words: Words): string {
  const { title, meaning, cause, lookAt, doNext } = explainKind(kind);
  const paint = paintFor(wantsColor(terminal, words.flag("color")));
  const part = (name: string, says: string): readonly string[] => [
    "",
    paint.quiet(name),
    ...indented(says, 2, terminal.columns),
  ];
  return `${[
    `${paint.strong(kind)}: ${title}`,
    ...part("what it means", meaning),
    ...part("where it often comes from", cause),
    ...part("what to look at", lookAt),
    ...part("what to do", doNext),
  ].join("\n")}\n`;
}

function unknownKind(asked: string): string {
  const near = findingKinds.filter(
    (kind) => kind.includes(asked.toLowerCase()) || asked.toLowerCase().includes(kind),
  );
  const hint = near.length === 0 ? "" : `; perhaps ${near.slice(0, 3).join(", ")}`;
  return `${quoted(asked)} is no finding kind${hint}`;
}
