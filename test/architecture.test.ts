/** Holds the sources against ARCHITECTURE.md: what the compiler cannot see, a walk over the files can. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findingKinds } from "../shared/inspect/finding.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const notOurs = new Set(["node_modules", "dist", ".git"]);
const givenBytes = ["assets/samples/", "test/cases/"];
const linesMax = 400;

/** Folder of shared → folders of shared it may import besides itself. */
const sharedMayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  format: ["base"],
  dialects: ["base", "format"],
  storage: ["base"],
  durable: ["base", "format", "storage"],
  adapters: ["base", "storage"],
  inspect: ["base", "format", "dialects"],
  remedy: ["base", "format", "inspect"],
  contract: ["base", "inspect", "remedy"],
};
const rendererMayImport = ["base", "contract", "inspect", "remedy"];

/** Package → the files that may import it. A package that is not here may be imported nowhere. */
const packageMayBeImportedBy: Readonly<Record<string, RegExp>> = {
  diff: /^shared\/inspect\/text-diff\.ts$/,
  zod: /^shared\/contract\//,
  electron: /^electron\//,
  vitest: /^test\//,
  "fast-check": /^test\//,
};

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
}

interface Source {
  readonly path: string;
  readonly text: string;
  /** Without comments, so that a comment may name what the code must not use. */
  readonly code: string;
  readonly imports: readonly Import[];
}

function everyFile(folder = ""): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (notOurs.has(entry.name) || entry.name.endsWith(".tgz")) return [];
    return entry.isDirectory() ? everyFile(path) : [path];
  });
}

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const code = withoutComments(text);
  return { path, text, code, imports: importsOf(code) };
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/[^\n]*/g, "$1");
}

