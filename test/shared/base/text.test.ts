import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import {
  clipToColumns,
  columnsOf,
  counted,
  grouped,
  padToColumns,
  safeJson,
  visibleText,
  wrapWords,
} from "../../../shared/base/text.js";
import { reportSeed, seedOf } from "../../support/seed.js";

const seed = seedOf("shown text");
beforeAll(() => reportSeed("shown text", seed));

describe("text from scanned bytes", () => {
  test.each([
    ["\u001b[31mred", "\\x1b[31mred"],
    ["a\nb\tc\rd", "a\\nb\\tc\\rd"],
    ["\u0000\u007f\u009b", "\\x00\\x7f\\x9b"],
    ["\u202etxt.exe\u2069", "\\u{202e}txt.exe\\u{2069}"],
    ["\ufeffmark\u200b", "\\u{feff}mark\\u{200b}"],
    ["\ud800", "\\u{d800}"],
    ["\u{e0041}", "\\u{e0041}"],
    ["plain ü 漢 \u{1f600} \\n", "plain ü 漢 \u{1f600} \\n"],
  ])("%j is shown as %j", (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });

  test("nothing that a terminal obeys is left, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        for (const character of visibleText(text)) {
          const code = character.codePointAt(0) ?? 0;
          expect(code >= 0x20 && !(code >= 0x7f && code < 0xa0)).toBe(true);
        }
      }),
      { seed },
    );
  });

  test("JSON for a terminal is the same value for a parser", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(safeJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed },
    );
    expect(safeJson("\u009b\u202e")).toBe('"\\u009b\\u202e"');
  });
});

describe("columns", () => {
  test("wide letters take two, combining marks none", () => {
    expect(columnsOf("abc")).toBe(3);
    expect(columnsOf("漢字")).toBe(4);
    expect(columnsOf("e\u0301")).toBe(1);
    expect(padToColumns("漢", 4)).toBe("漢  ");
  });

  test("a clipped text fits, and says that it was clipped", () => {
    expect(clipToColumns("abcdef", 4)).toBe("abc…");
    expect(clipToColumns("漢字漢字", 4)).toBe("漢…");
    expect(clipToColumns("abcd", 4)).toBe("abcd");
  });

  test("lines break between words, and inside a word only when it is longer than a line", () => {
    expect(wrapWords("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapWords("a abcdefgh b", 4)).toEqual(["a", "abcd", "efgh", "b"]);
    expect(wrapWords("", 10)).toEqual([""]);
  });

  test("no line is wider than asked, and no letter is lost", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 4, max: 40 }),
        (text, width) => {
          const lines = wrapWords(text, width);
          for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(width);
          expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
        },
      ),
      { seed },
    );
  });
});

test("numbers for people", () => {
  expect(grouped(1_234_567)).toBe("1,234,567");
  expect(counted(1, "error")).toBe("1 error");
  expect(counted(2_000, "entry", "entries")).toBe("2,000 entries");
});
