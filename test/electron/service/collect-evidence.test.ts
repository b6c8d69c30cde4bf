import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { collectEvidence } from "../../../electron/service/collect-evidence.js";
import { limits } from "../../../shared/base/limits.js";
import { emptyContext, type InspectContext } from "../../../shared/inspect/context.js";
import type { ObservedContent } from "../../../shared/inspect/evidence.js";
import { inspectRun } from "../../../shared/inspect/inspect-run.js";
import { type Fails, type FileLook, memoryFolder, memoryRoot } from "../memory-reading.js";

const nowMs = Date.parse("2026-03-04T09:00:00.000Z");
const longAgoMs = nowMs - 3_600_000;
const justNowMs = nowMs - 100;

async function collect(
  files: Readonly<Record<string, readonly FileLook[] | Fails>>,
  context: InspectContext = emptyContext,
) {
  const folder = memoryFolder(files);
  let clockMs = nowMs;
  const { evidence, coverage } = await collectEvidence(
    {
      reading: folder.reading,
      nowMs: () => clockMs,
      pause: async (waitMs) => {
        folder.pauses.push(waitMs);
        clockMs += waitMs;
      },
      hostName: "box-1",
    },
    {
      roots: [{ folder: memoryRoot, name: "runs" }],
      context,
      leftOut: new Map(),
    },
  );
  const content = (path: string): ObservedContent | undefined =>
    evidence.files.find((file) => file.path === path)?.content;
  return {
    evidence,
    coverage: coverage.finish(),
    folder,
    content,
    inspection: inspectRun(evidence),
  };
}

function caseFile(path: string): Uint8Array {
  return readFileSync(new URL(`../../cases/${path}`, import.meta.url));
}

const whole = '{"version": 3, "tasks": []}';
const half = '{"version": 3, "tas';

describe("a file that is being written", () => {
  test("lw-01: half at the first look and whole at the second is whole, after one pause", async () => {
    const { inspection, folder, content } = await collect({
      "run.json": [
        { bytes: caseFile("lw-01-caught-while-writing/look1/run.json"), modifiedMs: nowMs },
        { bytes: caseFile("lw-01-caught-while-writing/look2/run.json"), modifiedMs: nowMs + 4 },
      ],
    });
    expect(inspection.findings).toEqual([]);
    expect(inspection.overall).toBe("healthy");
    expect(content("run.json")).toMatchObject({ kind: "document", bytes: 1075 });
    expect(folder.pauses).toEqual([limits.secondLookMs]);
  });

  test("lw-03: half and unchanged for a minute is torn, without a second look", async () => {
    const { inspection, folder } = await collect({
      "run.json": [
        {
          bytes: caseFile("lw-03-still-half-after-a-minute/look2/run.json"),
          modifiedMs: nowMs - 60_000,
        },
      ],
    });
    expect(inspection.overall).toBe("damaged");
    expect(inspection.findings).toMatchObject([
      { kind: "truncated", byteOffset: 610, where: "inside string", facts: { openDepth: 4 } },
    ]);
    expect(folder.pauses).toEqual([]);
  });

  test("half, just written, and the same at the second look is torn", async () => {
    const { inspection, folder } = await collect({
      "run.json": [{ bytes: half, modifiedMs: justNowMs }],
    });
    expect(inspection.findings.map(({ kind }) => kind)).toEqual(["truncated"]);
    expect(folder.pauses).toHaveLength(1);
  });

  test("a change under our hands is looked at again, and the steady look stands", async () => {
    const { content, inspection } = await collect({
      "run.json": [
        { bytes: half, modifiedMs: longAgoMs, modifiedMsAfter: nowMs },
        { bytes: whole, modifiedMs: longAgoMs },
      ],
    });
    expect(content("run.json")).toMatchObject({ kind: "document", bytes: whole.length });
    expect(inspection.findings).toEqual([]);
  });

  test("a document that changes at every look is not judged, and says so", async () => {
    const { content, inspection, folder } = await collect({
      "run.json": [
        { bytes: half, modifiedMs: nowMs, modifiedMsAfter: nowMs + 1 },
        { bytes: `${half}k`, modifiedMs: nowMs + 2, modifiedMsAfter: nowMs + 3 },
        { bytes: `${half}ks`, modifiedMs: nowMs + 4, modifiedMsAfter: nowMs + 5 },
      ],
    });
    expect(content("run.json")).toEqual({
      kind: "changing",
      bytes: half.length + 2,
      firstBytes: half.length,
    });
    expect(inspection.findings).toMatchObject([
      { kind: "changed-while-read", severity: "warning" },
    ]);
    expect(folder.pauses).toHaveLength(limits.looksMax - 1);
  });

  test("different halves at three looks are never called torn", async () => {
    const { inspection } = await collect({
      "run.json": [
        { bytes: half, modifiedMs: nowMs },
        { bytes: `${half}k`, modifiedMs: nowMs + 200 },
        { bytes: `${half}ks`, modifiedMs: nowMs + 400 },
      ],
    });
    expect(inspection.findings.map(({ kind }) => kind)).toEqual(["changed-while-read"]);
  });

  test("a time stamp in the future counts as just written", async () => {
    const { folder } = await collect({ "run.json": [{ bytes: half, modifiedMs: nowMs + 9_000 }] });
    expect(folder.pauses).toHaveLength(1);
  });

  test("a whole document that was just written costs no pause", async () => {
    const { folder } = await collect({ "run.json": [{ bytes: whole, modifiedMs: justNowMs }] });
    expect(folder.pauses).toEqual([]);
  });

  test("a hundred files in doubt share their pauses", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [
        `run_${i}.json`,
        [{ bytes: half, modifiedMs: justNowMs }],
      ]),
    );
    const { folder, inspection } = await collect(files);
    expect(folder.pauses).toHaveLength(1);
    expect(inspection.findings).toHaveLength(100);
  });
});

