import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CommandHost } from "../../../../electron/hosts/cli/command.js";
import { processCommandHost } from "../../../../electron/hosts/cli/command-host.js";
import { runCommand } from "../../../../electron/hosts/cli/run-command.js";
import { wantsColor } from "../../../../electron/hosts/cli/terminal.js";
import { nodeFileReading } from "../../../../electron/service/file-reading.js";
import { columnsOf } from "../../../../shared/base/text.js";
import { findingKinds } from "../../../../shared/inspect/finding.js";
import { freshFolder, runCli, runHere } from "../../cli-process.js";

const samples = fileURLToPath(new URL("../../../../assets/samples", import.meta.url));
const halfWritten = join(samples, "half-written-run/files");
const healthy = join(samples, "healthy-run/files");
const leftovers = join(samples, "leftovers/files");
const fresh = freshFolder();
const { folder } = fresh;

function place(path: string, bytes: string | Uint8Array): string {
  const full = join(folder, path);
  mkdirSync(join(full, ".."), { recursive: true });
  writeFileSync(full, bytes);
  return full;
}

beforeAll(() => {
  mkdirSync(join(folder, "empty"));
});
afterAll(() => fresh.remove());

describe("exit codes of scan", () => {
  test.each([
    ["nothing found", [healthy], 0],
    ["an error", [halfWritten], 1],
    ["an error, and never failing", [halfWritten, "--fail-on", "never"], 0],
    ["only warnings, failing on errors", [leftovers], 0],
    ["only warnings, failing on warnings", [leftovers, "--fail-on", "warning"], 1],
    ["a healthy folder, failing on notices", [healthy, "--fail-on", "notice"], 0],
    ["several roots, one of them damaged", [healthy, halfWritten], 1],
    ["a path that is not there", [join(folder, "nowhere")], 2],
    ["an empty folder", [join(folder, "empty")], 2],
    ["an unknown option", [healthy, "--nonsense"], 2],
    ["an unknown format", [healthy, "--format", "xml"], 2],
    ["a context file that is not there", [healthy, "--context", join(folder, "none.json")], 2],
    ["a baseline that is not there", [healthy, "--baseline", join(folder, "none.json")], 2],
  ])("%s", async (_title, args, expected) => {
    const { code, err } = await runHere(["scan", ...args]);
    expect(code, err).toBe(expected);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test.each([
    [healthy, 0],
    [halfWritten, 1],
    [join(folder, "nowhere"), 2],
  ])("of a process of its own: %s", async (path, expected) => {
    expect((await runCli(["scan", path])).code).toBe(expected);
  });

  test("an unknown command is one sentence on standard error", async () => {
    const { code, out, err } = await runHere(["scam"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^lastgood: "scam" is neither .*\n$/);
  });

  test("a folder alone is scanned, and one named like a command is given with ./", async () => {
    cpSync(halfWritten, join(folder, "scan"), { recursive: true });
    const plain = await runHere([halfWritten]);
    const named = await runCli(["scan", "./scan"], { folder });
    expect([plain.code, named.code]).toEqual([1, 1]);
    expect(named.out).toContain("truncated");
  });
});

describe("formats of scan", () => {
  test("json is one report on standard output and nothing else", async () => {
    const { out, err } = await runCli(["scan", halfWritten, "--json"]);
    const report = JSON.parse(out);
    expect(err).toBe("");
    expect(report).toMatchObject({
      schema: "lastgood.report/1",
      roots: [halfWritten],
      overall: "damaged",
      findings: [{ kind: "truncated", byteOffset: 1893, recoverable: "run_9d4a/v61.json" }],
    });
  });

  test("finding ids do not depend on a slash behind the folder, nor on the day", async () => {
    const ids = async (path: string): Promise<unknown> =>
      JSON.parse((await runHere(["scan", path, "--json"])).out).findings.map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids(`${halfWritten}/`)).toEqual(await ids(halfWritten));
  });

  test("sarif names a file by its bytes where they are not UTF-8", async () => {
    mkdirSync(join(folder, "latin"));
    const name = Buffer.concat([
      Buffer.from(join(folder, "latin/b")),
      Buffer.from([0xff]),
      Buffer.from(".json"),
    ]);
    writeFileSync(name, '{"a":');
    const { out } = await runHere(["scan", join(folder, "latin"), "--format", "sarif"]);
    const [result] = JSON.parse(out).runs[0].results;
    expect(result.locations[0].physicalLocation.artifactLocation.uri).toBe("b%FF.json");
  });

  test("of several roots names each target with its own", async () => {
    const { out } = await runHere(["scan", halfWritten, healthy, "--no-color"]);
    expect(out.replaceAll(/\s+/g, "")).toContain(
      `${halfWritten}/run_9d4a/v61.json`.replaceAll(" ", ""),
    );
  });

  test("sarif has a rule for each result, a level and a place", async () => {
    const { out } = await runHere(["scan", halfWritten, leftovers, "--format", "sarif"]);
    const sarif = JSON.parse(out);
    const [run] = sarif.runs;
    expect(sarif.version).toBe("2.1.0");
    expect(run.results.length).toBeGreaterThan(2);
    for (const result of run.results) {
      expect(run.tool.driver.rules[result.ruleIndex].id).toBe(result.ruleId);
      expect(["error", "warning", "note"]).toContain(result.level);
      const { artifactLocation } = result.locations[0].physicalLocation;
      expect(run.originalUriBaseIds[artifactLocation.uriBaseId].uri).toMatch(/^file:.*\/$/);
      expect(artifactLocation.uri).not.toMatch(/^\/|\\/);
    }
    expect(run.results[0].locations[0].physicalLocation.region).toEqual({
      startLine: 34,
      byteOffset: 1893,
      byteLength: 0,
    });
  });

  test("markdown keeps scanned text from formatting or calling anybody", async () => {
    const root = join(folder, "markdown");
    place("markdown/@all|**bold**.json", "{");
    const { out } = await runHere(["scan", root, "--format", "markdown"]);
    const row = out.split("\n").find((line) => line.startsWith("| error"));
    expect(row?.replaceAll("\\|", "").split("|")).toHaveLength(6);
    expect(out).toContain("&#64;all");
    expect(out).toContain("\\*\\*bold\\*\\*");
  });

  test("text: the verdict first, then each finding with its place, reason, target and steps", async () => {
    const { out } = await runHere(["scan", halfWritten]);
    const [verdict] = out.split("\n");
    expect(verdict).toMatch(/ is damaged: 1 error in 3 files$|^run state in /);
    expect(out).toContain("error     truncated  run_9d4a.json:34:16  byte 1893");
    expect(out).toMatch(/back to {2}last good bytes in run_9d4a\/v61\.json/);
    expect(out).toMatch(/next {2}1\. /);
  });

  test("quiet text is one line for each finding", async () => {
    const { out } = await runHere(["scan", leftovers, "--quiet"]);
    expect(out.trimEnd().split("\n").slice(-3)).toEqual([
      expect.stringMatching(/^warning/),
      expect.stringMatching(/^warning/),
      expect.stringMatching(/^notice/),
    ]);
  });
});

const esc = "\u001b";

/** Characters that a terminal would obey instead of showing. */
function obeyed(text: string): readonly string[] {
  return [...text].filter((character) => {
    const code = character.codePointAt(0) ?? 0;
    const isControl = (code < 0x20 && character !== "\n") || (code >= 0x7f && code < 0xa0);
    return isControl || (code >= 0x202a && code <= 0x202e);
  });
}

describe("what reaches a terminal", () => {
  test("colour is sent to a terminal unless NO_COLOR is set", () => {
    const terminal = { outIsTerminal: true, columns: 100, out: () => {}, err: () => {} };
    expect(wantsColor({ ...terminal, environment: {} }, undefined)).toBe(true);
    expect(wantsColor({ ...terminal, environment: { NO_COLOR: "1" } }, undefined)).toBe(false);
    expect(wantsColor({ ...terminal, environment: { NO_COLOR: "" } }, undefined)).toBe(true);
    expect(wantsColor({ ...terminal, environment: { TERM: "dumb" } }, undefined)).toBe(false);
    expect(wantsColor({ ...terminal, environment: { NO_COLOR: "1" } }, true)).toBe(true);
  });

  test("colour is not sent to a pipe, is sent when asked for, and not under --no-color", async () => {
    expect((await runCli(["scan", halfWritten])).out).not.toContain(esc);
    expect((await runCli(["scan", halfWritten, "--color"])).out).toContain(`${esc}[31m`);
    expect((await runCli(["scan", halfWritten, "--no-color"])).out).not.toContain(esc);
  });

  test("no line is longer than 100 columns, whatever the names are", async () => {
    place(`wide/${"long name ".repeat(20)}.json`, "{");
    place(`wide/${"x".repeat(150)}.json`, '{"a": ');
    place(`wide/${"漢".repeat(60)}.json`, "[");
    const { out } = await runHere(["scan", join(folder, "wide")]);
    expect(out).toContain("3 errors");
    const tooLong = out.split("\n").filter((line) => columnsOf(line) > 100);
    expect(tooLong).toEqual([]);
  });

  test.skipIf(process.platform === "win32")(
    "escape sequences, direction marks and line ends in names are shown, never sent, in any format (not on Windows)",
    async () => {
      const root = join(folder, "hostile");
      place(`hostile/${esc}]0;owned\u0007\u202egnp.json`, "{");
      place("hostile/line\nend\u009b2J.json", "{");
      place(`hostile/${esc}[2J.json`, '{"version": 2, "a": ');
      place(`hostile/${esc}[2J/v1.json`, '{"version": 1, "a": 1}');
      for (const format of ["text", "json", "sarif", "markdown"]) {
        const { code, out, err } = await runHere(["scan", root, "--format", format]);
        expect(code, format).toBe(1);
        expect(obeyed(out + err), format).toEqual([]);
      }
      const { out } = await runCli(["scan", root]);
      expect(out).toContain("\\x1b]0;owned\\x07\\u{202e}gnp.json");
      expect(out).toContain("line\\nend\\x9b2J.json");
      expect(out).toContain("last good bytes in \\x1b[2J/v1.json");
    },
  );

  test("values from inside a file are shown escaped by diff", async () => {
    const a = place("values/a.json", '{"a": "x"}');
    const b = place("values/b.json", `{"a": "${esc}[2J\u202e"}`);
    for (const mode of ["text", "bytes"]) {
      const { out } = await runHere(["diff", a, b, "--mode", mode]);
      expect(out, mode).not.toContain(esc);
      expect(out, mode).not.toContain("\u202e");
    }
  });

  test("a reader that closes early is no failure", async () => {
    for (let i = 0; i < 400; i++) place(`many/run_${i}.json`, "{");
    const { code, err } = await runCli(["scan", join(folder, "many"), "--json"], {
      closeEarly: true,
    });
    expect({ code, err }).toEqual({ code: 1, err: "" });
  });
});

describe("one file as the root", () => {
  test("its kept versions are read for a target, and only its own findings are told", async () => {
    const root = join(folder, "single");
    cpSync(halfWritten, root, { recursive: true });
    place("single/other.json", "{");
    const { code, out } = await runHere(["scan", join(root, "run_9d4a.json"), "--json"]);
    const report = JSON.parse(out);
    expect(code).toBe(1);
    expect(report.roots).toEqual([root]);
    expect(report.findings).toMatchObject([
      { file: "run_9d4a.json", kind: "truncated", recoverable: "run_9d4a/v61.json" },
    ]);
    expect(report.files.map(({ path }: { path: string }) => path)).toEqual(["run_9d4a.json"]);
  });

  test("that is gone while its versions are there is a finding, and its versions are listed", async () => {
    const root = join(folder, "gone");
    cpSync(halfWritten, root, { recursive: true });
    rmSync(join(root, "run_9d4a.json"));
    const { code, out } = await runHere(["scan", join(root, "run_9d4a.json"), "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out).findings).toMatchObject([
      { kind: "missing-main", file: "run_9d4a.json", recoverable: "run_9d4a/v61.json" },
    ]);
    const versions = await runHere(["versions", join(root, "run_9d4a.json")]);
    expect(versions.out).toMatch(/v61\.json {2}<- may be restored/);
  });

  test("a link that a person names is followed", async () => {
    const root = join(folder, "linked");
    cpSync(halfWritten, root, { recursive: true });
    symlinkSync(join(root, "run_9d4a.json"), join(folder, "current.json"));
    const { out } = await runHere(["scan", join(folder, "current.json"), "--json"]);
    expect(JSON.parse(out).findings[0].recoverable).toBe("run_9d4a/v61.json");
  });
});

describe("the context", () => {
  test("lastgood.json of the folder is used, and is not itself judged", async () => {
    cpSync(leftovers, join(folder, "known"), { recursive: true });
    place(
      "known/lastgood.json",
      JSON.stringify({ roles: { "run_9d4a.json.4417.tmp": "evidence" }, probes: ["rm -rf"] }),
    );
    const { out, err } = await runHere(["scan", join(folder, "known"), "--json"]);
    const report = JSON.parse(out);
    const row = report.files.find(({ path }: { path: string }) => path.endsWith("4417.tmp"));
    expect(row.role).toBe("evidence");
    expect(report.files.map(({ path }: { path: string }) => path)).not.toContain("lastgood.json");
    expect(err).toContain('"probes" is ignored here');
  });

  test("a broken lastgood.json of a folder does not stop the scan, and is a warning", async () => {
    place("broken/lastgood.json", "{");
    place("broken/run.json", "{}");
    const report = ["scan", join(folder, "broken"), "--json"];
    const { code, out } = await runHere(report);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      overall: "attention",
      findings: [{ kind: "rule-not-checked", severity: "warning", file: "lastgood.json" }],
    });
    expect((await runHere([...report, "--fail-on", "warning"])).code).toBe(1);
  });

  test("a version field that no document has is listed as not known", async () => {
    place("typo/run.json", '{"version":3}');
    const context = place("typo.json", '{"versionField":"vresion"}');
    const { out } = await runHere(["scan", join(folder, "typo"), "--json", "--context", context]);
    expect(JSON.parse(out).coverage.unknown.join()).toContain("vresion");
  });

  test("a broken --context stops it, with a sentence for each mistake", async () => {
    const path = place("bad-context.json", '{"roles": {"a": "king"}, "rules": [{"file": "a"}]}');
    const { code, out, err } = await runHere(["scan", healthy, "--context", path]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/roles\.a: /);
    expect(err).toMatch(/rules\[0\]\.path: /);
  });
});

