/** Output made from inputs that have changed since: every write went well, and the result is wrong. */
import { formatPath, type JsonPath, parsePath, pathCovers } from "../../base/json-path.js";
import { type JsonValue, memberOf, sameValue } from "../../format/json-value.js";
import type { Dependency, FilePath } from "../context.js";
import { type EvidenceIndex, isDocument, type ObservedDocument, reach } from "../evidence-index.js";
import { type Family, versionInName } from "../families.js";
import type { Finding } from "../finding.js";
import { historyOf } from "../log-views.js";

export function staleInputs(index: EvidenceIndex): readonly Finding[] {
  return index.context.dependsOn.flatMap((dependency) =>
    index
      .named(dependency.output.file)
      .filter(isDocument)
      .flatMap((output) => staleOutput(index, dependency, output)),
  );
}

function staleOutput(
  index: EvidenceIndex,
  dependency: Dependency,
  output: ObservedDocument,
): readonly Finding[] {
  const byTime = dependency.inputs.flatMap((input) => olderThanInput(index, output, input));
  const first = byTime[0];
  if (first !== undefined) return [first];
  const tree = index.tree(output);
  const made = tree === undefined ? [] : reach(tree, dependency.output.path ?? []);
  const value = made[0]?.node.value;
  if (value === undefined || value === null) return [];
  const basedOn = basedOnOf(value);
  const timed = index.context.timeFields.has(output.path);
  if (basedOn === undefined) return timed ? [] : [withoutProvenance(dependency, output)];
  return dependency.inputs.some((input) => input.file !== output.path)
    ? changedElsewhere(index, dependency, output, basedOn)
    : changedSince(index, dependency, output, basedOn);
}

const basedOnNames = [
  "based_on_version",
  "basedOnVersion",
  "based_on",
  "basedOn",
  "source_version",
  "sourceVersion",
];

function basedOnOf(value: JsonValue): number | undefined {
  for (const name of basedOnNames) {
    const found = memberOf(value, name);
    if (typeof found === "number" && Number.isSafeInteger(found)) return found;
  }
  return undefined;
}

interface Change {
  readonly version: number;
  readonly paths: readonly string[];
  readonly by: string | undefined;
  readonly proof: string;
}

function changedSince(
  index: EvidenceIndex,
  dependency: Dependency,
  output: ObservedDocument,
  basedOn: number,
): readonly Finding[] {
  const family = index.familyAt(output.root, output.path);
  if (family === undefined) return [];
  const inputs = dependency.inputs.map((input) => input.path ?? []);
  const logged = loggedChange(index, family, inputs, basedOn);
  const change = logged ?? keptChange(index, family, output, inputs, basedOn);
  return change === undefined ? [] : [staleFinding(dependency, output, basedOn, change)];
}

/** The log of writes says which paths each version touched. */
function loggedChange(
  index: EvidenceIndex,
  family: Family,
  inputs: readonly JsonPath[],
  basedOn: number,
): Change | undefined {
  for (const record of historyOf(index, family)) {
    if (record.version <= basedOn) continue;
    const touched = record.paths.filter((text) => {
      const parsed = parsePath(text);
      if (parsed.kind !== "path") return false;
      return inputs.some(
        (input) => pathCovers(input, parsed.path) || pathCovers(parsed.path, input),
      );
    });
    if (touched.length === 0) continue;
    const proof = `${record.file} line ${record.line}`;
    return { version: record.version, paths: touched, by: record.by, proof };
  }
  return undefined;
}

/** Without such a log: the kept version it was made from, against each later one and head. */
function keptChange(
  index: EvidenceIndex,
  family: Family,
  output: ObservedDocument,
  inputs: readonly JsonPath[],
  basedOn: number,
): Change | undefined {
  const base = family.kept.find((kept) => versionInName(kept.path) === basedOn);
  if (base === undefined) return undefined;
  const later = family.kept
    .filter((kept) => (versionInName(kept.path) ?? 0) > basedOn)
    .sort((a, b) => (versionInName(a.path) ?? 0) - (versionInName(b.path) ?? 0));
  for (const document of [...later, output]) {
    const paths = inputs.flatMap((input) => changedPlaces(index, base, document, input));
    if (paths.length === 0) continue;
    const version = index.version(document) ?? versionInName(document.path) ?? 0;
    return { version, paths, by: undefined, proof: `${base.path} against ${document.path}` };
  }
  return undefined;
}

