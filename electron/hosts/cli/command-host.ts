/** The real world for a command: this machine's files, clock and terminal. */
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nowMs, pause } from "../../../shared/adapters/system.js";
import { invariant } from "../../../shared/base/assert.js";
import { nodeFileReading } from "../../service/file-reading.js";
import type { CommandHost } from "./command.js";
import { processTerminal } from "./terminal.js";

export function processCommandHost(): CommandHost {
  const packageFolder = findPackageFolder();
  const { version } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
    version: string;
  };
  return {
    terminal: processTerminal(),
    means: { reading: nodeFileReading, nowMs, pause, hostName: hostname() },
    tool: version,
    packageFolder,
  };
}

/** The nearest folder above with our package.json: compiled code stands at another depth than its source. */
function findPackageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    const above = dirname(folder);
    invariant(above !== folder, "the program stands inside its package");
    folder = above;
  }
  return folder;
}