describe("a baseline", () => {
  test("known findings are neither shown nor counted; a new one is", async () => {
    const root = join(folder, "baseline");
    cpSync(halfWritten, root, { recursive: true });
    const known = join(folder, "known.json");
    const written = await runHere(["scan", root, "--write-baseline", known]);
    expect(written.code).toBe(0);
    const again = await runHere(["scan", root, "--baseline", known]);
    expect(again.code).toBe(0);
    expect(again.out).toContain("1 known finding of the baseline not shown");
    place("baseline/run_new.json", "{");
    const later = await runHere(["scan", root, "--baseline", known, "--json"]);
    expect(later.code).toBe(1);
    const marks = JSON.parse(later.out).findings.map((one: { file: string; known?: true }) => [
      one.file,
      one.known ?? false,
    ]);
    expect(marks).toEqual([
      ["run_9d4a.json", true],
      ["run_new.json", false],
    ]);
  });

  test("never replaces a file that is none", async () => {
    const other = place("precious.json", '{"version": 1}');
    const { code } = await runHere(["scan", healthy, "--write-baseline", other]);
    expect(code).toBe(2);
    expect(readFileSync(other, "utf8")).toBe('{"version": 1}');
  });
});

describe("init", () => {
  test("writes what was guessed, and a scan with it says the same", async () => {
    const root = join(folder, "init");
    cpSync(halfWritten, root, { recursive: true });
    expect((await runHere(["init", root])).code).toBe(0);
    const file = JSON.parse(readFileSync(join(root, "lastgood.json"), "utf8"));
    expect(file.roles).toEqual({
      "run_9d4a.json": "run",
      "run_9d4a/v60.json": "snapshot",
      "run_9d4a/v61.json": "snapshot",
    });
    const { out } = await runHere(["scan", root, "--json"]);
    expect(JSON.parse(out).findings).toMatchObject([{ kind: "truncated" }]);
  });

  test("never overwrites", async () => {
    const path = place("init-twice/lastgood.json", "mine");
    const { code, err } = await runHere(["init", join(folder, "init-twice")]);
    expect(code).toBe(2);
    expect(err).toContain("is left as it is");
    expect(readFileSync(path, "utf8")).toBe("mine");
  });
});