function importsOf(code: string): readonly Import[] {
  const statements = code.matchAll(/^(?:import|export)\b([^;"]*?)\bfrom\s+"([^"]+)"/gm);
  const bare = code.matchAll(/^import\s+"([^"]+)"/gm);
  const called = code.matchAll(/\bimport\(\s*"([^"]+)"/g);
  return [
    ...[...statements].map(([, names = "", target = ""]) => ({
      target,
      typeOnly: /^\s*type\b/.test(names),
    })),
    ...[...bare, ...called].map(([, target = ""]) => ({ target, typeOnly: false })),
  ];
}

const files = everyFile();
const sources = files
  .filter((path) => /\.(ts|tsx|mjs)$/.test(path) && !isGiven(path))
  .map(readSource);
const product = sources.filter(({ path }) => /^(shared|electron|renderer)\//.test(path));
const pure = product.filter(
  ({ path }) =>
    path.startsWith("shared/") &&
    !path.startsWith("shared/adapters/") &&
    path !== "shared/index.ts",
);

function isGiven(path: string): boolean {
  return givenBytes.some((folder) => path.startsWith(folder));
}

/** Path of an imported file of ours, or undefined when a package or a part of Node is imported. */
function ownTarget(from: string, target: string): string | undefined {
  return target.startsWith(".") ? posix.join(posix.dirname(from), target) : undefined;
}

/** `shared/format`, `electron`, `test` …: the unit that the table speaks of. */
function unitOf(path: string): string {
  const [top = "", second = ""] = path.split("/");
  return top === "shared" && path.split("/").length > 2 ? `shared/${second}` : top;
}

function mayImport(from: string, to: string): boolean {
  const fromUnit = unitOf(from);
  const toUnit = unitOf(to);
  if (fromUnit === "test" || fromUnit === toUnit) return true;
  const sharedFolder = toUnit.startsWith("shared/") ? toUnit.slice("shared/".length) : undefined;
  if (from === "shared/index.ts") return sharedFolder !== undefined;
  if (fromUnit === "electron") return toUnit.startsWith("shared");
  if (sharedFolder === undefined) return false;
  if (fromUnit === "renderer") return rendererMayImport.includes(sharedFolder);
  return sharedMayImport[fromUnit.slice("shared/".length)]?.includes(sharedFolder) ?? false;
}

function packageName(target: string): string {
  const [first = "", second = ""] = target.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** Lines such as `shared/base/x.ts: Date.now`, one for each breach; empty when all is well. */
function breaches(
  checked: readonly Source[],
  breachesOf: (source: Source) => readonly string[],
): readonly string[] {
  return checked.flatMap((source) =>
    breachesOf(source).map((breach) => `${source.path}: ${breach}`),
  );
}

describe("the walk itself", () => {
  test("finds the sources, so that an empty walk cannot pass", () => {
    expect(pure.length).toBeGreaterThan(20);
    expect(sources.map(({ path }) => path)).toContain("test/architecture.test.ts");
  });

  test("sees every form of import, and none inside a comment", () => {
    const code = withoutComments(
      [
        'import { a,\n  b } from "../one.js";',
        'import type { c } from "two";',
        'export { d } from "./three.js";',
        'import "four";',
        `const five = await import(${JSON.stringify("five")});`,
        '// import { e } from "six";',
        '/** import { f } from "seven"; */',
      ].join("\n"),
    );
    const targets = importsOf(code).map(({ target, typeOnly }) => `${target} ${typeOnly}`);
    expect(targets.sort()).toEqual(
      ["../one.js false", "./three.js false", "five false", "four false", "two true"].sort(),
    );
  });

  test("knows a wrong direction when it sees one", () => {
    expect(mayImport("shared/inspect/a.ts", "shared/storage/b.js")).toBe(false);
    expect(mayImport("shared/inspect/rules/a.ts", "shared/format/b.js")).toBe(true);
    expect(mayImport("shared/base/a.ts", "test/support/b.js")).toBe(false);
    expect(mayImport("electron/a.ts", "renderer/b.js")).toBe(false);
    expect(mayImport("renderer/a.ts", "shared/adapters/b.js")).toBe(false);
    expect(mayImport("shared/index.ts", "shared/durable/b.js")).toBe(true);
  });
});

describe("who may import whom", () => {
  test("each file imports only from the folders its own folder may import", () => {
    const wrong = breaches(sources, ({ path, imports }) =>
      imports
        .map(({ target }) => ownTarget(path, target))
        .filter((target) => target !== undefined)
        .filter((target) => !mayImport(path, target)),
    );
    expect(wrong).toEqual([]);
  });

  test("every folder of shared stands in the table", () => {
    const folders = new Set(product.map(({ path }) => unitOf(path)));
    const unknown = [...folders]
      .filter((unit) => unit.startsWith("shared/"))
      .filter((unit) => !(unit.slice("shared/".length) in sharedMayImport));
    expect(unknown).toEqual([]);
  });

  test("the contract takes only types from inspect and remedy", () => {
    const contract = sources.filter(({ path }) => path.startsWith("shared/contract/"));
    const wrong = breaches(contract, ({ path, imports }) =>
      imports
        .filter(({ target }) => /^shared\/(inspect|remedy)\//.test(ownTarget(path, target) ?? ""))
        .filter(({ typeOnly }) => !typeOnly)
        .map(({ target }) => target),
    );
    expect(wrong).toEqual([]);
  });

  test("a package is imported only by the files that are named for it", () => {
    const wrong = breaches(sources, ({ path, imports }) =>
      imports
        .map(({ target }) => target)
        .filter((target) => !target.startsWith(".") && !target.startsWith("node:"))
        .filter((target) => packageMayBeImportedBy[packageName(target)]?.test(path) !== true),
    );
    expect(wrong).toEqual([]);
  });

  test("imports of our own files end in .js, as Node resolves them", () => {
    const wrong = breaches(sources, ({ imports }) =>
      imports
        .map(({ target }) => target)
        .filter((target) => target.startsWith(".") && !/\.(js|json|mjs)$/.test(target)),
    );
    expect(wrong).toEqual([]);
  });
});

describe("the pure part", () => {
  // Not process.pid: a row of a recorded process table has one too. The compiler refuses Node's own.
  const reaching =
    /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|(?<!\.)\bprocess\.(?!pid|name|host|started)|"node:/g;

  test("asks no clock, no chance, no process and no part of Node", () => {
    expect(breaches(pure, ({ code }) => code.match(reaching) ?? [])).toEqual([]);
  });

  test("is compiled without Node and without the DOM", () => {
    const config = JSON.parse(readFileSync(join(root, "shared/tsconfig.json"), "utf8"));
    expect(config.compilerOptions.types).toEqual([]);
    expect(config.compilerOptions.lib).toEqual(["ES2023"]);
    expect(config.references).toEqual([]);
  });
});

describe("the files", () => {
  test("have no default export, where no tool asks for one", () => {
    const free = sources.filter(({ path }) => path !== "test/vitest.config.ts");
    expect(breaches(free, ({ code }) => code.match(/^export\s+default\b/gm) ?? [])).toEqual([]);
  });

  test(`have at most ${linesMax} lines outside the tests`, () => {
    const wrong = breaches(product, ({ text }) => {
      const lines = text.split("\n").length - 1;
      return lines > linesMax ? [`${lines} lines`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test("stand in folders that say what is in them", () => {
    const empty = new Set(["utils", "util", "helpers", "common", "types", "misc"]);
    const wrong = files.filter((path) => !isGiven(path) && empty.has(basename(dirname(path))));
    expect(wrong).toEqual([]);
  });

  test("name no place of the machine they were written on", () => {
    const checkout = root.slice(0, -1);
    // Tests may name the places of their simulated disks, such as `/work/runs`; the product has none.
    const homes = /(?<![\w.~])\/(?:home|Users|work)\/[\w.-]+/;
    const wrong = files
      .filter((path) => !isGiven(path) && !/\.(png|wasm|ico)$/.test(path))
      .filter((path) => {
        const text = readFileSync(join(root, path), "utf8");
        return text.includes(checkout) || (!path.startsWith("test/") && homes.test(text));
      });
    expect(wrong).toEqual([]);
  });

  test("pin each dependency exactly, and the lock names no registry", () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    );
    const versions = Object.values<string>({ ...dependencies, ...devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    expect(readFileSync(join(root, "package-lock.json"), "utf8")).not.toMatch(/"resolved":/);
  });
});

describe("what is published", () => {
  test("the schema of the report lists every finding kind, and no other", () => {
    const schema = JSON.parse(readFileSync(join(root, "assets/report.schema.json"), "utf8"));
    expect(schema.$defs.kind.anyOf[0].enum.toSorted()).toEqual(findingKinds.toSorted());
  });

  test("every sample incident tells its story in six lines, and has files", () => {
    const samples = new Set(
      files.filter((path) => path.startsWith("assets/samples/")).map((path) => path.split("/")[2]),
    );
    expect(samples.size).toBeGreaterThan(0);
    for (const sample of samples) {
      const folder = `assets/samples/${sample}`;
      const story = readFileSync(join(root, folder, "story.md"), "utf8");
      expect(story, folder).toMatch(/^# .+\n(?:.+\n){5}$/);
      expect(
        files.filter((path) => path.startsWith(`${folder}/files/`)),
        folder,
      ).not.toEqual([]);
    }
  });

  test("the half-written sample has the numbers its story names", () => {
    const bytes = readFileSync(join(root, "assets/samples/half-written-run/files/run_9d4a.json"));
    const before = bytes.subarray(0, 1893).toString("latin1");
    expect(bytes.length).toBe(2048);
    expect(String.fromCharCode(bytes[1893] ?? 0)).toBe('"');
    expect(before.split("\n").length).toBe(34);
    expect(1893 - before.lastIndexOf("\n")).toBe(16);
    expect(bytes.subarray(1894).includes(0x22)).toBe(false);
  });

  test("every link in the documents leads to a file", () => {
    const documents = files.filter((path) => /^[A-Z]+\.md$/.test(path));
    const dead = documents.flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      const inline = [...text.matchAll(/\]\(([^)#:\s]+)\)/g)];
      const named = [...text.matchAll(/^\[[\w-]+\]: (\S+)$/gm)];
      return [...inline, ...named]
        .map(([, target = ""]) => target)
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${path}: ${target}`);
    });
    expect(documents.length).toBeGreaterThan(3);
    expect(dead).toEqual([]);
  });
});
