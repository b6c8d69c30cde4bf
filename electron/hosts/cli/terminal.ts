/** Where a command writes. Standard output carries the answer and nothing else; remarks go to standard error. */
export interface Terminal {
  /** Of the answer. `text` ends in a line end. */
  out(text: string): void;
  /** Of remarks and refusals. */
  err(text: string): void;
  readonly outIsTerminal: boolean;
  readonly columns: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Lines are never longer than this, however wide the window is: a sentence of 200 columns is not read. */
const columnsMax = 100;
const columnsMin = 40;

export function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    columns: Math.max(columnsMin, Math.min(columnsMax, process.stdout.columns ?? columnsMax)),
    environment: process.env,
  };
}

/**
 * A reader that closed early (`lastgood scan | head`) is no failure: what remains is not written, and the exit
 * code stays what the scan found.
 */
export function ignoreClosedReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") return;
      process.stderr.write(
        `lastgood: the answer could not be written (${error.code}); it is not whole.\n`,
      );
      process.exit(2);
    });
}

/** Whether colour is wanted: asked for, else a terminal that did not refuse it (https://no-color.org). */
export function wantsColor(terminal: Terminal, asked: boolean | undefined): boolean {
  if (asked !== undefined) return asked;
  const { NO_COLOR: refused, TERM: kind } = terminal.environment;
  return terminal.outIsTerminal && (refused === undefined || refused === "") && kind !== "dumb";
}