describe("versions and diff", () => {
  const torn = join(halfWritten, "run_9d4a.json");

  test("versions lists head and copies, and marks the one to go back to", async () => {
    const { code, out } = await runHere(["versions", torn]);
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^version +health/),
      expect.stringMatching(/^62 +torn +2,048 .*head +run_9d4a\.json$/),
      expect.stringMatching(/^61 +ok .*v61\.json {2}<- may be restored$/),
      expect.stringMatching(/^60 +ok .*v60\.json$/),
    ]);
  });

  test("a torn document is compared as far as it can be read; the rest is unknown", async () => {
    const { code, out } = await runHere(["diff", `${torn}@v61`, torn, "--json"]);
    const diff = JSON.parse(out);
    expect(code).toBe(1);
    expect(diff.broken).toMatchObject([{ kind: "truncated", byteOffset: 1893, line: 34 }]);
    expect(diff.changes).toContainEqual({
      path: "$.version",
      kind: "changed",
      before: { text: "61", bytes: 2 },
      after: { text: "62", bytes: 2 },
    });
    expect(diff.changes.map(({ kind }: { kind: string }) => kind)).not.toContain("removed");
    expect(diff.unknown).toContainEqual({ path: "$.applied_ids", missingIn: "after" });
  });

  test("a version that is not kept is named, with those that are", async () => {
    const { code, err } = await runHere(["diff", `${torn}@v7`, torn]);
    expect(code).toBe(2);
    expect(err).toContain("has no version 7 here. There: v62, v61, v60.");
  });

  test("bytes without any JSON are compared as text, and that is said", async () => {
    const a = place("texts/a.json", "one\ntwo\n");
    const b = place("texts/b.json", "one\nthree\n");
    const { code, out, err } = await runHere(["diff", a, b]);
    expect(code).toBe(1);
    expect(out).toContain("-two\n+three");
    expect(err).toContain("compared as text");
    expect((await runHere(["diff", a, b, "--mode", "structure"])).code).toBe(2);
  });

  test("equal documents exit 0 in every mode", async () => {
    for (const mode of ["structure", "text", "bytes"]) {
      const same = join(halfWritten, "run_9d4a/v61.json");
      expect((await runHere(["diff", same, same, "--mode", mode])).code, mode).toBe(0);
    }
  });
});

