import { expect, test } from "vitest";
import { matchesGlob } from "../../../shared/inspect/glob.js";

test.each([
  ["s-*.jsonl", "s-1.jsonl", true],
  ["s-*.jsonl", "a/s-1.jsonl", false],
  ["**/s-*.jsonl", "a/b/s-1.jsonl", true],
  ["**/s-*.jsonl", "s-1.jsonl", true],
  ["a/**", "a/b/c.json", true],
  ["a?c", "abc", true],
  ["a?c", "a/c", false],
  ["a.b[1].json", "a.b[1].json", true],
  ["*", "", true],
  ["*.json", "a.jsonx", false],
])("%s against %s: %s", (glob, path, expected) => {
  expect(matchesGlob(glob, path)).toBe(expected);
});

test("a hostile glob ends at once", () => {
  expect(matchesGlob(`${"*a".repeat(500)}b`, "a".repeat(4_000))).toBe(false);
  expect(matchesGlob(`${"**/".repeat(200)}x`, "a/".repeat(2_000))).toBe(false);
});
