import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { diagnoseDocument } from "../shared/inspect/diagnose-document.js";

const project = fileURLToPath(new URL("..", import.meta.url));
const samples = `${project}assets/samples/`;
const names = readdirSync(samples).filter((name) => existsSync(`${samples}${name}/story.md`));

/** The report of a sample, its moment and the tool's version left out. */
function reportOf(name: string): object {
  const folder = `assets/samples/${name}`;
  const context = existsSync(`${samples}${name}/context.json`)
    ? ["--context", `${folder}/context.json`]
    : [];
  const args = ["dist/electron/hosts/cli/main.js", "scan", "--json", ...context, `${folder}/files`];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  expect(stderr).toBe("");
  const { at: _at, tool: _tool, ...report } = JSON.parse(stdout) as Record<string, unknown>;
  return report;
}

describe("sample incidents", () => {
  test.each(names)("%s is reported as expected, to the byte", (name) => {
    const expected = JSON.parse(readFileSync(`${samples}${name}/expected.json`, "utf8"));
    expect(reportOf(name)).toEqual(expected);
  });
});

interface Token {
  readonly start: number;
  readonly end: number;
  readonly isNumber: boolean;
}

/** The tokens of a whole document, read by another way than the scanner's: one regular expression. */
function tokensOf(text: string): readonly Token[] {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\]:,]/gs;
  return Array.from(text.matchAll(token), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    isNumber: /^[-\d]/.test(match[0]),
  }));
}

/** Where an honest reader must say that a cut document stops: see the definitions of `byteOffset`. */
function expectedOffset(tokens: readonly Token[], cut: number): number {
  const inside = tokens.find(
    (one) => one.start < cut && (cut < one.end || (one.isNumber && cut === one.end)),
  );
  return inside?.start ?? cut;
}

describe("each whole document of the samples", () => {
  const full = process.env.LASTGOOD_TEST_FULL === "1";
  const documents = names.flatMap((name) =>
    readdirSync(`${samples}${name}/files`, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".json"))
      .map((file) => `${name}/files/${file}`),
  );
  let cuts = 0;

  test("is called truncated at every cut, with the exact offset, and never when it is whole", {
    timeout: 240_000,
  }, () => {
    for (const document of documents) {
      const bytes = readFileSync(`${samples}${document}`);
      const text = bytes.toString("latin1"); // one letter a byte, so that indexes are offsets
      const whole = diagnoseDocument(bytes, { capture: [] });
      if (whole.damage.length > 0) continue;
      const tokens = tokensOf(text);
      const first = tokens[0]?.start ?? 0;
      const last = tokens.at(-1)?.end ?? 0;
      const step = full || bytes.length < 2_048 ? 1 : 3;
      for (let cut = 0; cut <= bytes.length; cut += cut > first + 64 ? step : 1) {
        const { damage } = diagnoseDocument(bytes.subarray(0, cut), { capture: [] });
        const told = damage.map((one) => [one.kind, one.at.byteOffset]);
        const expected =
          cut === 0
            ? [["empty", 0]]
            : cut <= first
              ? [["blank", 0]]
              : cut < last
                ? [["truncated", expectedOffset(tokens, cut)]]
                : [];
        expect([document, cut, told]).toEqual([document, cut, expected]);
        cuts += 1;
      }
    }
    process.stdout.write(`samples: ${cuts} cuts of ${documents.length} documents told exactly\n`);
    expect(cuts).toBeGreaterThan(5_000);
  });
});
