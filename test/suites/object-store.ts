/**
 * What every object store promises, as one suite that any implementation runs against itself:
 *
 *   objectStoreSuite({ name: "memory store", open: async () => createMemoryStore() });
 *
 * `open` gives a fresh, empty store each time. Where a store promises less, its traits say so and decide which tests
 * apply; a test that does not apply says why in its title.
 */
import { describe, expect, test } from "vitest";
import { limits } from "../../shared/base/limits.js";
import type {
  Etag,
  LogFile,
  ObjectStore,
  OpenLogOptions,
  WriteOutcome,
} from "../../shared/storage/object-store.js";
import { isJsonObject } from "../support/json-object.js";

export interface ObjectStoreUnderTest {
  readonly name: string;
  readonly open: () => Promise<ObjectStore>;
  /** Bytes of the big object; a slow simulated store takes a smaller one. */
  readonly bigObjectBytes?: number;
  /** Creators that race for one key. */
  readonly creators?: number;
  /**
   * "files" (default): a log is one object, whose tail a crash can cut. "segments": it is a prefix of objects that
   * appear whole, so nothing can be planted under its key, and no tail is ever cut.
   */
  readonly logs?: "files" | "segments";
}

export function objectStoreSuite(under: ObjectStoreUnderTest): void {
  describe(`${under.name}: objects`, () => objectTests(under));
  describe(`${under.name}: keys and listings`, () => keyTests(under));
  describe(`${under.name}: logs`, () => logTests(under));
  if (under.logs === "segments") {
    test.skip(
      `${under.name}: tails of logs (each append is an object of its own and appears whole)`,
    );
  } else {
    describe(`${under.name}: tails of logs`, () => tailTests(under));
  }
}

