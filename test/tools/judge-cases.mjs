#!/usr/bin/env node
// Holds a scanner's JSON report against the incident cases: a black box, so nothing in it depends on
// how the project is built.
//
//   judge-cases.mjs --cases DIR [--only ID[,ID]] [--verbose] -- COMMAND [ARG ...]
//
// For each case the files are laid in an empty folder (generated ones made), CASE/context.json gets
// the case's context plus the role of each file, and the command runs as
//   COMMAND ARG ... --context CONTEXT.json FOLDER
// It must print one JSON report (assets/report.schema.json) and exit 0, 1 or 2.
//
// A case passes when every expected finding is there (kind, file, severity, and each place it names),
// the file's health and the overall word are the expected ones, and no finding of severity error or
// warning is there that the case does not expect or allow. Cases that need a live system (two looks,
// refused reads) are left out and counted. With --no-roles the context holds no roles: what a first look
// at an unknown folder must guess.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const split = process.argv.indexOf("--");
const options = process.argv.slice(2, split);
const [command, ...commandArgs] = process.argv.slice(split + 1);
const option = (name) => {
  const at = options.indexOf(name);
  return at < 0 ? undefined : options[at + 1];
};
const casesDir = option("--cases");
if (split < 0 || !command || !casesDir) {
  process.stderr.write("usage: judge-cases.mjs --cases DIR -- COMMAND [ARG ...]\n");
  process.exit(2);
}
const only = option("--only")?.split(",");
const verbose = options.includes("--verbose");
const withRoles = !options.includes("--no-roles");
const LIVE = [
  "readFails",
  "watchFails",
  "sequence",
  "sameFile",
  "listedAs",
  "writerAlive",
  "invariants",
];
const LIVE_IDS = ["ev-05-single-file-mount"];
const PLACES = [
  "byteOffset",
  "line",
  "column",
  "item",
  "where",
  "keepBytes",
  "openDepth",
  "length",
  "records",
  "lines",
  "versionFound",
  "recoverable",
];

function layOut(caseDir, spec) {
  const root = mkdtempSync(join(tmpdir(), "case-"));
  const folder = join(root, "files");
  mkdirSync(folder);
  for (const file of spec.files) {
    const target = join(folder, file.path);
    mkdirSync(dirname(target), { recursive: true });
    const stored = existsSync(join(caseDir, file.path));
    if (stored) cpSync(join(caseDir, file.path), target);
    const parts = [];
    for (const part of stored ? [] : (file.generate?.parts ?? [])) {
      if (part.text !== undefined) parts.push(Buffer.from(part.text));
      else if (part.nul !== undefined) parts.push(Buffer.alloc(part.nul));
      else if (part.repeat !== undefined) parts.push(Buffer.from(part.repeat.repeat(part.times)));
      else if (part.lines)
        for (let n = part.lines.from; n <= part.lines.to; n++)
          parts.push(Buffer.from(`${part.lines.template.replaceAll("{n}", String(n))}\n`));
    }
    if (!stored) writeFileSync(target, Buffer.concat(parts));
    if (file.mtime) utimesSync(target, new Date(file.mtime), new Date(file.mtime));
  }
  const context = {
    ...(spec.context ?? {}),
    ...(withRoles ? { roles: Object.fromEntries(spec.files.map((f) => [f.path, f.role])) } : {}),
  };
  writeFileSync(join(root, "context.json"), JSON.stringify(context, null, 2));
  return { root, folder, contextPath: join(root, "context.json") };
}

function matches(expected, found) {
  const kinds = [expected.damage, ...(expected.orDamage ?? [])];
  if (!kinds.includes(found.kind) || found.file !== expected.file) return false;
  const severities = [expected.severity ?? "error", ...(expected.orSeverity ?? [])];
  if (!severities.includes(found.severity)) return false;
  if (found.kind !== expected.damage) return true;
  for (const place of PLACES) {
    // a target is compared only where it names a file; prose ("itself, bytes 0..45") is for readers
    if (
      expected[place] === undefined ||
      (place === "recoverable" && (expected[place] === null || / /.test(expected[place])))
    )
      continue;
    const allowed = [
      expected[place],
      ...(expected[`or${place[0].toUpperCase()}${place.slice(1)}`] ?? []),
    ].map((v) => JSON.stringify(String(v)));
    if (!allowed.includes(JSON.stringify(String(found[place])))) return false;
  }
  return true;
}