function changedPlaces(
  index: EvidenceIndex,
  before: ObservedDocument,
  after: ObservedDocument,
  pattern: JsonPath,
): readonly string[] {
  const [a, b] = [index.tree(before), index.tree(after)];
  if (a === undefined || b === undefined) return [];
  const values = new Map(
    reach(a, pattern).map((place) => [formatPath(place.path), place.node.value]),
  );
  const changed: string[] = [];
  for (const place of reach(b, pattern)) {
    const name = formatPath(place.path);
    const was = values.get(name);
    if (was === undefined || !sameValue(was, place.node.value)) changed.push(name);
    values.delete(name);
  }
  return [...changed, ...values.keys()].map((name) => name.replace(/^\$\.?/, ""));
}

/** Inputs in another document: its version now against the version the output was made from. */
function changedElsewhere(
  index: EvidenceIndex,
  dependency: Dependency,
  output: ObservedDocument,
  basedOn: number,
): readonly Finding[] {
  for (const input of dependency.inputs) {
    const document = index.named(input.file).find(isDocument);
    if (document === undefined || document === output) continue;
    const family = index.familyAt(document.root, document.path);
    const version = index.version(document);
    if (family === undefined || version === undefined || version <= basedOn) continue;
    const inputs = [input.path ?? []];
    const change =
      loggedChange(index, family, inputs, basedOn) ??
      keptChange(index, family, document, inputs, basedOn);
    if (change !== undefined) return [staleFinding(dependency, output, basedOn, change)];
  }
  return [];
}

function staleFinding(
  dependency: Dependency,
  output: ObservedDocument,
  basedOn: number,
  change: Change,
): Finding {
  const path = formatPath(dependency.output.path ?? []);
  const by = change.by === undefined ? "" : ` by ${change.by}`;
  return {
    kind: "stale-derivation",
    severity: "error",
    certainty: "proved",
    root: output.root,
    file: output.path,
    path,
    facts: {
      basedOn,
      changedIn: change.version,
      changedPaths: change.paths,
      ...(change.by === undefined ? {} : { by: change.by }),
    },
    says: `${output.path}: ${path} was made from version ${basedOn}; ${change.paths.join(", ")} changed${by} in version ${change.version}.`,
    why: `No write conflicted, so no version check could notice (${change.proof}).`,
    next: [
      "derive it again from what stands now",
      `or publish it with the note "from version ${basedOn}, inputs changed in ${change.version}"`,
    ],
    health: "suspect",
  };
}

function withoutProvenance(dependency: Dependency, output: ObservedDocument): Finding {
  const path = formatPath(dependency.output.path ?? []);
  return {
    kind: "no-provenance",
    severity: "warning",
    certainty: "proved",
    root: output.root,
    file: output.path,
    path,
    says: `${output.path}: ${path} does not say which version it was made from.`,
    why: "Whether its inputs have changed since cannot be told.",
    next: ["derive it again, and have its writer record based_on_version"],
    health: "suspect",
  };
}

/** Content time of the output against that of an input; dates of files are never asked. */
function olderThanInput(
  index: EvidenceIndex,
  output: ObservedDocument,
  input: FilePath,
): readonly Finding[] {
  const made = contentTime(index, output);
  const source = index.named(input.file).find(isDocument);
  const changed = source === undefined ? undefined : contentTime(index, source);
  if (made === undefined || changed === undefined || source === output) return [];
  if (!(Date.parse(made) < Date.parse(changed))) return [];
  const missing = missingElements(index, output, source, input);
  return [
    {
      kind: "stale-derivation",
      severity: "error",
      certainty: "proved",
      root: output.root,
      file: output.path,
      facts: { basedOn: made, changedIn: changed, ...(missing.length > 0 ? { missing } : {}) },
      says: `${output.path} stands for ${made}; ${input.file} has changed since, at ${changed}.`,
      why: "The times are those of the contents; when the files were written is of no matter.",
      next: ["derive it again from what stands now"],
      health: "suspect",
    },
  ];
}

function contentTime(index: EvidenceIndex, document: ObservedDocument): string | undefined {
  const path = index.context.timeFields.get(document.path);
  const tree = index.tree(document);
  if (path === undefined || tree === undefined) return undefined;
  const value = reach(tree, path)[0]?.node.value;
  return typeof value === "string" ? value : undefined;
}

/** Elements of a list among the inputs that the output's list of the same name lacks. */
function missingElements(
  index: EvidenceIndex,
  output: ObservedDocument,
  source: ObservedDocument | undefined,
  input: FilePath,
): readonly string[] {
  const [a, b] = [source === undefined ? undefined : index.tree(source), index.tree(output)];
  if (a === undefined || b === undefined || input.path === undefined) return [];
  const listed = (value: JsonValue | undefined): readonly string[] =>
    Array.isArray(value) ? value.filter((element) => typeof element === "string") : [];
  const there = new Set(listed(reach(b, input.path)[0]?.node.value));
  return listed(reach(a, input.path)[0]?.node.value).filter((element) => !there.has(element));
}
