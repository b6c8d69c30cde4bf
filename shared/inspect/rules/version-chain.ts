/** Head against its kept versions and against the log of writes: regress, fork, reset, gaps, missing head. */
import { isJsonObject, type JsonValue, sameValue } from "../../format/json-value.js";
import type { EvidenceIndex, ObservedDocument } from "../evidence-index.js";
import { baseOf, type Family, versionInName } from "../families.js";
import type { Finding } from "../finding.js";
import { historyOf } from "../log-views.js";
import { shown } from "../show-value.js";

export function versionChain(index: EvidenceIndex): readonly Finding[] {
  return index.families.flatMap((family) => [
    ...misnamedVersions(index, family),
    ...missingMain(index, family),
    ...headAgainstChain(index, family),
    ...gaps(index, family),
  ]);
}

/** `vN.json` that holds another version must not be restored under that name. */
function misnamedVersions(index: EvidenceIndex, family: Family): readonly Finding[] {
  return family.kept.flatMap((kept) => {
    const named = versionInName(kept.path);
    const held = index.version(kept);
    const whole = kept.content.diagnosis.document !== undefined;
    if (named === undefined || held === undefined || named === held || !whole) return [];
    return [
      {
        kind: "snapshot-damaged",
        severity: "error",
        certainty: "proved",
        root: kept.root,
        file: kept.path,
        facts: { versionInName: named, versionFound: held, reason: "name and content disagree" },
        says: `${kept.path} holds version ${held}, not the version ${named} of its name.`,
        next: ["do not restore it as that version; compare it with its neighbours"],
        health: "suspect",
      },
    ];
  });
}

function missingMain(index: EvidenceIndex, family: Family): readonly Finding[] {
  const copies = [...family.kept, ...family.temps];
  const first = copies[0];
  if (family.head !== undefined || first === undefined) return [];
  if (index.file(family.root, family.path) !== undefined) return [];
  return [
    {
      kind: "missing-main",
      severity: "error",
      certainty: "proved",
      root: family.root,
      file: family.path,
      facts: { copies: copies.length },
      says: `${family.path} is not there, while ${copies.length === 1 ? "a copy of it is" : `${copies.length} copies of it are`} (${baseOf(first.path)}${copies.length > 1 ? " …" : ""}).`,
      likelyCause: {
        says: "a rename or rewrite that stopped after removing the old file",
        certainty: "suspected",
      },
      next: ["look whether it was moved on purpose before restoring it"],
      health: "missing",
    },
  ];
}

function headAgainstChain(index: EvidenceIndex, family: Family): readonly Finding[] {
  const { head } = family;
  if (head === undefined || head.content.diagnosis.document === undefined) return [];
  const version = index.version(head);
  const reset = resetToDefault(index, family, head, version);
  if (reset !== undefined) return [reset];
  if (version === undefined) return [];
  const fork = forkedVersion(index, family, head, version);
  const regress = regressed(index, family, head, version);
  return [...(fork === undefined ? [] : [fork]), ...(regress === undefined ? [] : [regress])];
}

function forkedVersion(
  index: EvidenceIndex,
  family: Family,
  head: ObservedDocument,
  version: number,
): Finding | undefined {
  const twin = family.kept.find(
    (kept) => versionInName(kept.path) === version && index.version(kept) === version,
  );
  if (twin === undefined || twin.content.sha256 === head.content.sha256) return undefined;
  const [a, b] = [index.value(head), index.value(twin)];
  if (a === undefined || b === undefined || sameValue(a, b)) return undefined;
  return {
    kind: "version-fork",
    severity: "error",
    certainty: "proved",
    root: head.root,
    file: head.path,
    path: "$.version",
    facts: { versionFound: version, other: twin.path },
    says: `${head.path} and ${twin.path} are both version ${version} and hold different content.`,
    why: "One version number stands for one content; two writers, or a change by hand, made two.",
    next: [`compare both (lastgood diff ${head.path} ${twin.path}) before the next write`],
    relatedTo: [{ file: twin.path, kind: "version-fork" }],
    health: "suspect",
  };
}

function regressed(
  index: EvidenceIndex,
  family: Family,
  head: ObservedDocument,
  version: number,
): Finding | undefined {
  const logged = lastLogged(index, family);
  const kept = family.kept
    .filter((copy) => copy.content.diagnosis.document !== undefined)
    .map((copy) => ({ copy, version: index.version(copy) ?? versionInName(copy.path) ?? -1 }))
    .filter((one) => versionInName(one.copy.path) !== undefined)
    .sort((a, b) => b.version - a.version)[0];
  const expected = Math.max(logged?.version ?? -1, kept?.version ?? -1);
  if (expected <= version) return undefined;
  const proof =
    logged !== undefined && logged.version === expected
      ? `${logged.file} line ${logged.line}`
      : (kept?.copy.path ?? "");
  const target = kept !== undefined && kept.version === expected ? kept.copy.path : undefined;
  return {
    kind: "version-regressed",
    severity: "error",
    certainty: "proved",
    root: head.root,
    file: head.path,
    path: "$.version",
    facts: { versionFound: version, versionExpected: expected, proof },
    ...(target === undefined ? {} : { recoverable: target }),
    says: `${head.path} is at version ${version}, but version ${expected} existed (${proof}).`,
    why: "A later version was written and is not what stands there now.",
    likelyCause: {
      says: "an older copy was put back, by hand or by a rename that came late",
      certainty: "suspected",
    },
    next: [
      ...(target === undefined
        ? []
        : [`compare with ${target}, and roll back to it if it is the one that counts`]),
      `let no writer make a second version ${version + 1} before that`,
    ],
    health: "suspect",
  };
}