const tally = { passed: 0, failed: 0, live: 0 };
for (const id of readdirSync(casesDir).sort()) {
  const caseDir = join(casesDir, id);
  if (!existsSync(join(caseDir, "case.json")) || (only && !only.includes(id))) continue;
  const spec = JSON.parse(readFileSync(join(caseDir, "case.json"), "utf8"));
  if (LIVE_IDS.includes(id) || Object.keys(spec.context ?? {}).some((key) => LIVE.includes(key))) {
    tally.live++;
    continue;
  }
  const { root, folder, contextPath } = layOut(caseDir, spec);
  let report;
  const faults = [];
  try {
    let text;
    try {
      text = execFileSync(command, [...commandArgs, "--context", contextPath, folder], {
        encoding: "utf8",
        maxBuffer: 1 << 28,
        timeout: 60_000,
        stdio: ["ignore", "pipe", "pipe"],
      });
    } catch (error) {
      if (![1, 2].includes(error.status) || !error.stdout)
        throw new Error(
          `exit ${error.status ?? error.signal ?? error.code}: ${String(error.stderr ?? "").slice(-200)}`,
        );
      text = error.stdout;
    }
    report = JSON.parse(text);
  } catch (error) {
    faults.push(`no report: ${error.message}`.slice(0, 300));
  }
  if (report) {
    const found = report.findings ?? [];
    const used = new Set();
    for (const expected of [...spec.expect.findings].sort(
      (a, b) => Number(a.optional ?? false) - Number(b.optional ?? false),
    )) {
      const at = found.findIndex((f, i) => !used.has(i) && matches(expected, f));
      if (at >= 0) used.add(at);
      else if (!expected.optional) {
        const near = found
          .filter((f) => f.file === expected.file)
          .map(
            (f) =>
              `${f.severity} ${f.kind} ${PLACES.filter((p) => expected[p] !== undefined)
                .map((p) => `${p}=${f[p]}`)
                .join(" ")}`,
          );
        faults.push(
          `missing ${expected.damage} in ${expected.file} ${PLACES.filter(
            (p) => expected[p] !== undefined,
          )
            .map((p) => `${p}=${expected[p]}`)
            .join(" ")} (there: ${near.join(", ") || "nothing"})`,
        );
      }
    }
    const overalls = [spec.expect.overall, ...(spec.expect.orOverall ?? [])];
    if (
      report.overall !== undefined &&
      !overalls.includes(report.overall) &&
      !spec.expect.findings.some((f) => f.optional || f.orDamage) &&
      !spec.expect.allowExtra
    )
      faults.push(`overall ${report.overall}, expected ${overalls.join(" or ")}`);
    if (report.overall === undefined) faults.push("the report has no overall word");
    found.forEach((f, i) => {
      if (used.has(i) || (spec.expect.allowExtra ?? []).includes(f.kind)) return;
      const forbidden = spec.expect.mustNotReport.includes(f.kind);
      if (forbidden || f.severity === "error" || f.severity === "warning")
        faults.push(
          `not expected: ${f.severity} ${f.kind} in ${f.file} at ${f.byteOffset ?? f.line ?? f.item ?? "?"}`,
        );
    });
  }
  rmSync(root, { recursive: true, force: true });
  if (faults.length) {
    tally.failed++;
    process.stdout.write(`FAIL ${id}: ${faults.join(" | ")}\n`);
  } else {
    tally.passed++;
    if (verbose) process.stdout.write(`ok   ${id}\n`);
  }
}
process.stdout.write(`${tally.passed} passed, ${tally.failed} failed, ${tally.live} skipped\n`);
process.exit(tally.failed ? 1 : 0);