function objectTests({
  open,
  bigObjectBytes = 8 * 1024 * 1024,
  creators = 50,
}: ObjectStoreUnderTest) {
  test("what was created is read back byte for byte under its etag", async () => {
    const store = await open();
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    const etag = written(await store.replace("runs/a.json", all, "absent"));
    expect(await store.read("runs/a.json")).toEqual({ bytes: all, etag });
  });

  test("what is not there is absent, in a folder or not", async () => {
    const store = await open();
    await store.replace("runs/a.json", utf8("1"), "absent");
    expect(await store.read("runs/b.json")).toBe("absent");
    expect(await store.read("nowhere/at/all.json")).toBe("absent");
  });

  test("an empty object is an object", async () => {
    const store = await open();
    const etag = written(await store.replace("empty", new Uint8Array(), "absent"));
    expect(await store.read("empty")).toEqual({ bytes: new Uint8Array(), etag });
  });

  test("a replacement under the current etag takes effect and has another etag", async () => {
    const store = await open();
    const first = written(await store.replace("a.json", utf8("one"), "absent"));
    const second = written(await store.replace("a.json", utf8("two"), first));
    expect(second).not.toBe(first);
    expect(await store.read("a.json")).toEqual({ bytes: utf8("two"), etag: second });
  });

  test("a replacement under an older etag changes nothing and names the current one", async () => {
    const store = await open();
    const first = written(await store.replace("a.json", utf8("one"), "absent"));
    const second = written(await store.replace("a.json", utf8("two"), first));
    const outcome = await store.replace("a.json", utf8("three"), first);
    expect(outcome).toEqual({ kind: "conflict", currentEtag: second });
    expect(await textOf(store, "a.json")).toBe("two");
  });

  test("a replacement of what is not there conflicts with absence and creates nothing", async () => {
    const store = await open();
    const etag = written(await store.replace("a.json", utf8("one"), "absent"));
    const outcome = await store.replace("b.json", utf8("two"), etag);
    expect(outcome).toEqual({ kind: "conflict", currentEtag: "absent" });
    expect(await store.read("b.json")).toBe("absent");
  });

  test("creating what is there changes nothing and names the current etag", async () => {
    const store = await open();
    const etag = written(await store.replace("a.json", utf8("one"), "absent"));
    const outcome = await store.replace("a.json", utf8("two"), "absent");
    expect(outcome).toEqual({ kind: "conflict", currentEtag: etag });
    expect(await textOf(store, "a.json")).toBe("one");
  });

  test(`of ${creators} creators of one key exactly one wins, and its bytes are there`, async () => {
    const store = await open();
    const outcomes = await Promise.all(
      Array.from({ length: creators }, (_, i) => store.replace("claim", utf8(`${i}`), "absent")),
    );
    const winners = outcomes.flatMap((outcome, i) => (outcome.kind === "written" ? [i] : []));
    expect(winners).toHaveLength(1);
    expect(await textOf(store, "claim")).toBe(`${winners[0]}`);
    const losers = outcomes.filter((outcome) => outcome.kind === "conflict");
    expect(losers).toHaveLength(creators - 1);
  });

  test(`of ${creators} replacements under one etag exactly one wins`, async () => {
    const store = await open();
    const etag = written(await store.replace("head", utf8("old"), "absent"));
    const outcomes = await Promise.all(
      Array.from({ length: creators }, (_, i) => store.replace("head", utf8(`${i}`), etag)),
    );
    const winners = outcomes.flatMap((outcome, i) => (outcome.kind === "written" ? [i] : []));
    expect(winners).toHaveLength(1);
    expect(await textOf(store, "head")).toBe(`${winners[0]}`);
  });

  test("an object of many megabytes comes back whole", async () => {
    const store = await open();
    const big = new Uint8Array(bigObjectBytes).map((_, i) => (i * 31) ^ (i >> 8));
    const etag = written(await store.replace("big", big, "absent"));
    const smaller = big.subarray(0, big.length >> 1);
    expect(same((await found(store, "big")).bytes, big)).toBe(true);
    await store.replace("big", smaller, etag);
    expect(same((await found(store, "big")).bytes, smaller)).toBe(true);
  });

  test("bytes handed in may be reused at once, and bytes handed out may be changed", async () => {
    const store = await open();
    const mine = utf8("one");
    await store.replace("a", mine, "absent");
    mine.fill(0);
    const read = await found(store, "a");
    read.bytes.fill(0);
    expect(await textOf(store, "a")).toBe("one");
  });

  test("what is removed under its etag is gone from reads and listings", async () => {
    const store = await open();
    const etag = written(await store.replace("runs/a", utf8("one"), "absent"));
    expect(await store.remove("runs/a", etag)).toEqual({ kind: "removed" });
    expect(await store.read("runs/a")).toBe("absent");
    if (store.traits.listFollowsWrites) expect((await store.list("", 10)).keys).toEqual([]);
    expect(written(await store.replace("runs/a", utf8("two"), "absent"))).toBeDefined();
  });

  test("removing what is not there conflicts with absence", async () => {
    const store = await open();
    const etag = written(await store.replace("a", utf8("one"), "absent"));
    expect(await store.remove("b", etag)).toEqual({ kind: "conflict", currentEtag: "absent" });
    expect(await store.remove("b/c", etag)).toEqual({ kind: "conflict", currentEtag: "absent" });
  });

  test("removing under an older etag removes nothing, unless the store says it cannot look", async () => {
    const store = await open();
    if (!store.traits.removeIsConditional) return;
    const first = written(await store.replace("a", utf8("one"), "absent"));
    const second = written(await store.replace("a", utf8("two"), first));
    expect(await store.remove("a", first)).toEqual({ kind: "conflict", currentEtag: second });
    expect(await textOf(store, "a")).toBe("two");
  });
}

