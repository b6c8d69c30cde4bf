/** What a command of the command line is, and how its words are read. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { LastgoodError } from "../../../shared/base/errors.js";
import { visibleText } from "../../../shared/base/text.js";
import type { CollectMeans } from "../../service/collect-evidence.js";
import type { Terminal } from "./terminal.js";

export interface CommandHost {
  readonly terminal: Terminal;
  readonly means: CollectMeans;
  /** Version of the tool. */
  readonly tool: string;
  /** Folder of the installed package, with a separator at its end. */
  readonly packageFolder: string;
}

/** 0 nothing at or above the level asked for · 1 findings · 2 nothing could be inspected, or bad usage. */
export type ExitCode = 0 | 1 | 2 | 3 | 4;

export interface CommandOption {
  readonly name: string;
  readonly short?: string;
  /** What the option takes; absent: it is a switch. */
  readonly takes?: string;
  /** The words it takes, where only these are allowed. */
  readonly choices?: readonly string[];
  readonly says: string;
}

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Behind `lastgood `. */
  readonly usage: string;
  /** More for `help COMMAND`, a paragraph each. */
  readonly details: readonly string[];
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  run(words: Words, host: CommandHost): Promise<ExitCode>;
}

export interface Words {
  readonly positionals: readonly string[];
  text(name: string): string | undefined;
  /** undefined: neither given nor refused. */
  flag(name: string): boolean | undefined;
}

/** Errors: `input-rejected` with one sentence about the first word that is not understood. */
export function readWords(command: Command, given: readonly string[]): Words {
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const { name, short, takes } of [...command.options, helpOption])
    options[name] = {
      type: takes === undefined ? "boolean" : "string",
      ...(short === undefined ? {} : { short }),
    };
  let values: Record<string, unknown>;
  let positionals: readonly string[];
  try {
    ({ values, positionals } = parseArgs({
      args: [...given],
      options,
      allowPositionals: true,
      allowNegative: true,
    }));
  } catch (error) {
    throw badUsage(command.name, firstSentence((error as Error).message));
  }
  for (const { name, choices } of command.options) {
    const value = values[name];
    if (choices !== undefined && typeof value === "string" && !choices.includes(value))
      throw badUsage(command.name, `--${name} takes ${choices.join(", ")}; not ${quoted(value)}`);
  }
  return {
    positionals,
    text: (name) => (typeof values[name] === "string" ? values[name] : undefined),
    flag: (name) => (typeof values[name] === "boolean" ? values[name] : undefined),
  };
}

export const helpOption: CommandOption = { name: "help", short: "h", says: "print this" };

export function badUsage(command: string, says: string): LastgoodError {
  return new LastgoodError(
    "input-rejected",
    `${says.replace(/\.$/, "")}. "lastgood help ${command}" shows what it takes.`,
  );
}

export function quoted(text: string): string {
  return `"${visibleText(text)}"`;
}

function firstSentence(message: string): string {
  return visibleText(message.split(/\. |\n/)[0] ?? message);
}
