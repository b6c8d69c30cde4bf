/** Operations of an effect log: in doubt, done twice, tried blindly, under wrong keys. */
import { invariant } from "../../base/assert.js";
import { limits } from "../../base/limits.js";
import type { ItemFold, ItemState, RecordPlace } from "../../format/item-state.js";
import type { EvidenceIndex, ObservedLog } from "../evidence-index.js";
import type { Fact, Finding } from "../finding.js";
import { FindingList } from "../finding-list.js";
import { isClosedElsewhere } from "../log-parts.js";
import { doneInAnEarlierPart } from "./effects-across-parts.js";
import { isInFlight } from "./in-flight.js";

export function effects(index: EvidenceIndex): readonly Finding[] {
  return index.logs.flatMap((log) => {
    const { fold } = log.content.log.facts;
    if (fold === undefined) return [];
    const found = new FindingList();
    // Told together, or one operation would be in doubt once for each of its keys.
    const severalKeys = underSeveralKeys(log, fold);
    const toldTogether = new Set(severalKeys.flat().map((state) => state.identity));
    for (const item of fold.notable()) {
      const inDoubt = toldTogether.has(item.identity)
        ? undefined
        : danglingIntent(index, log, item);
      const twice = duplicateEffect(log, item);
      found.add(inDoubt, twice, ...storedTwice(log, item));
      if (inDoubt === undefined && twice === undefined) found.add(...overlap(log, item));
    }
    for (const states of severalKeys) found.add(danglingIntent(index, log, together(states)));
    found.add(...doneInAnEarlierPart(index, log));
    return [
      ...found.all(),
      ...wrongKeys(log),
      ...doneOnly(log),
      ...onlyPartlyFollowed(log, fold.full),
    ];
  });
}

function at(log: ObservedLog, place: RecordPlace) {
  const { line, byteOffset } = place;
  return {
    certainty: "proved" as const,
    root: log.root,
    file: log.path,
    byteOffset,
    line,
    evidence: [{ file: log.path, sha256: log.content.sha256, from: byteOffset, line }],
    health: "suspect" as const,
  };
}

function known(facts: Readonly<Record<string, Fact | undefined>>): Readonly<Record<string, Fact>> {
  return Object.fromEntries(
    Object.entries(facts).filter((entry): entry is [string, Fact] => entry[1] !== undefined),
  );
}

const texts = (values: readonly (string | undefined)[]): readonly string[] =>
  values.filter((value) => value !== undefined);

/** One finding per operation, listing its open attempts. In flight is not in doubt. */
function danglingIntent(
  index: EvidenceIndex,
  log: ObservedLog,
  item: ItemState,
): Finding | undefined {
  const open = item.open.filter(
    (attempt) => attempt.intent !== undefined && !isClosedElsewhere(index, log, item, attempt),
  );
  const first = open[0];
  const intent = first?.intent;
  if (first === undefined || intent === undefined) return undefined;
  if (open.every((attempt) => isInFlight(index, attempt.intent))) return undefined;
  const laterDone = item.dones.find((done) => done.line > intent.line);
  const earlierDone = item.dones.find((done) => done.line < intent.line);
  const again =
    earlierDone === undefined ? "" : `a done stands on line ${earlierDone.line} before that; `;
  const remark = item.remarks.find((one) => one.line > intent.line);
  const key = intent.key ?? item.keys[0];
  const who = intent.worker === undefined ? "" : ` by ${intent.worker}`;
  const facts = known({
    item: item.item,
    key,
    attempt: first.attempt === undefined ? undefined : numberOr(first.attempt),
    attempts: open.length > 1 ? texts(open.map((one) => one.attempt)).map(numberOr) : undefined,
    intentLine: intent.line,
    worker: intent.worker,
    outcome: "unknown",
    errorLine: remark?.line,
    laterDone: laterDone?.line,
    earlierDone: earlierDone?.line,
  });
  const tried = open.length > 1 ? `${open.length} attempts were begun` : "it was begun";
  return {
    ...at(log, intent),
    kind: "dangling-intent",
    severity: "error",
    facts,
    says: `${log.path}: ${item.item} is in doubt: ${again}${tried} on line ${intent.line}${who} and never closed; it may have happened, nobody recorded it.`,
    why:
      remark === undefined
        ? "An intent has no outcome."
        : `Line ${remark.line} says "${remark.word}", which is no outcome: a lost answer does not say what happened.`,
    next: [
      `look up ${key ?? item.item} outside before anything is repeated`,
      ...(laterDone === undefined
        ? []
        : [`line ${laterDone.line} records a done: count whether there are two effects`]),
      "record what you find as its outcome; never erase the intent",
    ],
  };
}