describe("a log that grows", () => {
  const record = '{"id":"a","phase":"done"}\n';

  test("is judged as far as it reached when it was opened", async () => {
    const { content, folder } = await collect({
      "checkpoint.jsonl": [{ bytes: record, modifiedMs: nowMs, growsBy: record }],
    });
    expect(content("checkpoint.jsonl")).toMatchObject({ kind: "log", bytes: record.length });
    expect(folder.pauses).toEqual([]);
  });

  test("in the middle of a line is looked at again", async () => {
    const { content, inspection } = await collect({
      "checkpoint.jsonl": [
        { bytes: `${record}{"id":"b"`, modifiedMs: justNowMs },
        { bytes: `${record}{"id":"b","phase":"done"}\n`, modifiedMs: nowMs },
      ],
    });
    expect(content("checkpoint.jsonl")).toMatchObject({ kind: "log", log: { records: 2 } });
    expect(inspection.findings.map(({ kind }) => kind)).not.toContain("torn-tail");
  });

  test("at every look is judged up to its last whole line, and the rest is told", async () => {
    const tails = ['{"i', '{"id"', '{"id":"b'];
    const { content, inspection, coverage } = await collect({
      "checkpoint.jsonl": tails.map((tail, i) => ({
        bytes: record + tail,
        modifiedMs: nowMs + i * 200,
      })),
    });
    expect(content("checkpoint.jsonl")).toMatchObject({ kind: "log", bytes: record.length });
    expect(inspection.findings.map(({ kind }) => kind)).not.toContain("torn-tail");
    expect(coverage.unknown.join()).toMatch(/checkpoint\.jsonl is being written: its last 8 bytes/);
  });

  test("with the same cut line at two looks has a torn tail", async () => {
    const { inspection } = await collect({
      "checkpoint.jsonl": [{ bytes: `${record}{"id":"b`, modifiedMs: justNowMs }],
    });
    expect(inspection.findings.map(({ kind }) => kind)).toContain("torn-tail");
  });

  test("that shrinks while it is read is not one log", async () => {
    const { content } = await collect({
      "checkpoint.jsonl": [
        { bytes: record, modifiedMs: longAgoMs, modifiedMsAfter: nowMs },
        { bytes: record + record, modifiedMs: longAgoMs },
      ],
    });
    expect(content("checkpoint.jsonl")).toMatchObject({ kind: "log", bytes: record.length * 2 });
  });
});

