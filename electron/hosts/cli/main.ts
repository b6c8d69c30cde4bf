#!/usr/bin/env node
import { processCommandHost } from "./command-host.js";
import { runCommand } from "./run-command.js";
import { ignoreClosedReaders } from "./terminal.js";

ignoreClosedReaders();
// Not process.exit(): what is still on its way into a pipe would be cut off.
process.exitCode = await runCommand(process.argv.slice(2), processCommandHost());
