import { describe, expect, test } from "vitest";
import {
  listKept,
  newestWholeVersion,
  readKeptVersion,
  sortKeptNames,
  versionsToPrune,
} from "../../../shared/durable/history.js";
import { runFieldNames } from "../../../shared/format/run-document.js";
import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import { keptAt, put, run } from "../../support/build-run.js";

describe("names beside a run", () => {
  test("are sorted into versions, by number, and claims", () => {
    const claim = `${run}/v11.pending.0123456789abcdef.json`;
    const keys = [keptAt(10), keptAt(2), claim, `${run}/values.json`, `${run}/v1/v3.json`];
    expect(sortKeptNames(keys, run)).toEqual({
      versions: [2, 10],
      claims: [{ key: claim, version: 11, base: "0123456789abcdef" }],
    });
  });

  test("of another run are not taken for this one's", async () => {
    const store = createMemoryStore();
    await put(store, keptAt(1), '{"version": 1}');
    await put(store, `${run}x/v2.json`, '{"version": 2}');
    expect((await listKept(store, run)).versions).toEqual([1]);
  });
});

describe("a kept version", () => {
  test.each([
    ["whole", '{"version": 5}'],
    ["damaged", '{"version": 5'],
    ["damaged", ""],
    ["damaged", '{"version": 4}'],
  ])("is %s when it holds %j", async (kind, text) => {
    const store = createMemoryStore();
    await put(store, keptAt(5), text);
    expect((await readKeptVersion(store, run, 5, runFieldNames)).kind).toBe(kind);
  });

  test("that is not there is absent", async () => {
    const kept = await readKeptVersion(createMemoryStore(), run, 5, runFieldNames);
    expect(kept.kind).toBe("absent");
  });

  test("is the newest whole one only if it can be put back", async () => {
    const store = createMemoryStore();
    await put(store, keptAt(9), '{"version": 9}');
    await put(store, keptAt(10), '{"version": 10}');
    await put(store, keptAt(11), '{"version": 1');
    expect(await newestWholeVersion(store, run, runFieldNames)).toBe(10);
    expect(await newestWholeVersion(createMemoryStore(), run, runFieldNames)).toBe("none");
  });
});

describe("pruning after an update that read version 9", () => {
  const versions = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  const rule = { versions, baseVersion: 9, keptCount: 4, newestWhole: 10, inUse: [] };

  test("takes what is older than the newest kept ones", () => {
    expect(versionsToPrune(rule)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("takes nothing while there are few", () => {
    expect(versionsToPrune({ ...rule, keptCount: 10 })).toEqual([]);
  });

  test("never takes the version before the base or anything after it", () => {
    expect(versionsToPrune({ ...rule, keptCount: 0 })).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("spares versions in use and the newest whole one", () => {
    expect(versionsToPrune({ ...rule, inUse: [2, 5], newestWhole: 3 })).toEqual([1, 4, 6]);
  });
});
