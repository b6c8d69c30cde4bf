import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const project = fileURLToPath(new URL("..", import.meta.url));
const scan = [process.execPath, "dist/electron/hosts/cli/main.js", "scan", "--json"];

function judged(...options: string[]): string {
  const judge = ["test/tools/judge-cases.mjs", "--cases", "test/cases", ...options, "--", ...scan];
  const { stdout } = spawnSync(process.execPath, judge, {
    cwd: project,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return stdout.trim();
}

test("every case is told as its README says, through the command line", {
  timeout: 180_000,
}, () => {
  const said = judged();
  process.stdout.write(`cases: ${said.split("\n").at(-1)}\n`);
  expect(said).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/);
});

const full = process.env.LASTGOOD_TEST_FULL === "1";
const title = `an unknown folder, without roles, is guessed as well${full ? "" : " (skipped: only with LASTGOOD_TEST_FULL=1)"}`;

test.skipIf(!full)(title, { timeout: 180_000 }, () => {
  const last = judged("--no-roles").split("\n").at(-1) ?? "";
  process.stdout.write(`cases without roles: ${last}\n`);
  expect(last).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/);
});
