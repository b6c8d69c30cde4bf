/** Order and identity in a log: numbers, clocks, leases, parents, records stored twice, late retries. */
import { limits } from "../../base/limits.js";
import type { EvidenceIndex, ObservedLog } from "../evidence-index.js";
import type { Finding } from "../finding.js";
import type { SequenceFacts } from "../log-facts.js";

export function logOrder(index: EvidenceIndex): readonly Finding[] {
  return index.logs.flatMap((log) => [
    ...sequenceGaps(index, log),
    ...sequenceFaults(log),
    ...duplicateRecords(log),
    ...zombieWrites(log),
    ...missingParents(index, log),
    ...clockSkew(log),
    ...roundedNumbers(log),
    ...windowOverruns(log),
  ]);
}

const suspect = {
  certainty: "proved" as const,
  severity: "error" as const,
  health: "suspect" as const,
};

function here(log: ObservedLog, line: number, byteOffset?: number) {
  const place = byteOffset === undefined ? {} : { byteOffset };
  return { root: log.root, file: log.path, line, ...place };
}

/** Numbers that no log of the folder holds. With guessed fields, only a log that is otherwise dense has gaps. */
function sequenceGaps(index: EvidenceIndex, log: ObservedLog): readonly Finding[] {
  const { sequence, dialect } = log.content.log.facts;
  const dense = sequence.gaps.length * 10 <= sequence.numbered;
  if (dialect.from === "guessed" && !dense) return [];
  if (sequence.isPerWriter || stepsAreEqual(sequence)) return [];
  const others = index.logs.filter((other) => other !== log && other.root === log.root);
  return sequence.gaps.flatMap(({ after, next, line }): Finding[] => {
    const missing: number[] = [];
    for (let number = after + 1; number < next && missing.length < 20; number++)
      if (
        !sequence.numbers.has(number) &&
        !others.some((other) => other.content.log.facts.sequence.numbers.has(number))
      )
        missing.push(number);
    if (missing.length === 0) return [];
    const count = next - after - 1;
    return [
      {
        ...suspect,
        ...here(log, line),
        kind: "sequence-gap",
        certainty: "suspected",
        facts: { after, next, missing, count },
        says: `${log.path}: the numbers go from ${after} to ${next} at line ${line}; ${count === 1 ? `${after + 1} is` : `${count} between are`} missing.`,
        why: "Records were lost, or their numbers were given out elsewhere; the bytes cannot tell.",
        next: ["look outside for what happened between the two before repeating anything"],
      },
    ];
  });
}

/** Numbers given out in tens, or offsets of equal records: a step is no gap when every one is alike. */
function stepsAreEqual({ gaps, numbered }: SequenceFacts): boolean {
  const [first] = gaps;
  if (first === undefined || gaps.length < 2 || gaps.length !== numbered - 1) return false;
  return gaps.every(({ after, next }) => next - after === first.next - first.after);
}

function sequenceFaults(log: ObservedLog): readonly Finding[] {
  const { sequence, fold, dialect } = log.content.log.facts;
  const storedTwice = new Set<number>();
  if (fold !== undefined && sequence.reused.length > 0)
    for (const item of fold.notable())
      for (const pair of item.storedTwice) storedTwice.add(pair.second.line);
  // One record stored twice is one fact, also where nobody counts effects.
  for (const { lines } of log.content.log.facts.duplicates)
    if (sequence.reused.some((one) => one.lines[0] === lines[0] && one.lines[1] === lines[1]))
      storedTwice.add(lines[1]);
  const reused = (sequence.isPerWriter ? [] : sequence.reused)
    .filter(({ lines }) => !storedTwice.has(lines[1]))
    .map(
      ({ text, lines }): Finding => ({
        ...suspect,
        ...here(log, lines[1]),
        kind: "sequence-reused",
        facts: { seq: Number(text), lines },
        says: `${log.path}: number ${text} stands on line ${lines[0]} and again on line ${lines[1]}.`,
        why: "Order by number is no order any more; file order still is.",
        likelyCause: {
          says: "a writer that counted its records wrongly, or two writers",
          certainty: "suspected",
        },
        next: ["trust file order", "give the log one writer"],
      }),
    );
  // A guessed number field that many records lack is no sequence.
  const few = sequence.missing.length * 4 <= sequence.numbered;
  if (dialect.from === "guessed" && !few) return reused;
  const missing = sequence.missing.map(
    ({ line, byteOffset, expected }): Finding => ({
      ...suspect,
      ...here(log, line, byteOffset),
      kind: "sequence-missing",
      facts: { expectedSeq: expected },
      says: `${log.path}: the record on line ${line} has no number, while those before it do (${expected} would follow).`,
      likelyCause: { says: "a writer of another version wrote it", certainty: "suspected" },
      next: ["keep the record; supply the number in a copy if a reader needs it"],
    }),
  );
  return [...reused, ...missing];
}

