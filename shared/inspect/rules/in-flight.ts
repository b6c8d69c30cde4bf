import { limits } from "../../base/limits.js";
import type { RecordPlace } from "../../format/item-state.js";
import { type JsonValue, memberOf } from "../../format/json-value.js";
import type { EvidenceIndex } from "../evidence-index.js";

/**
 * In flight is not in doubt: the writer's lease is in force, or the intent is younger than the grace period and
 * nothing shows that its writer has gone. A lease that was given back shows just that.
 */
export function isInFlight(index: EvidenceIndex, intent: RecordPlace | undefined): boolean {
  if (intent === undefined) return false;
  const lease = intent.lease === undefined ? "none" : leaseState(index, intent.lease);
  if (lease === "in-force") return true;
  if (lease === "over") return false;
  const ageMs = intent.at === undefined ? Number.NaN : index.evidence.nowMs - Date.parse(intent.at);
  return ageMs >= -limits.clockSkewMsMax && ageMs < limits.inFlightGraceMs;
}

function leaseState(index: EvidenceIndex, token: string): "in-force" | "over" | "none" {
  let state: "in-force" | "over" | "none" = "none";
  for (const document of index.documents) {
    const value = document.role === "lock" ? index.value(document) : undefined;
    if (value === undefined || String(memberOf(value, "token")) !== token) continue;
    if (memberOf(value, "holder") === null) return "over";
    if (isRunning(value, index.evidence.nowMs)) state = "in-force";
  }
  return state;
}

function isRunning(lease: JsonValue, nowMs: number): boolean {
  const [holder, renewed] = [memberOf(lease, "holder"), memberOf(lease, "renewedAt")];
  const duration = memberOf(lease, "durationMs");
  if (typeof holder !== "string" || typeof renewed !== "string" || typeof duration !== "number")
    return false;
  return nowMs < Date.parse(renewed) + duration - limits.clockSkewMsMax;
}