/** Operations whose key changed between tries, with the states of all their keys. */
function underSeveralKeys(log: ObservedLog, fold: ItemFold): readonly (readonly ItemState[])[] {
  const operations = log.content.log.facts.unstableKeys.map(({ keys }) =>
    keys.map((key) => fold.withKey(key)).filter((state) => state !== undefined),
  );
  // A log with too many operations is followed in part only: then a key may have no state.
  return operations.filter((states) => states.length > 0);
}

/** The tries of one operation that its changing key had kept apart. */
function together(states: readonly ItemState[]): ItemState {
  const [first] = states;
  invariant(first !== undefined, "an operation has at least one state");
  const inOrder = <T extends RecordPlace>(places: readonly T[]): readonly T[] =>
    [...places].sort((a, b) => a.line - b.line);
  return {
    ...first,
    identity: first.identity,
    item: first.item,
    keys: states.flatMap((one) => one.keys),
    attempts: states.flatMap((one) => one.attempts),
    open: [...states.flatMap((one) => one.open)].sort(
      (a, b) => (a.intent?.line ?? 0) - (b.intent?.line ?? 0),
    ),
    dones: inOrder(states.flatMap((one) => one.dones)),
    remarks: inOrder(states.flatMap((one) => one.remarks)),
  };
}

