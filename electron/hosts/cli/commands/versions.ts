import { clipToColumns, grouped, safeJson } from "../../../../shared/base/text.js";
import { type FileVersion, listVersions } from "../../../service/list-versions.js";
import { badUsage, type Command, type CommandHost, type ExitCode, type Words } from "../command.js";
import { table } from "../layout.js";

export const versionsCommand: Command = {
  name: "versions",
  summary: "list a document and the copies of it that were kept",
  usage: "versions FILE",
  details: [
    "Kept versions, backups, temporary files and conflict copies beside FILE, newest first. The one that may be restored is marked when FILE itself is damaged.",
  ],
  options: [{ name: "json", says: "print JSON" }],
  examples: ["versions runs/run_9d4a.json"],
  run: runVersions,
};

async function runVersions(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const [path, ...more] = words.positionals;
  if (path === undefined || more.length > 0) throw badUsage("versions", "name one document");
  const found = await listVersions(host.means, path);
  if (words.flag("json") === true) {
    terminal.out(`${safeJson(found, 2)}\n`);
    return 0;
  }
  if (found.versions.length === 0) {
    terminal.out("No document was found there; a log has no versions.\n");
    return 2;
  }
  const header = ["version", "health", "bytes", "changed (UTC)", "what", "file"];
  const lines = table([header, ...found.versions.map(row)]);
  terminal.out(`${lines.map((line) => clipToColumns(line, terminal.columns)).join("\n")}\n`);
  return 0;
}

function row(version: FileVersion): readonly string[] {
  const mark = version.recommended ? "  <- may be restored" : "";
  return [
    version.version === undefined ? "?" : String(version.version),
    version.health,
    grouped(version.bytes),
    version.modifiedMs === 0
      ? "?"
      : new Date(version.modifiedMs).toISOString().slice(0, 19).replace("T", " "),
    version.place,
    `${version.file}${mark}`,
  ];
}
