/** What `npm start` runs: the sample incident of the half-written document, and what to try next. */
import { join, relative } from "node:path";
import { processCommandHost } from "./hosts/cli/command-host.js";
import { runCommand } from "./hosts/cli/run-command.js";
import { samplesFolder } from "./hosts/cli/sample-incidents.js";
import { ignoreClosedReaders } from "./hosts/cli/terminal.js";

ignoreClosedReaders();
const host = processCommandHost();
const sample = join(samplesFolder(host.packageFolder), "half-written-run", "files");
const shown = relative(process.cwd(), sample) || ".";
const code = await runCommand(["scan", shown], host);
const document = join(shown, "run_9d4a.json");
host.terminal.out(`
Now try:
  npx lastgood versions ${document}
  npx lastgood diff ${document}@v61 ${document}
  npx lastgood explain truncated
  npx lastgood samples incidents
  npx lastgood scan FOLDER        your own run state; nothing is changed
`);
// The sample is damaged on purpose: finding that is the success of this command.
process.exitCode = code === 1 ? 0 : code;
