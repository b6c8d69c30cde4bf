/** A lease as stored: read without trust, and judged against a clock that may differ from the holder's. */
import { limits } from "../base/limits.js";
import { isJsonObject, memberOf, parseJson } from "../format/json-value.js";
import type { LeaseRecord } from "./lease.js";

/**
 * Whether the lease is in force at `nowMs`, by the clock alone.
 *
 * "unsure": within the skew allowance of its end, or renewed at a time that lies ahead of ours by more than that:
 * then one of the clocks was stepped, and neither "held" nor "expired" can be said.
 * A released lease is "expired".
 */
export function leaseStateAt(
  lease: Pick<LeaseRecord, "holder" | "renewedAt" | "durationMs">,
  nowMs: number,
  clockSkewMsMax: number = limits.clockSkewMsMax,
): "held" | "unsure" | "expired" {
  if (lease.holder === null) return "expired";
  const renewedAtMs = Date.parse(lease.renewedAt);
  const expiresAtMs = renewedAtMs + lease.durationMs;
  if (!Number.isFinite(expiresAtMs) || renewedAtMs > nowMs + clockSkewMsMax) return "unsure";
  if (nowMs < expiresAtMs - clockSkewMsMax) return "held";
  return nowMs < expiresAtMs + clockSkewMsMax ? "unsure" : "expired";
}

/** ISO 8601 in UTC with milliseconds. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

const encoder = new TextEncoder();

export function encodeLease(record: LeaseRecord): Uint8Array {
  return encoder.encode(`${JSON.stringify(record)}\n`);
}

/** Reads a stored lease; undefined when it is not one. Any bytes are answered. */
export function readLease(bytes: Uint8Array): LeaseRecord | undefined {
  const parsed = parseJson(bytes);
  if (parsed.kind === "not-json" || !isJsonObject(parsed.value)) return undefined;
  const { value } = parsed;
  const text = (name: string) => asText(memberOf(value, name));
  const number = (name: string) => asNumber(memberOf(value, name));
  const holder = memberOf(value, "holder");
  const token = number("token");
  const durationMs = number("durationMs");
  const renewedAt = text("renewedAt");
  if (holder !== null && typeof holder !== "string") return undefined;
  if (token === undefined || durationMs === undefined || renewedAt === undefined) return undefined;
  return {
    holder,
    token,
    host: text("host") ?? "",
    // 0 is nobody's pid: the process table then answers "unknown", never "gone".
    pid: number("pid") ?? 0,
    processStartedAt: text("processStartedAt"),
    operation: text("operation") ?? "",
    acquiredAt: text("acquiredAt") ?? renewedAt,
    renewedAt,
    durationMs,
    // Not said at all means not known to be fenced off.
    earlierHolder: text("earlierHolder") === "stopped" ? "stopped" : "unknown",
  };
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
