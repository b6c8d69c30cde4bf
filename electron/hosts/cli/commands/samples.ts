import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { LastgoodError } from "../../../../shared/base/errors.js";
import { visibleText } from "../../../../shared/base/text.js";
import { errnoOf, sayErrno } from "../../../service/file-reading.js";
import { badUsage, type Command, type CommandHost, type ExitCode, type Words } from "../command.js";
import { twoColumns } from "../layout.js";
import { samplesFolder, sampleTitles } from "../sample-incidents.js";

export const samplesCommand: Command = {
  name: "samples",
  summary: "copy the sample incidents to a folder, to try things on",
  usage: "samples DIR",
  details: ["DIR must be empty or not be there yet. Without DIR, the list of samples."],
  options: [],
  examples: ["samples", "samples incidents"],
  run: runSamples,
};

async function runSamples(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [target, ...more] = words.positionals;
  if (more.length > 0) throw badUsage("samples", "one folder at a time");
  const titles = await sampleTitles(host.packageFolder);
  if (target === undefined) {
    terminal.out(`${twoColumns(titles, terminal.columns).join("\n")}\n`);
    return 0;
  }
  const shown = visibleText(target);
  if (!(await isFree(target)))
    throw new LastgoodError(
      "input-rejected",
      `${shown} is there and not an empty folder; nothing was copied. Name another folder.`,
      { subject: target },
    );
  try {
    await mkdir(target, { recursive: true });
    await cp(samplesFolder(host.packageFolder), target, {
      recursive: true,
      errorOnExist: true,
      force: false,
    });
  } catch (error) {
    throw explained(shown, error);
  }
  const first = titles[0]?.[0] ?? "";
  terminal.out(
    `${twoColumns(titles, terminal.columns).join("\n")}\n\nNow try: lastgood scan ${visibleText(join(target, first, "files"))}\n`,
  );
  return 0;
}

async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}

function explained(shown: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  return new LastgoodError(
    "not-permitted",
    `The samples could not be copied to ${shown}: ${sayErrno(errno)} (${errno}).`,
    { cause: error },
  );
}
