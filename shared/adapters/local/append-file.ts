import { invariant } from "../../base/assert.js";
import type { AppendOutcome, LogFile, TailRepair } from "../../storage/object-store.js";
import { writerStopped } from "../../storage/refusals.js";
import { lineEnd } from "../../storage/tail.js";
import type { Disk } from "./disk.js";
import { explainErrno } from "./errno.js";
import type { OpenFile } from "./fs-ops.js";
import type { Place } from "./stage-file.js";
import { appendSome } from "./whole-file.js";

/** A log that was opened: repaired, synced, and under its name. */
export interface OpenedLog {
  readonly file: OpenFile;
  readonly identity: string;
  readonly sizeBytes: number;
  readonly tailRepair: TailRepair;
}

/**
 * Appends whole lines to one file.
 *
 * Guarantee: "appended" bytes are on the device and in the file that the name leads to, right behind the bytes
 * appended before. Whatever else happens ends the handle: what a failed write or sync left on the device cannot be
 * known from here, and a second sync would report success over pages the system has already given up.
 */
export class AppendFile implements LogFile {
  readonly tailRepair: TailRepair;
  readonly #disk: Disk;
  readonly #log: Place;
  readonly #file: OpenFile;
  readonly #identity: string;
  #sizeBytes: number;
  #state: "open" | "appending" | "stopped" | "closed" = "open";

  constructor(disk: Disk, log: Place, opened: OpenedLog) {
    this.#disk = disk;
    this.#log = log;
    this.#file = opened.file;
    this.#identity = opened.identity;
    this.#sizeBytes = opened.sizeBytes;
    this.tailRepair = opened.tailRepair;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array): Promise<AppendOutcome> {
    invariant(bytes.at(-1) === lineEnd, "whole lines are appended, each with its line end");
    invariant(this.#state !== "appending", "one append at a time; the caller groups its records");
    if (this.#state !== "open") throw writerStopped(this.#log.path);
    this.#state = "appending";
    try {
      const outcome = await this.#appendOnce(bytes);
      this.#settle(outcome.kind === "appended" ? "open" : "stopped");
      return outcome;
    } catch (error) {
      this.#settle("stopped");
      throw explainErrno(error, {
        doing: "append to",
        path: this.#log.path,
        stillTrue:
          "Every record confirmed before is in the log; of the records being written now some may be.",
      });
    }
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    await this.#file.close();
  }

  #settle(next: "open" | "stopped"): void {
    if (this.#state === "appending") this.#state = next; // closed meanwhile stays closed
  }

  async #appendOnce(bytes: Uint8Array): Promise<AppendOutcome> {
    const endByte = this.#sizeBytes + bytes.length;
    // Somebody else's bytes at the end, perhaps cut ones: ours must not be glued to them.
    if ((await this.#file.stat()).sizeBytes !== this.#sizeBytes) return { kind: "displaced" };
    await this.#disk.atCrashPoint("append: about to write");
    if (!(await this.#write(bytes))) return { kind: "displaced" };
    await this.#disk.atCrashPoint("append: written");
    try {
      await this.#file.sync(); // on the device before anybody is told
    } catch {
      return { kind: "in-doubt", reason: "sync-failed" };
    }
    await this.#disk.atCrashPoint("append: synced");
    // After the sync, never before it: a take-over carries over what reached our file before the name was moved,
    // so finding our file under the name now proves that these records are in the log for good.
    const found = await this.#disk.fs.lstat(this.#log.path);
    const ours =
      found !== "absent" && found.identity === this.#identity && found.sizeBytes === endByte;
    if (!ours) return { kind: "displaced" };
    await this.#disk.atCrashPoint("append: looked");
    this.#sizeBytes = endByte;
    return { kind: "appended", endByte };
  }

  /** False when somebody else's bytes came in between two parts of ours. */
  async #write(bytes: Uint8Array): Promise<boolean> {
    let written = 0;
    for (;;) {
      written += await appendSome(this.#file, bytes.subarray(written));
      if (written === bytes.length) return true;
      // A short write. The rest may follow only right behind it, or it would be glued to another's record.
      if ((await this.#file.stat()).sizeBytes !== this.#sizeBytes + written) return false;
    }
  }
}