function keyTests({ open }: ObjectStoreUnderTest) {
  const refused = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "./a",
    "a/.",
    "a\0b",
    "a\\b",
    "\ud800",
    "x".repeat(limits.keySegmentBytesMax + 1),
    `${"x/".repeat(limits.keyBytesMax / 2)}x`,
    "é".repeat(limits.keySegmentBytesMax - 100),
  ];
  test.each(refused.map((key) => [JSON.stringify(key).slice(0, 40), key]))(
    "the key %s is refused by every verb",
    async (_shown, key) => {
      const store = await open();
      const etag = "x" as Etag;
      const refusal = { name: "LastgoodError", code: "name-rejected" };
      await expect(store.read(key)).rejects.toMatchObject(refusal);
      await expect(store.replace(key, utf8("1"), "absent")).rejects.toMatchObject(refusal);
      await expect(store.remove(key, etag)).rejects.toMatchObject(refusal);
      await expect(store.openLog(key, logOptions())).rejects.toMatchObject(refusal);
      await expect(textOfLog(store, key)).rejects.toMatchObject(refusal);
    },
  );

  test("dots, spaces, other scripts and prototype names are ordinary keys", async () => {
    const store = await open();
    const keys = ["...", ".a", "a b", "run.json.bak", "__proto__/constructor", "läufe/実行", "🙂"];
    for (const key of keys) written(await store.replace(key, utf8(key), "absent"));
    for (const key of keys) expect(await textOf(store, key)).toBe(key);
    if (!store.traits.listFollowsWrites) return;
    expect([...(await store.list("", 100)).keys].sort()).toEqual([...keys].sort());
  });

  test("nothing can be stored under the name of a staged file, since no listing would show it", async () => {
    const store = await open();
    const names = [
      "runs/.a.json.0123456789abcdef.tmp",
      ".log.jsonl.take-over-5-0123456789abcdef.tmp",
    ];
    for (const key of names) {
      await expect(store.replace(key, utf8("1"), "absent")).rejects.toMatchObject({
        code: "name-rejected",
      });
      expect(await store.read(key)).toBe("absent");
    }
  });

  test("a listing is in code-unit order, folders and files together", async () => {
    const store = await open();
    if (!store.traits.listFollowsWrites) return;
    const keys = ["a", "a-b", "a.b/c", "a0", "b/a", "b/c/d", "b/c-d", "B"];
    for (const key of [...keys].reverse()) await store.replace(key, utf8("1"), "absent");
    expect(await store.list("", 100)).toEqual({ keys: [...keys].sort(), complete: true });
  });

  test("a prefix may end anywhere, also within a name", async () => {
    const store = await open();
    if (!store.traits.listFollowsWrites) return;
    const keys = [
      "runs/run_1.json",
      "runs/run_1/v1.json",
      "runs/run_12.json",
      "runs/run_2.json",
      "x",
    ];
    for (const key of keys) await store.replace(key, utf8("1"), "absent");
    const listed = async (prefix: string) => (await store.list(prefix, 100)).keys;
    expect(await listed("runs/run_1")).toEqual([
      "runs/run_1.json",
      "runs/run_1/v1.json",
      "runs/run_12.json",
    ]);
    expect(await listed("runs/run_1/")).toEqual(["runs/run_1/v1.json"]);
    expect(await listed("runs/")).toHaveLength(4);
    expect(await listed("nothing/here")).toEqual([]);
    expect(await listed("x/")).toEqual([]);
  });

  test("a listing that was cut short says so, and holds the first keys", async () => {
    const store = await open();
    if (!store.traits.listFollowsWrites) return;
    for (const key of ["d", "b/x", "a", "c"]) await store.replace(key, utf8("1"), "absent");
    expect(await store.list("", 2)).toEqual({ keys: ["a", "b/x"], complete: false });
    expect(await store.list("", 4)).toEqual({ keys: ["a", "b/x", "c", "d"], complete: true });
  });
}

