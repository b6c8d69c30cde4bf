import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { scanJson } from "../../../shared/format/json-scan.js";
import { diagnoseDocument } from "../../../shared/inspect/diagnose-document.js";

/** Others' work, read where it lies beside the project and never copied into it. */
const folder = fileURLToPath(new URL("../../../../shared/json-test-suite/", import.meta.url));
const there = existsSync(folder);
const title = there
  ? "JSONTestSuite"
  : "JSONTestSuite (skipped: ../shared/json-test-suite is not here)";

describe.skipIf(!there)(title, () => {
  const names = there ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  const ofKind = (letter: string) => names.filter((name) => name.startsWith(`${letter}_`));
  const read = (name: string) => readFileSync(`${folder}${name}`);

  test("each y_ document is whole", () => {
    const whole = ofKind("y").filter((name) => scanJson(read(name)).strict);
    process.stdout.write(`JSONTestSuite: ${whole.length} of ${ofKind("y").length} y_ whole\n`);
    expect(whole).toEqual(ofKind("y"));
  });

  test("no n_ document is whole", () => {
    const refused = ofKind("n").filter((name) => !scanJson(read(name)).strict);
    process.stdout.write(`JSONTestSuite: ${refused.length} of ${ofKind("n").length} n_ refused\n`);
    expect(refused).toEqual(ofKind("n"));
  });

  test("each i_ document is answered, and each document of all kinds is diagnosed", () => {
    const answered = ofKind("i").filter((name) => scanJson(read(name)).outcome.kind !== undefined);
    process.stdout.write(
      `JSONTestSuite: ${answered.length} of ${ofKind("i").length} i_ answered\n`,
    );
    expect(answered).toEqual(ofKind("i"));
    for (const name of names) {
      const { json, damage } = diagnoseDocument(read(name), { capture: [] });
      if (name.startsWith("y_")) expect([name, json]).toEqual([name, "valid"]);
      if (name.startsWith("n_")) expect([name, damage.length > 0]).toEqual([name, true]);
    }
  });
});