describe("files that are refused", () => {
  async function scanRefusing(refused: RegExp, path: string) {
    let out = "";
    const host = processCommandHost();
    const code = await runCommand(["scan", path, "--json"], {
      ...host,
      means: {
        ...host.means,
        reading: {
          ...nodeFileReading,
          open: (location) =>
            refused.test(location.toString())
              ? Promise.reject(Object.assign(new Error("refused"), { code: "EACCES" }))
              : nodeFileReading.open(location),
        },
      },
      terminal: {
        out: (text) => {
          out += text;
        },
        err: () => {},
        outIsTerminal: false,
        columns: 100,
        environment: {},
      },
    });
    return { code, report: JSON.parse(out) };
  }

  test("all of them: nothing could be inspected, exit 2, and the report says unreadable", async () => {
    const { code, report } = await scanRefusing(/./, halfWritten);
    expect(code).toBe(2);
    expect(report.overall).toBe("unreadable");
    expect(report.findings).toHaveLength(3);
    expect(report.findings[0].errno).toBe("EACCES");
  });

  test("some of them follow --fail-on like any other finding", async () => {
    const { code, report } = await scanRefusing(/v61/, halfWritten);
    expect(code).toBe(1);
    expect(report.findings.map(({ kind }: { kind: string }) => kind)).toContain("unreadable");
    expect(report.findings.map(({ kind }: { kind: string }) => kind)).toContain("truncated");
  });
});

