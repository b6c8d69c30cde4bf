/** The command line as scripts meet it: the compiled program in a process of its own. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processCommandHost } from "../../electron/hosts/cli/command-host.js";
import { runCommand } from "../../electron/hosts/cli/run-command.js";

const main = fileURLToPath(new URL("../../dist/electron/hosts/cli/main.js", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** The reader of the output goes away after its first bytes. */
  readonly closeEarly?: true;
}

export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  if (!existsSync(main)) throw new Error(`${main} is not there: run "npx tsc -b" first`);
  return new Promise((resolve, reject) => {
    const { NO_COLOR: _noColor, FORCE_COLOR: _forceColor, ...environment } = process.env;
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...environment, ...options.environment },
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.folder === undefined ? {} : { cwd: options.folder }),
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (options.closeEarly === true) child.stdout.destroy();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

/** The same program inside this process: for what does not depend on streams, since a process costs a second. */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const host = processCommandHost();
  let out = "";
  let err = "";
  const code = await runCommand(args, {
    ...host,
    terminal: {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      outIsTerminal: false,
      columns: 100,
      environment,
    },
  });
  return { code, out, err };
}

/** A fresh folder; removed when `remove` is called. */
export function freshFolder(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "lastgood-test-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
