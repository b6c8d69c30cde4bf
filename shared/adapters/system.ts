/** The impure small things that all other code takes as arguments: time, randomness, hashes, processes. */
import { hash, randomBytes, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export function nowMs(): number {
  return Date.now();
}

/** ISO 8601 in UTC with milliseconds: 2026-01-31T09:00:00.000Z. */
export function nowIso(): string {
  return new Date().toISOString();
}

export function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** A fresh UUID, for example as an update id. */
export function randomId(): string {
  return randomUUID();
}

/** Fresh random bytes as twice as many lower-case hex digits. */
export function randomHex(bytesCount: number): string {
  return randomBytes(bytesCount).toString("hex");
}

/** At least 0, below 1; for jitter. */
export function randomFraction(): number {
  return randomBytes(4).readUInt32BE() / 2 ** 32;
}

/** 64 lower-case hex digits. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

export interface ProcessIdentity {
  /** Host name, with the process namespace added inside a container: the same pid there is another process. */
  readonly host: string;
  readonly pid: number;
  /** ISO time; undefined where the system does not tell it (anything but Linux). */
  readonly processStartedAt: string | undefined;
}

/** Who we are, as a lease records it. */
export function processIdentity(): ProcessIdentity {
  const startedAtMs = processFacts(process.pid)?.startedAtMs;
  return {
    host: hostIdentity(),
    pid: process.pid,
    processStartedAt: startedAtMs === undefined ? undefined : new Date(startedAtMs).toISOString(),
  };
}

/**
 * Whether the process that had this pid and start time still runs on this host.
 *
 * "gone" and "alive" are proved by the process table; everything else is "unknown", and must be treated as if it
 * could still write. Ask only about a pid recorded under the `host` of our own processIdentity().
 */
export function processAlive(
  pid: number,
  startedAt: string | undefined,
): "alive" | "gone" | "unknown" {
  if (!Number.isSafeInteger(pid) || pid <= 0) return "unknown";
  if (!processExists(pid)) return "gone";
  const facts = processFacts(pid);
  if (facts === undefined) return "unknown";
  // A zombie has ended and only waits to be collected: it has no thread left that could write.
  if (facts.state === "Z" || facts.state === "X") return "gone";
  const recordedMs = startedAt === undefined ? Number.NaN : Date.parse(startedAt);
  if (Number.isNaN(recordedMs)) return "unknown";
  return sameStart(recordedMs, facts.startedAtMs);
}

/** Two readings of one start time may differ by the rounding of the boot time and of foreign records. */
const startToleranceMs = 2_000;

/**
 * Start times are ticks since boot plus the boot time in whole seconds, and the kernel moves the boot time when
 * the clock is set. A step of the clock therefore keeps the part below a second, and a process that only seems to
 * have started at another time may still be the recorded one: "gone" needs that part to differ too.
 */
function sameStart(recordedMs: number, foundMs: number): "alive" | "gone" | "unknown" {
  if (Math.abs(recordedMs - foundMs) <= startToleranceMs) return "alive";
  return recordedMs % 1_000 === foundMs % 1_000 ? "unknown" : "gone";
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there, and somebody else's. Only ESRCH says that no such process exists.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

interface ProcessFacts {
  /** One letter of the kernel: R running, S sleeping, T stopped, Z zombie … */
  readonly state: string;
  readonly startedAtMs: number;
}

/** Ticks per second in /proc: fixed at 100 by the kernel's interface on every machine Node runs on. */
const ticksPerSecond = 100;

function processFacts(pid: number): ProcessFacts | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`);
  const bootSeconds = /^btime (\d+)$/m.exec(readProcFile("/proc/stat") ?? "")?.[1];
  if (stat === undefined || bootSeconds === undefined) return undefined;
  // "pid (name) state …": a name may hold spaces and brackets, so fields count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const startTicks = Number(fields[19]);
  if (state === undefined || !Number.isSafeInteger(startTicks)) return undefined;
  const startedAtMs = Number(bootSeconds) * 1_000 + startTicks * (1_000 / ticksPerSecond);
  return { state, startedAtMs };
}

function hostIdentity(): string {
  const namespace = ownProcessNamespace();
  return namespace === undefined ? hostname() : `${hostname()} (${namespace})`;
}

/** The kernel's fixed number for the process namespace of a machine outside any container. */
const outermostNamespace = "pid:[4026531836]";

function ownProcessNamespace(): string | undefined {
  try {
    const namespace = readlinkSync("/proc/self/ns/pid");
    return namespace === outermostNamespace ? undefined : namespace;
  } catch {
    return undefined; // Not Linux, or /proc is closed to us: the host name alone has to do.
  }
}

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // Not Linux, or the process ended between two looks.
  }
}