describe("several roots", () => {
  test("files and findings say which root they belong to, and namesakes are kept apart", async () => {
    const { out } = await runHere(["scan", healthy, halfWritten, "--json"]);
    const report = JSON.parse(out);
    expect(report.roots).toEqual([healthy, halfWritten]);
    expect(report.findings).toMatchObject([{ root: 1, file: "run_9d4a.json" }]);
    expect(new Set(report.files.map(({ root }: { root: number }) => root))).toEqual(
      new Set([0, 1]),
    );
  });
});

describe("a mistake of our own", () => {
  const broken: CommandHost = {
    ...processCommandHost(),
    means: {
      ...processCommandHost().means,
      reading: {
        ...nodeFileReading,
        names: () => Promise.reject(new TypeError(`x is undefined${esc}[2J`)),
      },
    },
  };

  async function runBroken(environment: Readonly<Record<string, string>>) {
    const said: string[] = [];
    const terminal = {
      out: (text: string) => said.push(`out ${text}`),
      err: (text: string) => said.push(text),
      outIsTerminal: false,
      columns: 100,
      environment,
    };
    return { code: await runCommand(["scan", healthy], { ...broken, terminal }), said };
  }

  test("is one sentence, the word internal and exit code 2", async () => {
    const { code, said } = await runBroken({});
    expect(code).toBe(2);
    expect(said).toEqual([
      "lastgood: internal: x is undefined\\x1b[2J. Nothing was changed; LASTGOOD_DEBUG=1 shows where.\n",
    ]);
  });

  test("shows where it happened when asked to", async () => {
    const { said } = await runBroken({ LASTGOOD_DEBUG: "1" });
    expect(said[1]).toMatch(/\n {4}at /);
    expect(said.join("")).not.toContain(esc);
  });
});