function logTests({ open }: ObjectStoreUnderTest) {
  const key = "runs/checkpoint.jsonl";

  test("a log that is not there is opened empty, and reading it yields nothing", async () => {
    const store = await open();
    expect(await textOfLog(store, key)).toBe("");
    const log = await store.openLog(key, logOptions());
    expect(log.sizeBytes).toBe(0);
    expect(log.tailRepair).toEqual({ kind: "none" });
    await log.close();
  });

  test("appended records are read back in order, from any position", async () => {
    const store = await open();
    const log = await store.openLog(key, logOptions());
    expect(await log.append(utf8('{"id":1}\n'))).toEqual({ kind: "appended", endByte: 9 });
    const two = await log.append(utf8('{"id":2}\n{"id":3}\n'));
    expect(two).toEqual({ kind: "appended", endByte: 27 });
    expect(log.sizeBytes).toBe(27);
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
    expect(await textOfLog(store, key, 9)).toBe('{"id":2}\n{"id":3}\n');
    expect(await textOfLog(store, key, 27)).toBe("");
    expect(await textOfLog(store, key, 1_000)).toBe("");
    await log.close();
  });

  test("a log goes on where it was closed", async () => {
    const store = await open();
    await appendOnce(store, key, '{"id":1}\n');
    await appendOnce(store, key, '{"id":2}\n');
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n');
  });

  test("a closed log takes nothing more", async () => {
    const store = await open();
    const log = await store.openLog(key, logOptions());
    await log.close();
    await log.close();
    await expect(log.append(utf8('{"id":1}\n'))).rejects.toMatchObject({ code: "writer-stopped" });
    expect(await textOfLog(store, key)).toBe("");
  });

  test("a record without its line end is our own mistake, and nothing is written", async () => {
    const store = await open();
    const log = await store.openLog(key, logOptions());
    await expect(log.append(utf8('{"id":1}'))).rejects.toMatchObject({ name: "InvariantBroken" });
    await expect(log.append(new Uint8Array())).rejects.toMatchObject({ name: "InvariantBroken" });
    expect(await textOfLog(store, key)).toBe("");
    await log.close();
  });

  test("a writer finds out that somebody else appended, and stops", async () => {
    const store = await open();
    const first = await store.openLog(key, logOptions());
    const second = await store.openLog(key, logOptions());
    expect(await second.append(utf8('{"id":2}\n'))).toMatchObject({ kind: "appended" });
    expect(await first.append(utf8('{"id":1}\n'))).toEqual({ kind: "displaced" });
    await expect(first.append(utf8('{"id":1}\n'))).rejects.toMatchObject({
      code: "writer-stopped",
    });
    expect(await second.append(utf8('{"id":3}\n'))).toMatchObject({ kind: "appended" });
    expect(await textOfLog(store, key)).toBe('{"id":2}\n{"id":3}\n');
    await Promise.all([first.close(), second.close()]);
  });

  test("after a take-over the old writer confirms nothing, and the log has all it had confirmed", async () => {
    const store = await open();
    const old = await store.openLog(key, logOptions());
    await old.append(utf8('{"id":1}\n'));
    const taken = await store.openLog(
      key,
      logOptions({ takeOver: { kind: "fresh-inode", token: 5 } }),
    );
    expect(taken.tailRepair).toEqual({ kind: "none" });
    expect(await taken.append(utf8('{"id":2}\n'))).toMatchObject({ kind: "appended" });
    expect(await old.append(utf8('{"id":3}\n'))).toEqual({ kind: "displaced" });
    expect(await taken.append(utf8('{"id":4}\n'))).toMatchObject({ kind: "appended" });
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n{"id":4}\n');
    await Promise.all([old.close(), taken.close()]);
  });

  test("opening once more under the token that took the log over goes on in place", async () => {
    const store = await open();
    await appendOnce(store, key, '{"id":1}\n');
    const takeOver = { kind: "fresh-inode", token: 5 } as const;
    for (const id of [2, 3]) {
      const log = await store.openLog(key, logOptions({ takeOver }));
      expect(await log.append(utf8(`{"id":${id}}\n`))).toMatchObject({ kind: "appended" });
      await log.close();
    }
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
  });
}

