import { safeJson } from "../../../../shared/base/text.js";
import { probeFolder } from "../../../service/probe-folder.js";
import { badUsage, type Command, type CommandHost, type ExitCode, type Words } from "../command.js";
import { labelled } from "../layout.js";
import { paintFor } from "../paint.js";
import { wantsColor } from "../terminal.js";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "what this machine and file system can promise",
  usage: "doctor [FOLDER]",
  details: [
    "Tries what the core needs in a fresh folder inside FOLDER (default: the system's folder for temporary files) and removes it again. Exit code: 1 when something that the core needs is refused.",
  ],
  options: [
    { name: "json", says: "print JSON" },
    { name: "color", says: "colour the text; --no-color: do not" },
  ],
  examples: ["doctor", "doctor runs"],
  run: runDoctor,
};

async function runDoctor(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [folder, ...more] = words.positionals;
  if (more.length > 0) throw badUsage("doctor", "one folder at a time");
  const probed = await probeFolder(folder);
  const about = {
    tool: host.tool,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    host: host.means.hostName,
    folder: probed.folder,
  };
  const ok = probed.probes.every(({ result }) => result !== "refused");
  if (words.flag("json") === true) {
    terminal.out(`${safeJson({ ...about, probes: probed.probes }, 2)}\n`);
    return ok ? 0 : 1;
  }
  const paint = paintFor(wantsColor(terminal, words.flag("color")));
  const lines = [
    paint.strong(
      ok ? "everything the core needs works here" : "something the core needs is refused here",
    ),
    "",
    ...Object.entries(about).flatMap(([name, says]) =>
      labelled(name, says, terminal.columns, paint),
    ),
    "",
    ...probed.probes.flatMap(({ name, result, says }) =>
      labelled(name, `${result}: ${says}`, terminal.columns, paint),
    ),
  ];
  terminal.out(`${lines.join("\n")}\n`);
  return ok ? 0 : 1;
}
