/** Lock files and leases whose owner is provably gone, or that nobody renewed. */
import { limits } from "../../base/limits.js";
import { type JsonValue, memberOf } from "../../format/json-value.js";
import type { KnownProcess } from "../context.js";
import type { EvidenceIndex, ObservedDocument } from "../evidence-index.js";
import type { Finding } from "../finding.js";

export function locks(index: EvidenceIndex): readonly Finding[] {
  return index.documents
    .filter((document) => document.role === "lock")
    .flatMap((lock) => {
      const value = index.value(lock);
      if (value === undefined) return [];
      if (isOutOfForce(index, lock, value)) return [];
      // An owner that is provably gone says more than a lease that ran out.
      const stale = staleLock(index, lock, value);
      return stale.length > 0 ? stale : (expiredLease(index, lock, value) ?? []);
    });
}

interface Owner {
  readonly pid: number;
  readonly host: string | undefined;
  /** When the lock was made. */
  readonly sinceMs: number;
  /** When its owner says that it started. */
  readonly startedMs: number;
}

const pidNames = ["pid", "processId", "process_id", "PID"];
const hostNames = ["host", "hostname", "hostName", "machine"];
const timeNames = [
  "createdAt",
  "created_at",
  "created",
  "acquiredAt",
  "timestamp",
  "time",
  "startedAt",
  "at",
  "Created",
];

function ownerOf(value: JsonValue): Owner | undefined {
  const pid = first(value, pidNames);
  const host = first(value, hostNames);
  const since = first(value, timeNames);
  const number = typeof pid === "string" ? Number(pid) : pid;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) return undefined;
  return {
    pid: number,
    host: typeof host === "string" ? host : undefined,
    sinceMs: timeMs(since),
    startedMs: timeMs(first(value, ["processStartedAt"])),
  };
}

function first(value: JsonValue, names: readonly string[]): JsonValue | undefined {
  for (const name of names) {
    const found = memberOf(value, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function timeMs(value: JsonValue | undefined): number {
  if (typeof value === "string") return Date.parse(value);
  if (typeof value === "number") return value < 1e11 ? value * 1000 : value;
  return Number.NaN;
}

/** Only a process table that covers the owner's host can prove anything. */
function staleLock(
  index: EvidenceIndex,
  lock: ObservedDocument,
  value: JsonValue,
): readonly Finding[] {
  const owner = ownerOf(value);
  const { processes } = index.context;
  if (owner === undefined || processes === undefined) return [];
  const covered = processes.filter(
    (process) =>
      owner.host === undefined || process.host === undefined || process.host === owner.host,
  );
  if (owner.host !== undefined && covered.length === 0 && processes.length > 0) return [];
  const proof = goneBecause(owner, covered);
  if (proof === undefined) return [];
  return [
    {
      kind: "stale-lock",
      severity: "error",
      certainty: "proved",
      root: lock.root,
      file: lock.path,
      facts: {
        pid: owner.pid,
        proof,
        ...(owner.host === undefined ? {} : { host: owner.host }),
      },
      says: `${lock.path} names process ${owner.pid}, which is gone: ${proof}.`,
      why: "Whoever waits for this lock waits for nobody.",
      next: [
        "look at what the owner was doing and whether it finished",
        "release the lock by hand; it is never removed by itself",
      ],
      health: "suspect",
    },
  ];
}

function goneBecause(owner: Owner, processes: readonly KnownProcess[]): string | undefined {
  const same = processes.find((process) => process.pid === owner.pid);
  if (same === undefined) return `no process ${owner.pid} runs on its host`;
  const startedMs = same.started === undefined ? Number.NaN : Date.parse(same.started);
  const isOther = Math.abs(startedMs - owner.startedMs) > limits.clockSkewMsMax;
  const isLater = startedMs > owner.sinceMs + limits.clockSkewMsMax;
  if (!isLater && !isOther) return undefined; // also when a time is not known: NaN compares false
  const name = same.name === undefined ? "" : ` (${same.name})`;
  return `process ${owner.pid}${name} started ${same.started}, ${isLater ? "after the lock was made" : "at another time than its owner"}`;
}

const holderNames = ["holder", "owner", "worker", "heldBy"];
const tokenNames = ["token", "fencingToken", "leaseId", "lease"];
const expiryNames = [
  "expiresAt",
  "expires_at",
  "expires",
  "until",
  "validUntil",
  "leaseUntil",
  "lockUntil",
];

/** When a lease runs out: its last renewal and duration (ours), or the moment it names itself. */
function expiryOf(value: JsonValue): number | undefined {
  const duration = memberOf(value, "durationMs");
  const renewed = memberOf(value, "renewedAt");
  if (typeof duration === "number" && renewed !== undefined) return timeMs(renewed) + duration;
  const named = first(value, expiryNames);
  return named === undefined ? undefined : timeMs(named);
}

/** Undefined: no lease. */
function expiredLease(
  index: EvidenceIndex,
  lock: ObservedDocument,
  value: JsonValue,
): readonly Finding[] | undefined {
  const expiryMs = expiryOf(value);
  if (expiryMs === undefined) return undefined;
  const tokenFound = first(value, tokenNames);
  const token = typeof tokenFound === "number" || typeof tokenFound === "string" ? tokenFound : 0;
  const holder = first(value, holderNames);
  if (typeof holder !== "string") return [];
  const overdueMs = index.evidence.nowMs - (expiryMs + limits.clockSkewMsMax);
  if (Number.isNaN(overdueMs) || overdueMs <= 0) return [];
  const overdueSeconds = Math.round(overdueMs / 1000);
  return [
    {
      kind: "lease-expired",
      severity: "warning",
      certainty: "proved",
      root: lock.root,
      file: lock.path,
      facts: { holder, token, overdueSeconds },
      says: `${lock.path}: ${holder} holds the lease with token ${token} and did not renew it; it ran out ${overdueSeconds} seconds ago.`,
      why: "The holder may be dead or only slow: an expired lease does not tell.",
      next: ["look for the holder's process on its host before taking the lease over"],
    },
  ];
}

/** A lease that was given back, or that a later grant or renewal replaced, holds nobody up. */
function isOutOfForce(index: EvidenceIndex, lock: ObservedDocument, value: JsonValue): boolean {
  if (memberOf(value, "holder") === null) return true;
  const token = memberOf(value, "token");
  return typeof token === "number" && isSuperseded(index, lock, token);
}

/** Grants and renewals are files of their own; only the newest is in force. */
function isSuperseded(index: EvidenceIndex, lock: ObservedDocument, token: number): boolean {
  const name = /^(.*\.lease)\.(\d+)\.(\d+)\.json$/.exec(lock.path);
  if (name === null) return false;
  const renewal = Number(name[3]);
  return index.documents.some((other) => {
    const match = /^(.*\.lease)\.(\d+)\.(\d+)\.json$/.exec(other.path);
    if (match === null || match[1] !== name[1] || other.root !== lock.root) return false;
    const otherToken = Number(match[2]);
    return otherToken > token || (otherToken === token && Number(match[3]) > renewal);
  });
}
