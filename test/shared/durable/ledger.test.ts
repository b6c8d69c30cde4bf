import { describe, expect, test } from "vitest";
import { absorbUpdate, holdsUpdate, idsMissingFrom } from "../../../shared/durable/ledger.js";

describe("absorbing", () => {
  test("puts the newest id last", () => {
    expect(absorbUpdate(["a"], "b")).toEqual(["a", "b"]);
  });

  test("drops the oldest ids of a full window", () => {
    expect(absorbUpdate(["a", "b", "c"], "d", 3)).toEqual(["b", "c", "d"]);
  });

  test("cuts a window that another writer kept longer", () => {
    expect(absorbUpdate(["a", "b", "c", "d"], "e", 2)).toEqual(["d", "e"]);
  });

  test("leaves entries that are no text where they are", () => {
    expect(absorbUpdate([7, null], "a")).toEqual([7, null, "a"]);
  });

  test("an id is known as long as the window holds it, and not longer", () => {
    const window = absorbUpdate(absorbUpdate(["a"], "b", 2), "c", 2);
    expect(holdsUpdate(window, "a")).toBe(false);
    expect(holdsUpdate(window, "b")).toBe(true);
  });
});

describe("ids that a newer window lacks", () => {
  test.each([
    ["nothing, when it was built on the older one", ["a", "b", "c"], ["a", "b"], 3, []],
    ["nothing, when the older one is empty", ["x"], [], 3, []],
    ["an id in the middle", ["a", "c"], ["a", "b", "c"], 64, ["b"]],
    ["everything, when it starts from nothing", [], ["a", "b"], 64, ["a", "b"]],
    ["the newest one, when it was built on the version before", ["a", "F"], ["a", "b"], 64, ["b"]],
    ["nothing, when its full length pushed the oldest out", ["b", "c"], ["a", "b"], 2, []],
    ["the newest one, even when it is full", ["a", "F"], ["a", "b"], 2, ["b"]],
    ["the oldest one, when it is not full", ["b", "c"], ["a", "b"], 3, ["a"]],
    ["nothing that is no text", ["a"], [7, "a"], 64, []],
  ])("%s", (_name, newer, older, windowCount, missing) => {
    expect(idsMissingFrom(newer, older, windowCount)).toEqual(missing);
  });
});