describe("the other commands", () => {
  test("explain tells every kind, and a wrong word is answered with near ones", async () => {
    const list = await runHere(["explain"]);
    for (const kind of findingKinds) expect(list.out).toContain(`  ${kind} `);
    const one = await runHere(["explain", "torn-tail"]);
    expect(one.out).toMatch(/^torn-tail: /);
    const wrong = await runHere(["explain", "torn"]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("perhaps torn-tail");
  });

  test("samples are copied to a new folder, and never into a full one", async () => {
    const target = join(folder, "incidents");
    const first = await runHere(["samples", target]);
    expect(first.code).toBe(0);
    expect(existsSync(join(target, "half-written-run/files/run_9d4a.json"))).toBe(true);
    expect(first.out).toContain("Now try: lastgood scan");
    expect((await runHere(["samples", target])).code).toBe(2);
  });

  test("doctor tries the folder, and leaves nothing behind", async () => {
    const { code, out } = await runHere(["doctor", join(folder, "empty"), "--json"]);
    expect(code).toBe(0);
    const probes = JSON.parse(out).probes.map(({ name }: { name: string }) => name);
    expect(probes).toEqual(["write", "rename", "link", "dir sync", "space"]);
    expect((await runHere(["scan", join(folder, "empty"), "--json"])).out).toContain('"files": 0');
  });

  test.each(["bash", "zsh", "fish"])("completion for %s names every command", async (shell) => {
    const { code, out } = await runHere(["completion", shell]);
    expect(code).toBe(0);
    for (const name of ["scan", "versions", "diff", "explain", "doctor"])
      expect(out).toContain(name);
  });

  test("help and version", async () => {
    expect((await runHere(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await runHere([])).out).toContain("usage: lastgood COMMAND");
    const help = await runHere(["help", "scan"]);
    expect(help.out).toBe((await runHere(["scan", "--help"])).out);
    expect(help.out).toContain("--fail-on LEVEL");
    expect(help.out.split("\n").filter((line) => columnsOf(line) > 100)).toEqual([]);
  });
});
