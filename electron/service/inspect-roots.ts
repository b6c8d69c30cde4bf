/** Gather, decide, say: what the hosts call to get a report. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { LastgoodError } from "../../shared/base/errors.js";
import { limits } from "../../shared/base/limits.js";
import { visibleText } from "../../shared/base/text.js";
import { readContextFile } from "../../shared/contract/context-file.js";
import { emptyContext, type InspectContext } from "../../shared/inspect/context.js";
import type { ContextProblem, Evidence } from "../../shared/inspect/evidence.js";
import { type Inspection, inspectRun } from "../../shared/inspect/inspect-run.js";
import { overallOf } from "../../shared/inspect/overall.js";
import { makeReport, type Report } from "../../shared/inspect/report.js";
import { type CollectMeans, collectEvidence } from "./collect-evidence.js";
import { errnoOf } from "./file-reading.js";
import { type NamedRoot, toRoot } from "./scan-roots.js";

export const contextFileName = "lastgood.json";

export interface InspectRequest {
  readonly paths: readonly string[];
  /** A context file given by the operator; a broken one is an error. */
  readonly contextFile: string | undefined;
  readonly tool: string;
}

export interface Inspected {
  readonly report: Report;
  readonly inspection: Inspection;
  readonly evidence: Evidence;
  readonly roots: readonly NamedRoot[];
  /** What a person should know about the asking itself, such as keys of the context that had no effect. */
  readonly remarks: readonly string[];
  /** False: nothing was there to be judged, so the report says nothing about the run. */
  readonly anythingRead: boolean;
}

/** Errors: those of a path that cannot be looked at, and `input-rejected` for a context file that was given. */
export async function inspectPaths(
  means: CollectMeans,
  request: InspectRequest,
): Promise<Inspected> {
  const roots = await Promise.all(request.paths.map(toRoot));
  const known = await readContext(roots, request.contextFile);
  const leftOut = new Map([[contextFileName, known.contextFileRole]]);
  const { context } = known;
  const { evidence, coverage } = await collectEvidence(means, { roots, context, leftOut });
  const inspection = onlyAskedFor(
    inspectRun({ ...evidence, contextProblems: known.problems }),
    roots,
  );
  for (const says of inspection.unknown) coverage.unknown(says);
  const anythingRead = evidence.files.some(({ content }) => content.kind !== "unreadable");
  if (evidence.files.length === 0) coverage.unknown("Nothing here looks like run state.");
  const report = makeReport(inspection, {
    tool: request.tool,
    at: new Date(evidence.nowMs).toISOString(),
    roots: evidence.roots,
    coverage: coverage.finish(),
  });
  return { report, inspection, evidence, roots, remarks: known.remarks, anythingRead };
}

/** A root that is one file: its neighbours were read to judge it, and are not themselves reported. */
function onlyAskedFor(inspection: Inspection, roots: readonly NamedRoot[]): Inspection {
  if (roots.every((root) => root.only === undefined)) return inspection;
  const isAsked = (root: number, path: string): boolean => {
    const only = roots[root]?.only;
    return only === undefined || only === path || path === contextFileName;
  };
  const findings = inspection.findings.filter(({ root, file }) => isAsked(root, file));
  const files = inspection.files.filter(({ root, path }) => isAsked(root, path));
  const { unknown } = inspection;
  return { findings, files, overall: overallOf(findings, files), unknown };
}

interface KnownContext {
  readonly context: InspectContext;
  readonly remarks: readonly string[];
  readonly problems: readonly ContextProblem[];
  /** Why `lastgood.json` of a root is not judged as run state. */
  readonly contextFileRole: string;
}

async function readContext(
  roots: readonly NamedRoot[],
  contextFile: string | undefined,
): Promise<KnownContext> {
  if (contextFile !== undefined) {
    const { context, remarks } = await givenContext(contextFile);
    return { context, remarks, problems: [], contextFileRole: "a context file; another was given" };
  }
  const found = {
    contexts: [] as InspectContext[],
    remarks: [] as string[],
    problems: [] as ContextProblem[],
  };
  for (const [root, { folder }] of roots.entries()) {
    const path = join(folder, contextFileName);
    const text = await textOf(path);
    if (text === undefined) continue;
    const reading = readContextFile(text);
    const name = visibleText(path);
    if (reading.kind === "rejected")
      found.problems.push({
        root,
        file: contextFileName,
        says: reading.problems.map(visibleText).join("; "),
      });
    else {
      found.contexts.push(reading.context);
      found.remarks.push(...reading.remarks.map((says) => `${name}: ${visibleText(says)}`));
    }
  }
  return {
    context: found.contexts.reduce(merged, emptyContext),
    remarks: found.remarks,
    problems: found.problems,
    contextFileRole: "the context file",
  };
}

async function givenContext(
  path: string,
): Promise<{ context: InspectContext; remarks: readonly string[] }> {
  const name = visibleText(path);
  const text = await textOf(path);
  if (text === undefined)
    throw new LastgoodError("input-rejected", `The context file ${name} cannot be read.`);
  const reading = readContextFile(text);
  if (reading.kind === "context")
    return {
      context: reading.context,
      remarks: reading.remarks.map((says) => `${name}: ${visibleText(says)}`),
    };
  const problems = reading.problems.map((says) => `\n  ${visibleText(says)}`).join("");
  throw new LastgoodError(
    "input-rejected",
    `The context file ${name} is not usable, and nothing was scanned:${problems}`,
  );
}

/** undefined: not there, or not to be had. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > limits.smallFileBytesMax) return undefined;
    return await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Several roots, each with its own file: the first word stands where only one can. */
function merged(a: InspectContext, b: InspectContext): InspectContext {
  return {
    roles: new Map([...b.roles, ...a.roles]),
    fields: a.fields ?? b.fields,
    versionField: a.versionField ?? b.versionField,
    dependsOn: [...a.dependsOn, ...b.dependsOn],
    timeFields: new Map([...b.timeFields, ...a.timeFields]),
    rules: [...a.rules, ...b.rules],
    order: [...a.order, ...b.order],
    now: a.now ?? b.now,
    processes: a.processes ?? b.processes,
    caseInsensitive: a.caseInsensitive || b.caseInsensitive,
  };
}
