/**
 * Real processes for tests: started from the compiled tree, told things and asked things by messages,
 * stopped and killed by signals. A worker is a file `*.worker.ts` beside its test; `tsc -b` puts it under dist/.
 */
import { type ChildProcess, fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One child process. Messages are kept in order until they are asked for; none is lost before the first `next`. */
export interface Worker {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  send(message: unknown): void;
  /** The next message; rejects when the process ends without sending one. */
  next(): Promise<unknown>;
  /** The messages received and not asked for until now; never waits. */
  drain(): unknown[];
  /** Sends the signal and, for SIGKILL, resolves when the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Resolves once the kernel says that the process is stopped (SIGSTOP). Linux only. */
  stopped(): Promise<void>;
}

const repositoryRoot = new URL("../../", import.meta.url).href.replace(/dist\/$/, "");
const running = new Set<ChildProcess>();

/** Where the compiler puts a source file of the test tree. */
export function compiledPath(source: URL): string {
  const relative = source.href.slice(repositoryRoot.length).replace(/\.ts$/, ".js");
  return fileURLToPath(new URL(`dist/${relative}`, repositoryRoot));
}

/** Starts the compiled form of `source`, for example `new URL("./replace.worker.ts", import.meta.url)`. */
export function startWorker(source: URL, args: readonly string[] = []): Worker {
  const script = compiledPath(source);
  if (!existsSync(script)) {
    throw new Error(
      `${script} is not there: workers run from the compiled tree, run "npx tsc -b" first`,
    );
  }
  // execArgv is emptied because the flags of the test runner's own process are not meant for a plain worker.
  const child = fork(script, [...args], {
    execArgv: [],
    serialization: "advanced",
    stdio: "inherit",
  });
  if (child.pid === undefined) throw new Error(`${script} could not be started`);
  running.add(child);
  return follow(child, child.pid, script);
}

function follow(child: ChildProcess, pid: number, script: string): Worker {
  const arrived: unknown[] = [];
  const waiting: { resolve(message: unknown): void; reject(error: Error): void }[] = [];
  let end: Exit | undefined;
  child.on("message", (message) => {
    const first = waiting.shift();
    if (first === undefined) arrived.push(message);
    else first.resolve(message);
  });
  const exited = new Promise<Exit>((resolve) => {
    // "close" comes after the message channel is drained, "exit" may come before the last message.
    child.once("close", (code, signal) => {
      running.delete(child);
      end = { code, signal };
      for (const one of waiting.splice(0)) one.reject(endedError(script, end));
      resolve(end);
    });
  });
  return {
    pid,
    exited,
    send: (message) => void child.send(message as object),
    next: () =>
      new Promise((resolve, reject) => {
        if (arrived.length > 0) resolve(arrived.shift());
        else if (end !== undefined) reject(endedError(script, end));
        else waiting.push({ resolve, reject });
      }),
    drain: () => arrived.splice(0),
    kill: async (signal = "SIGKILL") => {
      if (end === undefined) child.kill(signal);
      if (signal === "SIGKILL") await exited;
    },
    stopped: () => untilStopped(pid),
  };
}

function endedError(script: string, end: Exit): Error {
  return new Error(
    `${script} ended (code ${end.code}, signal ${end.signal}) without sending a message`,
  );
}

async function untilStopped(pid: number): Promise<void> {
  for (;;) {
    // "pid (name) S …": the state follows the last ")", since the name may hold one itself.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    if (text[text.lastIndexOf(")") + 2] === "T") return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Ends every worker still running that this test file started; call it in afterEach or afterAll. */
export async function killWorkers(): Promise<void> {
  const ends = [...running].map(
    (child) => new Promise<void>((resolve) => void child.once("close", () => resolve())),
  );
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(ends);
}