function tailTests({ open }: ObjectStoreUnderTest) {
  const key = "runs/checkpoint.jsonl";

  const tails = [
    ["a record cut in a string", '{"id":1}\n', '{"id":"2'],
    ["a record cut before its last brace", '{"id":1}\n', '{"id":2'],
    ["one byte", '{"id":1}\n', "{"],
    ["NULs, as a size recorded before its bytes", '{"id":1}\n', "\0\0\0\0"],
    ["a cut record with NULs behind it", '{"id":1}\n', '{"id":2\0\0'],
    ["half a letter", '{"id":1}\n', '{"id":"\xc3'],
    ["a first line that is cut", "", '{"id":1'],
  ] as const;
  test.each(tails)("%s at the end is set aside, then cut", async (_what, whole, cut) => {
    const store = await open();
    const bytes = latin1(whole + cut);
    await plant(store, key, bytes);
    const aside: { bytes: Uint8Array; fromByte: number }[] = [];
    const log = await store.openLog(
      key,
      logOptions({
        setAside: async (one) => {
          // The evidence is taken while the bytes are still in the log, never after.
          expect(same((await found(store, key)).bytes, bytes)).toBe(true);
          aside.push({ bytes: one.bytes.slice(), fromByte: one.fromByte });
        },
      }),
    );
    expect(aside).toEqual([{ bytes: latin1(cut), fromByte: whole.length }]);
    expect(log.tailRepair).toEqual({ kind: "cut", fromByte: whole.length, bytes: cut.length });
    expect(await log.append(utf8('{"id":9}\n'))).toMatchObject({ kind: "appended" });
    expect(await textOfLog(store, key)).toBe(`${whole}{"id":9}\n`);
    await log.close();
  });

  test("a whole record that lacks only its line end keeps every byte and gets one", async () => {
    const store = await open();
    await plant(store, key, utf8('{"id":1}\n{"id":2}'));
    const log = await store.openLog(key, logOptions({ setAside: () => unexpected("set aside") }));
    expect(log.tailRepair).toEqual({ kind: "line-ended", atByte: 17 });
    expect(await log.append(utf8('{"id":3}\n'))).toEqual({ kind: "appended", endByte: 27 });
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
    await log.close();
  });

  test("of a whole record with NULs in place of its line end only the NULs are cut", async () => {
    const store = await open();
    await plant(store, key, utf8('{"id":1}\n{"id":2}\0\0'));
    const aside: unknown[] = [];
    const log = await store.openLog(
      key,
      logOptions({
        setAside: async ({ bytes, fromByte }) => void aside.push([...bytes, fromByte]),
      }),
    );
    expect(aside).toEqual([[0, 0, 17]]);
    expect(log.tailRepair).toEqual({ kind: "cut", fromByte: 17, bytes: 2 });
    expect(await log.append(utf8('{"id":3}\n'))).toEqual({ kind: "appended", endByte: 27 });
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
    await log.close();
  });

  test("a log that ends with a line end is left alone, whatever its last line is", async () => {
    const store = await open();
    await plant(store, key, utf8("not a record\n"));
    const log = await store.openLog(key, logOptions({ setAside: () => unexpected("set aside") }));
    expect(log.tailRepair).toEqual({ kind: "none" });
    expect(await textOfLog(store, key)).toBe("not a record\n");
    await log.close();
  });

  test("when the cut bytes cannot be set aside, nothing is cut and the log stays closed", async () => {
    const store = await open();
    await plant(store, key, utf8('{"id":1}\n{"id'));
    const full = new Error("no room for evidence");
    const options = logOptions({ setAside: () => Promise.reject(full) });
    await expect(store.openLog(key, options)).rejects.toBe(full);
    expect(await textOfLog(store, key)).toBe('{"id":1}\n{"id');
  });

  test("a take-over repairs the tail like any other opening", async () => {
    const store = await open();
    await plant(store, key, utf8('{"id":1}\n{"id'));
    const aside: string[] = [];
    const log = await store.openLog(
      key,
      logOptions({
        takeOver: { kind: "fresh-inode", token: 5 },
        setAside: async ({ bytes }) => void aside.push(new TextDecoder().decode(bytes)),
      }),
    );
    expect(aside).toEqual(['{"id']);
    expect(log.tailRepair).toEqual({ kind: "cut", fromByte: 9, bytes: 4 });
    expect(await textOfLog(store, key)).toBe('{"id":1}\n');
    await log.close();
  });
}

export function logOptions(options: Partial<OpenLogOptions> = {}): OpenLogOptions {
  return {
    isWholeRecord: isJsonObject,
    setAside: async () => undefined,
    takeOver: "in-place",
    ...options,
  };
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

export function written(outcome: WriteOutcome): Etag {
  if (outcome.kind !== "written") throw new Error(`not written but ${JSON.stringify(outcome)}`);
  return outcome.etag;
}

/** Puts bytes under the key of a log, as whoever wrote it last left them. */
async function plant(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  written(await store.replace(key, bytes, "absent"));
}

async function appendOnce(store: ObjectStore, key: string, text: string): Promise<void> {
  const log: LogFile = await store.openLog(key, logOptions());
  expect(await log.append(utf8(text))).toMatchObject({ kind: "appended" });
  await log.close();
}

async function found(store: ObjectStore, key: string) {
  const stored = await store.read(key);
  if (stored === "absent") throw new Error(`${key} is absent`);
  return stored;
}

export async function textOf(store: ObjectStore, key: string): Promise<string> {
  return new TextDecoder().decode((await found(store, key)).bytes);
}

export async function textOfLog(store: ObjectStore, key: string, fromByte = 0): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of store.readLog(key, fromByte)) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function unexpected(what: string): never {
  throw new Error(`unexpected: ${what}`);
}
