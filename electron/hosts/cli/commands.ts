import type { Command } from "./command.js";
import { completionCommand } from "./commands/completion.js";
import { diffCommand } from "./commands/diff.js";
import { doctorCommand } from "./commands/doctor.js";
import { explainCommand } from "./commands/explain.js";
import { initCommand } from "./commands/init.js";
import { samplesCommand } from "./commands/samples.js";
import { scanCommand } from "./commands/scan.js";
import { versionsCommand } from "./commands/versions.js";

/** In the order a person needs them. */
export const commands: readonly Command[] = [
  scanCommand,
  versionsCommand,
  diffCommand,
  explainCommand,
  initCommand,
  samplesCommand,
  doctorCommand,
  completionCommand(() => commands),
];
