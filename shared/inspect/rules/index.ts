import type { EvidenceIndex } from "../evidence-index.js";
import type { Finding } from "../finding.js";
import { declaredRules } from "./declared.js";
import { documentDamage } from "./document-damage.js";
import { doubleApplied } from "./double-applied.js";
import { effects } from "./effects.js";
import { leftovers } from "./leftovers.js";
import { locks } from "./locks.js";
import { logDamage } from "./log-damage.js";
import { logOrder } from "./log-order.js";
import { staleInputs } from "./stale-inputs.js";
import { unreadable } from "./unreadable.js";
import { versionChain } from "./version-chain.js";

/** Every rule, as a list: what the inspector knows is what stands here. */
export const rules: readonly ((index: EvidenceIndex) => readonly Finding[])[] = [
  unreadable,
  documentDamage,
  versionChain,
  leftovers,
  locks,
  staleInputs,
  doubleApplied,
  declaredRules,
  logDamage,
  effects,
  logOrder,
];
