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
import type { Etag, ObjectStore } from "../../shared/storage/object-store.js";
import {
  logOptions,
  sameBytes,
  storedAt,
  textOf,
  textOfLog,
  utf8,
  written,
} from "../support/store-shorthand.js";
import { logTests, tailTests } from "./object-store-logs.js";

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
  describe(`${under.name}: logs`, () => logTests(under.open));
  if (under.logs === "segments") {
    test.skip(
      `${under.name}: tails of logs (each append is an object of its own and appears whole)`,
    );
  } else {
    describe(`${under.name}: tails of logs`, () => tailTests(under.open));
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
    expect(sameBytes((await storedAt(store, "big")).bytes, big)).toBe(true);
    await store.replace("big", smaller, etag);
    expect(sameBytes((await storedAt(store, "big")).bytes, smaller)).toBe(true);
  });

  test("bytes handed in may be reused at once, and bytes handed out may be changed", async () => {
    const store = await open();
    const mine = utf8("one");
    await store.replace("a", mine, "absent");
    mine.fill(0);
    const read = await storedAt(store, "a");
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
