/** One finding per damage of a log; parts of one record in two rotated files are joined. */
import type { EvidenceIndex, ObservedLog } from "../evidence-index.js";
import type { Finding } from "../finding.js";
import type { LogDamage } from "../log-damage.js";
import { partBefore, partJoiningAfter, partJoiningBefore } from "../log-parts.js";
import { sayLogDamage } from "../say-log-damage.js";

export function logDamage(index: EvidenceIndex): readonly Finding[] {
  return index.logs.flatMap((log) => {
    const { foreign, damage } = log.content.log;
    if (foreign !== undefined) return [foreignLog(log, foreign)];
    return damage.map((one) => joinedRecord(index, log, one) ?? damageFinding(index, log, one));
  });
}

function placed(log: ObservedLog, damage: LogDamage) {
  const { kind, severity, certainty, at, where, path, facts } = damage;
  const { length } = facts;
  const to = typeof length === "number" ? at.byteOffset + length : log.content.bytes;
  return {
    kind,
    severity,
    certainty,
    root: log.root,
    file: log.path,
    byteOffset: at.byteOffset,
    line: at.line,
    column: at.column,
    ...(where === undefined ? {} : { where }),
    ...(path === undefined ? {} : { path }),
    facts,
    evidence: [{ file: log.path, sha256: log.content.sha256, from: at.byteOffset, to }],
    health: damage.health,
  };
}

function damageFinding(index: EvidenceIndex, log: ObservedLog, damage: LogDamage): Finding {
  const found = { ...placed(log, damage), ...sayLogDamage(log.path, damage) };
  if (damage.kind !== "nul-run" || damage.at.byteOffset !== 0) return found;
  // With the rotated copy beside it, a hole at the start has lost nothing.
  const rotated = partBefore(index, log);
  return rotated === undefined
    ? found
    : { ...found, facts: { ...found.facts, recordsLost: 0, earlierLinesIn: rotated.path } };
}

/** A cut end and a missing beginning that are one record together: untidy, and nothing is lost. */
function joinedRecord(
  index: EvidenceIndex,
  log: ObservedLog,
  damage: LogDamage,
): Finding | undefined {
  if (damage.kind === "torn-tail") {
    const next = partJoiningAfter(index, log);
    if (next === undefined) return undefined;
    return {
      ...placed(log, damage),
      kind: "split-record",
      severity: "notice",
      facts: { ...damage.facts, continuesIn: next.path },
      says: `${log.path} ends in the middle of a record that goes on in ${next.path}; joined it is whole.`,
      likelyCause: { says: "rotation by size cuts anywhere", certainty: "suspected" },
      next: ["read both parts as one log"],
      relatedTo: [{ file: next.path, kind: "missing-head" }],
    };
  }
  // A piece that happens to begin with a bracket looks like another bad line until its beginning is found.
  const isFirstLine = damage.kind === "bad-line" && damage.at.line === 1;
  if (damage.kind !== "missing-head" && !isFirstLine) return undefined;
  const before = partJoiningBefore(index, log);
  if (before === undefined) return undefined;
  return {
    ...placed(log, damage),
    kind: "missing-head",
    health: "torn",
    severity: "notice",
    facts: { ...damage.facts, continuesFrom: before.path },
    says: `${log.path} begins with the end of a record whose beginning is in ${before.path}; joined it is whole.`,
    likelyCause: { says: "rotation by size cuts anywhere", certainty: "suspected" },
    next: ["read both parts as one log"],
    relatedTo: [{ file: before.path, kind: "split-record" }],
  };
}

const foreignWords: Readonly<Record<string, string>> = {
  "foreign-gzip": "a gzip stream",
  "foreign-zip": "a zip archive",
  "foreign-html": "an HTML or XML page",
  utf16: "UTF-16 text",
};

function foreignLog(log: ObservedLog, kind: Finding["kind"]): Finding {
  return {
    kind,
    severity: kind === "utf16" ? "warning" : "error",
    certainty: "proved",
    root: log.root,
    file: log.path,
    byteOffset: 0,
    facts: { fileBytes: log.content.bytes },
    says: `${log.path} holds ${foreignWords[kind] ?? "another format"}, not JSON Lines in UTF-8.`,
    why: "Nothing else was looked at: line ends and records are not told from such bytes.",
    next: [
      kind === "utf16"
        ? "convert a copy to UTF-8 and scan that"
        : "unpack or fetch a copy and scan that",
    ],
    health: kind === "utf16" ? "encoding" : "foreign",
  };
}
