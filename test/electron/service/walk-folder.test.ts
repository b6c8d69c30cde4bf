import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CoverageRecord } from "../../../electron/service/coverage.js";
import { joinBytes } from "../../../electron/service/file-name.js";
import { nodeFileReading } from "../../../electron/service/file-reading.js";
import { lookAtDocument } from "../../../electron/service/look-at-file.js";
import { walkFolder } from "../../../electron/service/walk-folder.js";
import { limits } from "../../../shared/base/limits.js";
import { freshFolder } from "../cli-process.js";

let fresh: ReturnType<typeof freshFolder>;
let folder = "";

beforeEach(() => {
  fresh = freshFolder();
  folder = fresh.folder;
});
afterEach(() => fresh.remove());

async function walk(options: { named?: readonly string[]; filesMax?: number } = {}) {
  const coverage = new CoverageRecord();
  const found = await walkFolder(nodeFileReading, coverage, {
    root: 0,
    folder,
    named: new Set(options.named ?? []),
    filesMax: options.filesMax ?? limits.scanFilesMax,
  });
  return { ...found, paths: found.files.map(({ path }) => path), coverage: coverage.finish() };
}

function write(path: string): void {
  const full = join(folder, path);
  mkdirSync(join(full, ".."), { recursive: true });
  writeFileSync(full, "{}");
}

describe("what is walked", () => {
  test("files of every folder, in one order", async () => {
    for (const path of ["b.json", "a/z.json", "a/y/x.json"]) write(path);
    expect((await walk()).paths).toEqual(["b.json", "a/z.json", "a/y/x.json"]);
  });

  test("node_modules and .git are left out, and said", async () => {
    for (const path of ["node_modules/p/package.json", ".git/config", "run.json"]) write(path);
    const { paths, coverage } = await walk();
    expect(paths).toEqual(["run.json"]);
    expect(coverage.skipped.map(({ path }) => path).sort()).toEqual([".git", "node_modules"]);
  });

  test("of our own folder only the audit log", async () => {
    for (const path of [".lastgood/audit.jsonl", ".lastgood/evidence/1-ab-run.json", ".lastgood/x"])
      write(path);
    expect((await walk()).paths).toEqual([".lastgood/audit.jsonl"]);
  });

  test("a staged file of ours is left out, unless the context names it", async () => {
    const staged = ".run.json.0123456789abcdef.tmp";
    write(staged);
    expect((await walk()).paths).toEqual([]);
    expect((await walk({ named: [staged] })).paths).toEqual([staged]);
  });

  test("a limit on files bites, and says so", async () => {
    for (let i = 0; i < 5; i++) write(`run_${i}.json`);
    const { paths, coverage } = await walk({ filesMax: 3 });
    expect(paths).toHaveLength(3);
    expect(coverage.unknown).toHaveLength(1);
  });

  test("folders below the depth limit are counted as skipped", async () => {
    write(`${Array.from({ length: limits.scanDepthMax + 2 }, () => "d").join("/")}/run.json`);
    const { paths, coverage } = await walk();
    expect(paths).toEqual([]);
    expect(coverage.skipped[0]?.reason).toMatch(/folders deep/);
  });
});

describe("what stands in a folder besides files", () => {
  test("a loop of symbolic links is not followed, and counted", async () => {
    mkdirSync(join(folder, "a"));
    symlinkSync("..", join(folder, "a", "up"));
    symlinkSync("/etc/hostname", join(folder, "out.json"));
    symlinkSync("nowhere", join(folder, "dead.json"));
    write("run.json");
    const { paths, coverage } = await walk();
    expect(paths).toEqual(["run.json"]);
    expect(coverage.skipped.filter(({ reason }) => reason === "symbolic link")).toHaveLength(3);
  });

  test.skipIf(process.platform === "win32")(
    "a pipe and a socket are not opened, so nothing waits for ever (not on Windows)",
    async () => {
      execFileSync("mkfifo", [join(folder, "pipe.json")]);
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(join(folder, "socket.json"), resolve));
      const { paths, coverage } = await walk();
      expect(paths).toEqual([]);
      expect(coverage.skipped).toEqual([
        { path: "pipe.json", reason: "pipe" },
        { path: "socket.json", reason: "socket" },
      ]);
      // Even a pipe that took a file's place after the listing does not hang the reader.
      const { look } = await lookAtDocument(
        nodeFileReading,
        Buffer.from(join(folder, "pipe.json")),
      );
      expect(look).toEqual({ kind: "not-a-file", found: "pipe" });
      await new Promise((resolve) => server.close(resolve));
    },
  );

  test.skipIf(process.platform !== "linux")(
    "names with a line end and names that are not UTF-8 are read (Linux only)",
    async () => {
      write("two\nlines.json");
      const raw = Buffer.from([0x72, 0xff, 0xc3, 0xa9, 0x2e, 0x6a, 0x73, 0x6f, 0x6e]);
      writeFileSync(joinBytes(Buffer.from(folder), raw), "{}");
      const { files } = await walk();
      expect(files.map(({ path, nameBase64 }) => ({ path, nameBase64 }))).toEqual([
        { path: "r\\xffé.json", nameBase64: raw.toString("base64") },
        { path: "two\nlines.json", nameBase64: undefined },
      ]);
      const [first] = files;
      const { look } = await lookAtDocument(nodeFileReading, first?.location ?? Buffer.alloc(0));
      expect(look).toMatchObject({ kind: "read", bytes: 2 });
    },
  );

  test("a folder that is gone is refused by its own name", async () => {
    folder = join(folder, "gone");
    expect((await walk()).refused).toMatchObject([{ path: ".", errno: "ENOENT" }]);
  });
});
