/** What `lastgood --help` and `lastgood help COMMAND` print. */
import { wrapWords } from "../../../shared/base/text.js";
import { type Command, helpOption } from "./command.js";
import { twoColumns } from "./layout.js";

export function overviewText(all: readonly Command[], columns: number): string {
  return `${[
    "lastgood: find the last good version of a run's state, and get back to it safely",
    "",
    "usage: lastgood COMMAND [WORD…]",
    "",
    ...twoColumns(
      all.map(({ name, summary }) => [name, summary] as const),
      columns,
    ),
    "",
    ...wrapWords(
      'A folder alone is scanned: "lastgood runs". A folder named like a command is given as ./scan.',
      columns,
    ),
    '"lastgood help COMMAND" tells more.',
  ].join("\n")}\n`;
}

export function helpText(command: Command, columns: number): string {
  const options = [...command.options, helpOption].map(({ name, short, takes, says }) => {
    const letter = short === undefined ? "" : `-${short}, `;
    return [`${letter}--${name}${takes === undefined ? "" : ` ${takes}`}`, says] as const;
  });
  return `${[
    `usage: lastgood ${command.usage}`,
    "",
    ...wrapWords(
      `${command.summary.slice(0, 1).toUpperCase()}${command.summary.slice(1)}.`,
      columns,
    ),
    ...command.details.flatMap((paragraph) => ["", ...wrapWords(paragraph, columns)]),
    "",
    ...twoColumns(options, columns),
    "",
    "examples",
    ...command.examples.map((example) => `  lastgood ${example}`),
  ].join("\n")}\n`;
}
