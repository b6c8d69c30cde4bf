/** From the words of a command line to an exit code. Nothing is thrown out of here. */
import { existsSync } from "node:fs";
import { isLastgoodError } from "../../../shared/base/errors.js";
import { visibleText } from "../../../shared/base/text.js";
import { type Command, type CommandHost, type ExitCode, quoted, readWords } from "./command.js";
import { commands } from "./commands.js";
import { helpText, overviewText } from "./help.js";

export async function runCommand(given: readonly string[], host: CommandHost): Promise<ExitCode> {
  try {
    return await dispatch(given, host);
  } catch (error) {
    return sayError(error, host);
  }
}

async function dispatch(given: readonly string[], host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [first, ...rest] = given;
  if (first === undefined || first === "--help" || first === "-h") {
    terminal.out(overviewText(commands, terminal.columns));
    return 0;
  }
  if (first === "--version" || first === "-V") {
    terminal.out(`${host.tool}\n`);
    return 0;
  }
  if (first === "help") return help(rest[0], host);
  const command = commands.find(({ name }) => name === first);
  if (command !== undefined) return runOne(command, rest, host);
  const scan = commands[0];
  if (scan !== undefined && !first.startsWith("-") && existsSync(first))
    return runOne(scan, given, host);
  terminal.err(
    `lastgood: ${quoted(first)} is neither a command nor a file that is there. "lastgood --help" lists the commands.\n`,
  );
  return 2;
}

async function runOne(
  command: Command,
  given: readonly string[],
  host: CommandHost,
): Promise<ExitCode> {
  const words = readWords(command, given);
  if (words.flag("help") !== true) return command.run(words, host);
  host.terminal.out(helpText(command, host.terminal.columns));
  return 0;
}

function help(name: string | undefined, host: CommandHost): ExitCode {
  const { terminal } = host;
  if (name === undefined || name === "help") {
    terminal.out(overviewText(commands, terminal.columns));
    return 0;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    terminal.err(`lastgood: ${quoted(name)} is no command. "lastgood --help" lists them.\n`);
    return 2;
  }
  terminal.out(helpText(command, terminal.columns));
  return 0;
}

/** A refusal is one sentence; a mistake of ours too, with the stack only for those who ask for it. */
function sayError(error: unknown, { terminal }: CommandHost): ExitCode {
  if (isLastgoodError(error)) {
    const lines = error.message.split("\n").map((line) => visibleText(line));
    terminal.err(`lastgood: ${lines.join("\n")}\n`);
  } else {
    const message = error instanceof Error ? error.message : String(error);
    terminal.err(
      `lastgood: internal: ${visibleText(message.split("\n")[0] ?? "")}. Nothing was changed; LASTGOOD_DEBUG=1 shows where.\n`,
    );
  }
  if (terminal.environment.LASTGOOD_DEBUG === "1" && error instanceof Error)
    terminal.err(`${(error.stack ?? "").split("\n").map(visibleText).join("\n")}\n`);
  return 2;
}