describe("a file that is refused", () => {
  test("ev-01: a whole file that may not be opened is unreadable, not damaged", async () => {
    const { inspection, content } = await collect({
      "state.json": [{ bytes: whole, openFails: "EACCES" }],
    });
    expect(content("state.json")).toMatchObject({ kind: "unreadable", errno: "EACCES" });
    expect(inspection.overall).toBe("unreadable");
    expect(inspection.findings).toMatchObject([
      { kind: "unreadable", severity: "error", facts: { errno: "EACCES" } },
    ]);
    expect(inspection.findings[0]?.says).not.toMatch(/torn|corrupt|roll/i);
  });

  test.each(["EIO", "ESTALE", "EPERM", "EMFILE", "ETIMEDOUT"])(
    "%s while reading is told in words, and the file is closed",
    async (errno) => {
      const { content, folder } = await collect({
        "run.json": [{ bytes: whole, readFails: errno }],
      });
      const found = content("run.json");
      expect(found).toMatchObject({ kind: "unreadable", errno });
      expect(found?.kind === "unreadable" && found.says).toMatch(/^(the|this) [a-z ]+$/);
      expect(folder.closed).toEqual(folder.opened);
    },
  );

  test("a folder that may not be listed is one unreadable entry; the rest is read", async () => {
    const { content, inspection } = await collect({
      closed: { listFails: "EACCES" },
      "run.json": [{ bytes: whole }],
    });
    expect(content("closed")).toMatchObject({ kind: "unreadable", errno: "EACCES" });
    expect(content("run.json")).toMatchObject({ kind: "document" });
    expect(inspection.findings).toMatchObject([{ kind: "unreadable", file: "closed" }]);
  });

  test("an entry that may not even be looked at is unreadable", async () => {
    const { content } = await collect({ "run.json": { lookFails: "EIO" } });
    expect(content("run.json")).toMatchObject({ kind: "unreadable", errno: "EIO" });
  });

  test("gone at the second look is skipped, not reported", async () => {
    const { evidence, coverage } = await collect({
      "run.json": [{ bytes: whole, openFails: "ENOENT" }],
    });
    expect(evidence.files).toEqual([]);
    expect(coverage.skipped).toEqual([{ path: "run.json", reason: "gone at the second look" }]);
  });

  test("moved away for a moment and back is read", async () => {
    const { content } = await collect({
      "run.json": [{ bytes: "", openFails: "ENOENT" }, { bytes: whole }],
    });
    expect(content("run.json")).toMatchObject({ kind: "document", bytes: whole.length });
  });

  test("replaced by a pipe since it was listed is left alone", async () => {
    const { evidence, coverage } = await collect({
      "run.json": [
        { bytes: whole, modifiedMsAfter: nowMs },
        { bytes: "", kind: "pipe" },
      ],
    });
    expect(evidence.files).toEqual([]);
    expect(coverage.skipped).toEqual([{ path: "run.json", reason: "pipe" }]);
  });
});

describe("what is known besides the bytes", () => {
  test("the context's time stands before the clock's", async () => {
    const { evidence } = await collect(
      { "run.json": [{ bytes: whole }] },
      { ...emptyContext, now: "2020-01-01T00:00:00Z" },
    );
    expect(evidence.nowMs).toBe(Date.parse("2020-01-01T00:00:00Z"));
  });

  test("no process table is made up for a folder that may come from elsewhere", async () => {
    const { evidence } = await collect({
      "run.lock": [{ bytes: '{"pid": 999999, "host": "box-1"}' }],
    });
    expect(evidence.context.processes).toBeUndefined();
    expect(evidence.hostName).toBe("box-1");
  });

  test("coverage counts what was read", async () => {
    const { coverage } = await collect({
      "run.json": [{ bytes: whole }],
      "notes.md": [{ bytes: "# notes" }],
    });
    expect(coverage).toMatchObject({ files: 1, bytes: whole.length });
    expect(coverage.skipped).toMatchObject([{ path: "notes.md" }]);
  });
});
