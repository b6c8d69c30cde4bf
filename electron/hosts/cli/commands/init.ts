import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LastgoodError } from "../../../../shared/base/errors.js";
import { counted, visibleText } from "../../../../shared/base/text.js";
import { writeContextFile } from "../../../../shared/contract/context-file.js";
import type { LogFields } from "../../../../shared/inspect/context.js";
import type { ObservedFile } from "../../../../shared/inspect/evidence.js";
import { errnoOf, sayErrno } from "../../../service/file-reading.js";
import { contextFileName, inspectPaths } from "../../../service/inspect-roots.js";
import { badUsage, type Command, type CommandHost, type ExitCode, type Words } from "../command.js";

export const initCommand: Command = {
  name: "init",
  summary: `write what was guessed about a folder as ${contextFileName}, to be edited`,
  usage: "init [FOLDER]",
  details: [
    `Every later scan of the folder uses ${contextFileName} instead of guessing. A file that is there already is never overwritten.`,
  ],
  options: [{ name: "print", says: "print it, write nothing" }],
  examples: ["init runs", "init runs --print"],
  run: runInit,
};

async function runInit(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [folder = ".", ...more] = words.positionals;
  if (more.length > 0) throw badUsage("init", "one folder at a time");
  if (!(await isFolder(folder))) throw badUsage("init", `${visibleText(folder)} is not a folder`);
  const { evidence } = await inspectPaths(host.means, {
    paths: [folder],
    contextFile: undefined,
    tool: host.tool,
  });
  const judged = evidence.files.filter(
    ({ content, nameBase64 }) => content.kind !== "unreadable" && nameBase64 === undefined,
  );
  const roles = new Map(judged.map(({ path, role }) => [path, role]));
  const text = writeContextFile({
    roles,
    fields: evidence.context.fields ?? guessedFields(judged),
  });
  if (words.flag("print") === true) {
    terminal.out(text);
    return 0;
  }
  const path = join(folder, contextFileName);
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    throw explained(path, error);
  }
  terminal.out(
    `${visibleText(path)} names the roles of ${counted(roles.size, "file")}, as guessed. Look them over, then scan.\n`,
  );
  return 0;
}

/** Fields are declared for all logs of a folder, so they are written only where all were guessed alike. */
function guessedFields(files: readonly ObservedFile[]): LogFields | undefined {
  const texts = files.flatMap(({ content, path }) => {
    if (content.kind !== "log" || path.startsWith(".lastgood/")) return [];
    const { paths, doneIsImplied } = content.log.facts.dialect;
    const named = contextFieldNames.flatMap((name) =>
      paths[name] === undefined ? [] : [[name, paths[name]] as const],
    );
    const fields = { ...Object.fromEntries(named), ...(doneIsImplied ? { doneIsImplied } : {}) };
    return [JSON.stringify(fields)];
  });
  const [first] = new Set(texts);
  if (first === undefined || first === "{}" || new Set(texts).size > 1) return undefined;
  return JSON.parse(first) as LogFields;
}

const contextFieldNames = [
  "item",
  "phase",
  "key",
  "attempt",
  "worker",
  "time",
  "seq",
  "lease",
  "run",
  "error",
] as const;

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function explained(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  const shown = visibleText(path);
  if (errno === "EEXIST")
    return new LastgoodError(
      "input-rejected",
      `${shown} is there already and is left as it is. Move it away, or use --print.`,
      { subject: path },
    );
  return new LastgoodError(
    "not-permitted",
    `${shown} could not be written: ${sayErrno(errno)} (${errno}). Nothing was changed; use --print.`,
    { subject: path, cause: error },
  );
}
