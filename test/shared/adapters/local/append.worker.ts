/**
 * Opens a log and does as it is told by messages; stops itself (SIGSTOP) once, at the crash point named by argv.
 * argv: root, how to take over ("in-place" or a token), the crash point ("" for none).
 */
import { blockingFsOps } from "../../../../shared/adapters/local/blocking-fs-ops.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { isLastgoodError } from "../../../../shared/base/errors.js";
import type { LogFile } from "../../../../shared/storage/object-store.js";
import { isJsonObject } from "../../../support/json-object.js";

const [root = "", takeOver = "in-place", stopAt = ""] = process.argv.slice(2);
let stopped = false;
const store = await openLocalStore({
  root,
  fs: blockingFsOps,
  atCrashPoint: (point) => {
    if (point !== stopAt || stopped) return;
    stopped = true;
    process.kill(process.pid, "SIGSTOP");
  },
});

const log = await open();
// One after the other: a log takes one append at a time.
let last = Promise.resolve();
if (log !== undefined) {
  process.on("message", (line) => {
    last = last.then(() => append(log, String(line)));
  });
}

async function open(): Promise<LogFile | undefined> {
  try {
    const opened = await store.openLog("checkpoint.jsonl", {
      isWholeRecord: isJsonObject,
      setAside: async () => undefined,
      takeOver:
        takeOver === "in-place" ? takeOver : { kind: "fresh-inode", token: Number(takeOver) },
    });
    process.send?.("open");
    return opened;
  } catch (error) {
    process.send?.(isLastgoodError(error) ? error.code : String(error));
    return undefined;
  }
}

async function append(to: LogFile, line: string): Promise<void> {
  try {
    process.send?.((await to.append(new TextEncoder().encode(`${line}\n`))).kind);
  } catch (error) {
    process.send?.(isLastgoodError(error) ? error.code : String(error));
  }
}
