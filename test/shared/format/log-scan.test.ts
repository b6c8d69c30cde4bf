import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePath } from "../../../shared/base/json-path.js";
import { limits } from "../../../shared/base/limits.js";
import { capturePlan } from "../../../shared/format/capture-plan.js";
import { scanJson } from "../../../shared/format/json-scan.js";
import { classifyLine } from "../../../shared/format/log-line.js";
import { LogScanner } from "../../../shared/format/log-scan.js";
import { reportSeed, seedOf } from "../../support/seed.js";

const seed = seedOf("log-scan");
const id = parsePath("id");
const plan = capturePlan(id.kind === "path" ? [id.path] : []);

interface Seen {
  line: number;
  byteOffset: number;
  end: number;
  nulBefore: number;
  ended: boolean;
  text: string;
  outcome: string;
  ids: string[];
}

function lines(bytes: Uint8Array, chunkBytes = bytes.length + 1): Seen[] {
  const seen: Seen[] = [];
  const scanner = new LogScanner(({ content, answer, ...place }) => {
    const text = content === "too-long" ? content : Buffer.from(content).toString("latin1");
    const ids = answer.captured.map(({ raw }) => raw);
    seen.push({ ...place, text, outcome: answer.outcome.kind, ids });
  }, plan);
  for (let at = 0; at < bytes.length; at += chunkBytes)
    scanner.push(bytes.subarray(at, at + chunkBytes));
  scanner.finish();
  return seen;
}
const ofText = (text: string) => lines(Buffer.from(text));

describe("lines of a log", () => {
  test("end at byte 0x0A and nowhere else", () => {
    const text = '{"id":"a\u2028b"}\r\n{"id":"c\u0085"}\n{"id":3}';
    expect(ofText(text)).toMatchObject([
      { line: 1, byteOffset: 0, ended: true, outcome: "whole", ids: ['"a\u2028b"'] },
      { line: 2, outcome: "whole" },
      { line: 3, ended: false, outcome: "whole", end: Buffer.byteLength(text), ids: ["3"] },
    ]);
  });

  test("of white space are blank", () => {
    expect(ofText(" \t\r\n").map((one) => one.outcome)).toEqual(["blank"]);
  });

  test("behind NUL bytes begin where the file has them", () => {
    expect(ofText(`{}\n${"\0".repeat(9)}{"id":1}\n`)[1]).toMatchObject({
      line: 2,
      byteOffset: 3,
      nulBefore: 9,
      end: 20,
      text: '{"id":1}',
    });
  });

  test.each([100_000, 64 << 20])(
    "longer than is held are scanned to their end, and the next is held again (chunks of %d)",
    (chunkBytes) => {
      const record = (bytes: number) => {
        const [head, foot] = [Buffer.from('{"id":"a","b":"'), Buffer.from('"}')];
        const blob = Buffer.alloc(bytes - head.length - foot.length, 0x78);
        return Buffer.concat([head, blob, foot, Buffer.from("\n")]);
      };
      const most = limits.logLineBytesHeldMax;
      const all = Buffer.concat([record(most + 1), record(most), Buffer.from('{"id":2}')]);
      const seen = lines(all, chunkBytes);
      expect(seen.map((one) => one.text === "too-long")).toEqual([true, false, false]);
      expect(seen.map((one) => one.outcome)).toEqual(["whole", "whole", "whole"]);
      expect(seen.map((one) => one.ids)).toEqual([['"a"'], ['"a"'], ["2"]]);
    },
  );

  test("longer than is held cost no more memory than is held", () => {
    const scanner = new LogScanner(() => undefined, plan);
    const block = Buffer.alloc(1 << 20, 0x78);
    scanner.push(Buffer.from('{"id":"'));
    for (let i = 0; i < 8; i++) scanner.push(block);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64; i++) scanner.push(block);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 << 20);
  });

  test("are the same whatever the size of the chunks", () => {
    reportSeed("log-scan", seed);
    const piece = fc.constantFrom('{"id":1}', '{"id":"é', "\0\0\0", "\n", "\r\n", " ", '"}', "x");
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 20 }),
        fc.integer({ min: 1, max: 9 }),
        (parts, chunkBytes) => {
          const bytes = Buffer.from(parts.join(""));
          expect(lines(bytes, chunkBytes)).toEqual(lines(bytes));
        },
      ),
      { seed, numRuns: 2_000 },
    );
  });
});

describe("a line that is no single record", () => {
  const classified = (text: string) => classifyLine(Buffer.from(text));
  const wholeTexts = (text: string) => {
    const damage = classified(text);
    return "whole" in damage ? damage.whole.map((span) => text.slice(span.from, span.to)) : [];
  };

  test.each([
    ['{"n":1}{"n":2}', 7],
    ['{"n":1} {"n":2}', 8],
    ['{"n":1},{"n":2}', 8],
    ["[1,2][3,4]", 5],
  ])("%j is two whole ones, and the second begins at its bracket", (text, seam) => {
    expect(classified(text)).toMatchObject({ kind: "glued-records", seam });
  });

  test("is cut, also where records are arrays", () => {
    expect(classified("[1,2,[3")).toMatchObject({ kind: "cut", from: 0, where: "inside number" });
  });

  test.each([
    ['{"n":2,"v":1{"n":3,"v":2}', 12],
    ['{"n":2,"v{"n":3,"v":2}', 9],
    ['{"n":2,"v":{"n":3,"v":2}', 11],
    ['{"n":2,"v":"\\u00{"n":3,"v":2}', 16],
    ['{"n":1,"t":"a{"n":2,"t":"b{"n":3,"t":"c"}', 26],
  ])("%j is a cut one with a whole one behind it", (text, seam) => {
    expect(classified(text)).toMatchObject({ kind: "truncated-then-record", seam, cutFrom: 0 });
    expect(wholeTexts(text)).toEqual([text.slice(seam)]);
  });

  test("that other text was printed onto keeps its record", () => {
    expect(classified('WARN {disk} slow{"n":2}').kind).toBe("no-json");
    expect(wholeTexts('WARN {disk} slow{"n":2}')).toEqual(['{"n":2}']);
    expect(wholeTexts('[WARN] slow{"n":2}')).toEqual(['{"n":2}']);
  });

  test("with other bytes behind a whole record keeps that record", () => {
    expect(wholeTexts('{"n":2}xt":"tail"}')).toEqual(['{"n":2}']);
  });

  test("without its beginning is told by its end", () => {
    expect(classified('rest of it","a":{"b":1}}').kind).toBe("missing-head");
  });

  test("of any bytes is classified, and what is called whole lies inside it in order", () => {
    const piece = fc.constantFrom("{", "}", '"n":', '{"n":1}', '"', ",", "[", "]", "1", "\\", "é");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (parts) => {
        const bytes = Buffer.from(parts.join(""));
        const damage = classifyLine(bytes);
        if (!("whole" in damage) || damage.kind === "interleaved-records") return;
        let at = 0;
        for (const span of damage.whole) {
          expect(span.from).toBeGreaterThanOrEqual(at);
          const { outcome } = scanJson(bytes.subarray(span.from, span.to));
          expect(outcome.kind).toBe("whole");
          at = span.to;
        }
        expect(at).toBeLessThanOrEqual(bytes.length);
      }),
      { seed, numRuns: 5_000 },
    );
  });
});