/** Highest version that the log of writes beside the document knows of. */
function lastLogged(index: EvidenceIndex, family: Family) {
  let last: { version: number; file: string; line: number } | undefined;
  for (const record of historyOf(index, family)) {
    if (last === undefined || record.version > last.version)
      last = { version: record.version, file: record.file, line: record.line };
  }
  return last;
}

/** A document this much smaller than its copy has lost nearly everything. */
const resetSizeRatio = 0.25;

function resetToDefault(
  index: EvidenceIndex,
  family: Family,
  head: ObservedDocument,
  version: number | undefined,
): Finding | undefined {
  const before = [...family.kept]
    .filter((copy) => copy.content.diagnosis.document !== undefined)
    .sort((a, b) => (index.version(b) ?? 0) - (index.version(a) ?? 0))[0];
  if (before === undefined) return undefined;
  const versionBefore = index.version(before);
  if (versionBefore !== undefined && (version ?? 0) >= versionBefore) return undefined;
  const small = head.content.bytes <= before.content.bytes * resetSizeRatio;
  const [now, then] = [index.value(head), index.value(before)];
  if (now === undefined || then === undefined || !lostMost(now, then)) return undefined;
  const isOtherKind = isJsonObject(then) && !isJsonObject(now);
  if (!small && !isOtherKind) return undefined;
  const identityChanged = identityOf(now) !== undefined && identityOf(now) !== identityOf(then);
  return {
    kind: "reset-to-default",
    severity: "error",
    certainty: "suspected",
    root: head.root,
    file: head.path,
    recoverable: before.path,
    facts: {
      ...(version === undefined ? {} : { versionFound: version }),
      ...(versionBefore === undefined ? {} : { versionBefore }),
      sizeFound: head.content.bytes,
      sizeBefore: before.content.bytes,
      identityChanged,
    },
    says: isOtherKind
      ? `${head.path} is valid JSON but no object (${shown(now)}), where ${before.path} holds one of ${before.content.bytes} bytes.`
      : `${head.path} is valid but holds almost nothing: ${head.content.bytes} bytes, where ${before.path} holds ${before.content.bytes}.`,
    why: "Nearly all paths of the older copy are gone, as when a program that could not read its file writes defaults over it.",
    likelyCause: {
      says: "a program met an unreadable file and started anew",
      certainty: "suspected",
    },
    next: [
      `roll back to ${before.path}`,
      "find the program that writes defaults when reading fails",
    ],
    health: "suspect",
  };
}

function lostMost(now: JsonValue, then: JsonValue): boolean {
  // null, a bare word or a list in place of an object keeps nothing of it.
  if (isJsonObject(then) && !isJsonObject(now)) return true;
  if (Array.isArray(now) && Array.isArray(then)) return now.length === 0 && then.length > 2;
  if (!isJsonObject(now) || !isJsonObject(then)) return false;
  const names = Object.keys(then);
  const left = names.filter((name) => Object.hasOwn(now, name) && !isEmpty(now[name] ?? null));
  return names.length >= 3 && left.length <= names.length / 2;
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

const identityNames = [
  "id",
  "userId",
  "user_id",
  "uuid",
  "run",
  "lineage",
  "installId",
  "machineId",
];

function identityOf(value: JsonValue): string | undefined {
  if (!isJsonObject(value)) return undefined;
  for (const name of identityNames) {
    const found = Object.hasOwn(value, name) ? value[name] : undefined;
    if (typeof found === "string") return found;
  }
  return undefined;
}

/** Our own writers keep every version, so a hole between two kept ones is told; for others it means nothing. */
function gaps(index: EvidenceIndex, family: Family): readonly Finding[] {
  if (family.kept.length < 2) return [];
  const stem = family.path.replace(/\.json$/, "");
  const isOurs = index.evidence.files.some(
    (file) => file.root === family.root && file.path.startsWith(`${stem}.lease.`),
  );
  if (!isOurs) return [];
  const versions = family.kept
    .map((kept) => versionInName(kept.path))
    .filter((version) => version !== undefined)
    .sort((a, b) => a - b);
  const missing: number[] = [];
  for (let i = 1; i < versions.length; i++)
    for (let v = (versions[i - 1] ?? 0) + 1; v < (versions[i] ?? 0) && missing.length < 100; v++)
      missing.push(v);
  if (missing.length === 0) return [];
  return [
    {
      kind: "version-gap",
      severity: "notice",
      certainty: "proved",
      root: family.root,
      file: family.path,
      facts: { missing },
      says: `${family.path}: kept versions ${missing.join(", ")} are missing between two that are there.`,
      next: ["nothing, unless one of them is needed as a target"],
    },
  ];
}