function numberOr(text: string): string | number {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

function duplicateEffect(log: ObservedLog, item: ItemState): Finding | undefined {
  const [first, second] = item.dones;
  if (first === undefined || second === undefined) return undefined;
  const lines = item.dones.map((done) => done.line);
  const numbers = item.attempts
    .filter((one) => one.outcome?.outcome === "done")
    .map((one) => one.attempt);
  const runs = [...new Set(texts(item.dones.map((done) => done.run)))];
  const workers = [...new Set(texts(item.dones.map((done) => done.worker)))];
  const facts = known({
    item: item.item,
    key: item.keys[0],
    lines,
    attempts: texts(numbers).length > 1 ? texts(numbers).map(numberOr) : undefined,
    workers: workers.length > 0 ? workers : undefined,
    runs: runs.length > 1 ? runs : undefined,
  });
  const count = item.dones.length === 2 ? "twice" : `${item.dones.length} times`;
  return {
    ...at(log, second),
    kind: "duplicate-effect",
    severity: "error",
    facts,
    says: `${log.path}: ${item.item} was done ${count} (lines ${lines.join(", ")})${runs.length > 1 ? `, by runs ${runs.join(" and ")}` : ""}.`,
    why: "Two outcomes under one operation: both are records of something that happened outside.",
    next: [
      "see what the second one did outside, and undo or explain it",
      "stop whatever would run it again",
    ],
  };
}

/** An attempt begun while another was open: told by itself only where neither doubt nor a double says more. */
function overlap(log: ObservedLog, item: ItemState): readonly Finding[] {
  const first = item.overlaps[0];
  if (first === undefined) return [];
  const lines = [first.openIntent.line, ...item.overlaps.map((one) => one.newIntent.line)];
  return [
    {
      ...at(log, first.newIntent),
      kind: "overlapping-attempts",
      severity: "error",
      facts: known({
        item: item.item,
        intentLines: lines,
        attempts: texts(item.attempts.map((one) => one.attempt)).map(numberOr),
      }),
      says: `${log.path}: ${item.item} was begun again on line ${first.newIntent.line} while the attempt of line ${first.openIntent.line} had not ended.`,
      why: "Both attempts may have had their effect, whatever was recorded later.",
      next: ["count the effects outside", "make the lease or visibility time longer than the work"],
    },
  ];
}

function storedTwice(log: ObservedLog, item: ItemState): readonly Finding[] {
  return item.storedTwice.slice(0, 10).map(({ first, second }) => ({
    ...at(log, second),
    kind: "duplicate-record",
    severity: "warning",
    facts: known({ item: item.item, id: item.item, lines: [first.line, second.line] }),
    says: `${log.path}: the record of ${item.item} on line ${first.line} stands again on line ${second.line}.`,
    why: "Same number, attempt and time: one record stored twice, not two effects.",
    next: ["count it once"],
  }));
}

function wrongKeys(log: ObservedLog): readonly Finding[] {
  const { unstableKeys, sharedKeys } = log.content.log.facts;
  const place = (line: number) => ({
    certainty: "proved" as const,
    root: log.root,
    file: log.path,
    line,
    health: "suspect" as const,
  });
  const unstable = unstableKeys.map(
    ({ item, keys, lines }): Finding => ({
      ...place(lines[1] ?? 0),
      kind: "key-not-stable",
      severity: "error",
      facts: { item, keys, lines },
      says: `${log.path}: ${item} was tried again under another key (${keys.map((key, i) => `${key} on line ${lines[i]}`).join(", ")}).`,
      why: "The receiver cannot join the two tries, so its own guard against doubles did not hold.",
      next: [
        keys.length > 2 ? "look up all of these keys outside" : "look up both keys outside",
        "make the key once, before the first attempt, of what names the operation",
      ],
    }),
  );
  const shared = sharedKeys.map(
    ({ key, items, operations, lines }): Finding => ({
      ...place(lines[1]),
      kind: "key-conflict",
      severity: "error",
      facts: known({ key, items, operations, lines }),
      says: `${log.path}: key ${key} stands for two operations: ${(operations ?? items)[0]} (line ${lines[0]}) and ${(operations ?? items)[1]} (line ${lines[1]}).`,
      why: "A receiver takes the second for a repetition of the first and drops it.",
      next: [
        "look outside which of them happened",
        "make keys of everything that names the operation",
      ],
    }),
  );
  return [...unstable, ...shared];
}

/** Only where the writer's format is known to have no intents: a log of a writer that has them is no such log. */
function doneOnly(log: ObservedLog): readonly Finding[] {
  const { dialect, intentCount, doneCount } = log.content.log.facts;
  if (intentCount > 0 || doneCount === 0 || dialect.intentDeclared) return [];
  return [
    {
      kind: "done-only-log",
      severity: "notice",
      certainty: "proved",
      root: log.root,
      file: log.path,
      facts: { records: log.content.log.records },
      says: `${log.path} records only what was finished, so an effect just before a crash leaves no trace in it.`,
      next: [
        "after a crash, look up the item after the last one outside",
        "record intents (lastgood/core does)",
      ],
    },
  ];
}

/** A bound that bites is said: what came later was scanned for damage, not for doubt. */
function onlyPartlyFollowed(log: ObservedLog, full: boolean): readonly Finding[] {
  if (!full) return [];
  return [
    {
      kind: "rule-not-checked",
      severity: "warning",
      certainty: "proved",
      root: log.root,
      file: log.path,
      facts: { limitItems: limits.logItemsMax },
      says: `${log.path} names more than ${limits.logItemsMax} operations; those that came later were not followed.`,
      next: ["split the log by time, and scan the parts"],
    },
  ];
}
