import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePath } from "../../../shared/base/json-path.js";
import { capturePlan } from "../../../shared/format/capture-plan.js";
import { JsonScanner, scanJson } from "../../../shared/format/json-scan.js";
import { reportSeed, seedOf } from "../../support/seed.js";

const seed = seedOf("json-scan");
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function strictReference(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Bytes that look like JSON often enough to reach every state. */
const jsonish = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.json().map((text) => new TextEncoder().encode(text)),
  fc
    .array(
      fc.constantFrom(
        ...'{}[],:"\\/ \n\t0123456789eE+-.truefalsn',
        "NaN",
        "Infinity",
        '"a"',
        "\\u00",
        "\\ud83d",
        "//",
        "/*",
        "*/",
        "é",
        "\u0000",
      ),
      { maxLength: 40 },
    )
    .map((parts) => new TextEncoder().encode(parts.join(""))),
);

describe("the scanner", () => {
  test("answers any bytes", () => {
    reportSeed("json-scan", seed);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const answer = scanJson(bytes);
        expect(answer.bytes).toBe(bytes.length);
      }),
      { seed, numRuns: 5_000 },
    );
  });

  test("gives for chunks of any size the answer of one chunk", () => {
    const parsed = parsePath("a");
    const capture = capturePlan(parsed.kind === "path" ? [parsed.path, []] : []);
    fc.assert(
      fc.property(
        jsonish,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (bytes, cuts) => {
          const scanner = new JsonScanner({ capture });
          let at = 0;
          for (let i = 0; at < bytes.length; i++) {
            const size = cuts[i % cuts.length] ?? 1;
            scanner.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(scanner.finish()).toEqual(scanJson(bytes, { capture }));
        },
      ),
      { seed, numRuns: 5_000 },
    );
  });

  test("agrees with a strict parser on 100,000 mutated documents", () => {
    const random = mulberry(seed);
    let valid = 0;
    for (let i = 0; i < 100_000; i++) {
      const bytes = mutated(random);
      const expected = strictReference(bytes);
      const { strict, outcome } = scanJson(bytes);
      if (expected) valid += 1;
      if (strict !== expected)
        expect({ text: Buffer.from(bytes).toString("latin1"), strict, outcome }).toEqual({
          strict: expected,
        });
    }
    expect(valid).toBeGreaterThan(10_000);
    expect(valid).toBeLessThan(90_000);
  });
});

function mulberry(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const seeds = [
  { a: [1, -2.5e3, true, null], "b c": { é: 'x\\"\u2028' } },
  [{ id: "u-1", at: "2026-01-01T00:00:00Z", n: 0 }, [], {}, "", 1e21],
  { tasks: [{ status: "done", output: { uri: "s3://b/k" } }], applied_ids: ["a:b:v1"] },
];
const alphabet = new TextEncoder().encode('{}[],:"\\ \n0123eE+-.tfnulé\u0000\u007f');

/** A valid document, changed in none to four places. */
function mutated(random: () => number): Uint8Array {
  const pick = (n: number): number => Math.floor(random() * n);
  const text = JSON.stringify(seeds[pick(seeds.length)], null, pick(3));
  let bytes: number[] = [...new TextEncoder().encode(text)];
  for (let changes = pick(5); changes > 0; changes--) {
    const at = pick(bytes.length + 1);
    const byte = random() < 0.2 ? pick(256) : (alphabet[pick(alphabet.length)] ?? 0);
    const kind = pick(4);
    if (kind === 0) bytes.splice(at, 1);
    else if (kind === 1) bytes.splice(at, 0, byte);
    else if (kind === 2) bytes[Math.min(at, bytes.length - 1)] = byte;
    else bytes = random() < 0.5 ? bytes.slice(0, at) : [...bytes, ...bytes.slice(at)];
    if (bytes.length === 0) bytes = [0x20];
  }
  return Uint8Array.from(bytes);
}