function duplicateRecords(log: ObservedLog): readonly Finding[] {
  return log.content.log.facts.duplicates.map(({ text, lines }) => ({
    ...suspect,
    ...here(log, lines[1]),
    kind: "duplicate-record",
    facts: { id: text, lines },
    says: `${log.path}: record ${text} of line ${lines[0]} stands again on line ${lines[1]} with the same content.`,
    likelyCause: { says: "the append itself was retried", certainty: "suspected" },
    next: ["count it once"],
  }));
}

function zombieWrites(log: ObservedLog): readonly Finding[] {
  return log.content.log.facts.zombies.map((zombie) => {
    const { line, byteOffset, lease, currentLease, worker, version } = zombie;
    const who = worker === undefined ? "A holder" : worker;
    return {
      ...suspect,
      ...here(log, line, byteOffset),
      kind: "zombie-write",
      facts: {
        lease,
        currentLease,
        ...(worker === undefined ? {} : { worker }),
        ...(version === undefined ? {} : { version: Number(version) }),
      },
      says: `${log.path}: line ${line} was written under lease ${lease}, after lease ${currentLease} had replaced it.`,
      why: `${who} woke up after it had been replaced; what it wrote lies over the newer holder's work.`,
      next: [
        `keep what was written under ${currentLease}; compare before dropping the late write`,
        "have the store refuse an older lease token",
      ],
    };
  });
}

function missingParents(index: EvidenceIndex, log: ObservedLog): readonly Finding[] {
  const { missingParents: missing } = log.content.log.facts;
  if (missing.length === 0 || index.logs.some((other) => other !== log && other.role === "rotated"))
    return [];
  return missing.slice(0, limits.findingsPerKindAndFileMax).map(({ parent, line, byteOffset }) => ({
    ...suspect,
    ...here(log, line, byteOffset),
    kind: "missing-parent",
    severity: "warning",
    facts: { parent },
    says: `${log.path}: the record on line ${line} names ${parent} as its parent, which is not there.`,
    next: ["look for it on a damaged line or in a rotated part"],
  }));
}

function clockSkew(log: ObservedLog): readonly Finding[] {
  const { clockStep } = log.content.log.facts;
  if (clockStep === undefined) return [];
  const { line, stepSeconds } = clockStep;
  return [
    {
      kind: "clock-skew",
      severity: "notice",
      certainty: "proved",
      ...here(log, line),
      facts: { stepSeconds },
      says: `${log.path}: the time stamps step back ${-stepSeconds} seconds at line ${line}; file order still holds.`,
      likelyCause: { says: "a clock was corrected, or another host wrote", certainty: "suspected" },
      next: ["do not sort by time"],
    },
  ];
}

function roundedNumbers(log: ObservedLog): readonly Finding[] {
  const { roundedTogether } = log.content.log.facts;
  if (roundedTogether.length === 0) return [];
  return [
    {
      kind: "precision-loss",
      severity: "notice",
      certainty: "proved",
      root: log.root,
      file: log.path,
      facts: { exactValues: roundedTogether },
      says: `${log.path}: different ids (${roundedTogether.slice(0, 3).join(", ")}) fall together when they are read as doubles; here they are compared as written.`,
      next: ["store such ids as strings"],
    },
  ];
}

function windowOverruns(log: ObservedLog): readonly Finding[] {
  return log.content.log.facts.overrun.map(({ text, lines }) => ({
    ...suspect,
    ...here(log, lines[1]),
    kind: "window-overrun",
    certainty: "suspected",
    facts: { update: text, lines, window: limits.ledgerWindowCount },
    says: `${log.path}: update ${text} of line ${lines[0]} was retried on line ${lines[1]}, after more than ${limits.ledgerWindowCount} others.`,
    why: "Its id may have been pushed out of the window, so the retry may have been applied again.",
    next: ["look whether its change is in the document twice"],
  }));
}
