/** The simulated disk keeps its own model: a test double that is too kind would make every crash test worthless. */
import { describe, expect, test } from "vitest";
import { everyFate } from "./crash-matrix.js";
import { DiskState } from "./disk-state.js";
import {
  anyDevice,
  type DevicePromises,
  type Fault,
  FaultFs,
  journalDevice,
  PowerLost,
} from "./fault-fs.js";

const before = DiskState.with({ "/d/old": "old" });

describe("what a crash can leave", () => {
  test("a file whose entry was not synced may be gone although its bytes were synced", async () => {
    const fs = disk();
    const file = await fs.open("/d/new", { kind: "create-exclusive" });
    await file.append(utf8("new"));
    await file.sync();
    expect(contents(fs, "/d/new")).toEqual(["absent", "new"]);
    await fs.syncDirectory("/d");
    expect(contents(fs, "/d/new")).toEqual(["new"]);
  });

  test("a file whose entry was synced may be empty, cut, full of NULs or holed until its bytes are synced", async () => {
    const fs = disk();
    const file = await fs.open("/d/new", { kind: "create-exclusive" });
    await fs.syncDirectory("/d");
    await file.append(utf8("abcd"));
    const possible = contents(fs, "/d/new");
    for (const one of ["", "a", "abc", "abcd", "\0\0\0\0", "abc\0", "\0bcd"]) {
      expect(possible, JSON.stringify(one)).toContain(one);
    }
    await file.sync();
    expect(contents(fs, "/d/new")).toEqual(["abcd"]);
  });

  test("a rename is undone or done, never half, until its folder is synced", async () => {
    const fs = disk();
    await fs.rename("/d/old", "/d/moved");
    const states = [...everyFate(fs.leftToChance)].map(({ state }) => state.names("/d"));
    expect(states).toEqual([["moved"], ["old"]]);
    await fs.syncDirectory("/d");
    expect([...everyFate(fs.leftToChance)].map(({ state }) => state.names("/d"))).toEqual([
      ["moved"],
    ]);
  });

  test("a rename can survive without the bytes it was made for", async () => {
    const fs = disk();
    const staged = await fs.open("/d/.staged", { kind: "create-exclusive" });
    await staged.append(utf8("new"));
    await fs.rename("/d/.staged", "/d/old");
    expect(contents(fs, "/d/old")).toContain("");
  });

  test("two entries survive independently, unless the device keeps them in order", async () => {
    const both = async (promises: DevicePromises) => {
      const fs = disk([], promises);
      await fs.link("/d/old", "/d/first");
      await fs.link("/d/old", "/d/second");
      return [...everyFate(fs.leftToChance)].map(({ state }) => state.names("/d").join()).sort();
    };
    expect(await both(anyDevice)).toEqual(["first,old", "first,old,second", "old", "old,second"]);
    expect(await both(journalDevice)).toEqual(["first,old", "first,old,second", "old"]);
  });

  test("on whole sectors a write within one is never torn", async () => {
    const fs = disk([], journalDevice);
    const file = await fs.open("/d/old", { kind: "append" });
    await file.append(utf8(" and more"));
    expect(contents(fs, "/d/old")).toEqual(["old", `old${"\0".repeat(9)}`, "old and more"]);
  });

  test("a killed process loses nothing that it did", async () => {
    const fs = disk();
    const file = await fs.open("/d/new", { kind: "create-exclusive" });
    await file.append(utf8("new"));
    expect(fs.afterKill().text("/d/new")).toBe("new");
  });

  test("a truncation may be undone until it is synced", async () => {
    const fs = disk();
    const file = await fs.open("/d/old", { kind: "cut" });
    await file.truncate(1);
    expect(contents(fs, "/d/old")).toEqual(["o", "old"]);
  });
});

describe("faults", () => {
  test("what a failed sync forsook stays visible, and no later sync saves it", async () => {
    const fs = disk([{ kind: "refuse", call: 2, errno: "EIO", effect: "none" }]);
    const file = await fs.open("/d/old", { kind: "append" });
    await file.append(utf8("+"));
    await expect(file.sync()).rejects.toMatchObject({ code: "EIO" });
    await file.sync();
    expect(fs.afterKill().text("/d/old")).toBe("old+");
    expect(contents(fs, "/d/old")).toContain("old");
  });

  test("after the power loss every call fails and has no effect", async () => {
    const fs = disk([{ kind: "power-loss", afterChanges: 1 }]);
    await fs.link("/d/old", "/d/first");
    expect(fs.hasPower).toBe(true);
    await expect(fs.link("/d/old", "/d/second")).rejects.toBeInstanceOf(PowerLost);
    await expect(fs.unlink("/d/first")).rejects.toBeInstanceOf(PowerLost);
    await expect(fs.lstat("/d/old")).rejects.toBeInstanceOf(PowerLost);
    expect(fs.afterKill().names("/d")).toEqual(["first", "old"]);
  });

  test("a refused call has no effect, or has it and only the answer is lost", async () => {
    for (const [effect, names] of [
      ["none", ["old"]],
      ["taken", ["new", "old"]],
    ] as const) {
      const fs = disk([{ kind: "refuse", call: 0, errno: "EIO", effect }]);
      await expect(fs.link("/d/old", "/d/new")).rejects.toMatchObject({ code: "EIO" });
      expect(fs.afterKill().names("/d")).toEqual(names);
    }
  });
});

describe("the same answers as a real system", () => {
  test.each([
    ["opening what is not there", (fs: FaultFs) => fs.open("/d/x", { kind: "read" }), "ENOENT"],
    [
      "creating what is there",
      (fs: FaultFs) => fs.open("/d/old", { kind: "create-exclusive" }),
      "EEXIST",
    ],
    ["linking onto what is there", (fs: FaultFs) => fs.link("/d/old", "/d/old"), "EEXIST"],
    ["renaming what is not there", (fs: FaultFs) => fs.rename("/d/x", "/d/y"), "ENOENT"],
    ["removing what is not there", (fs: FaultFs) => fs.unlink("/d/x"), "ENOENT"],
    ["a path through a file", (fs: FaultFs) => fs.open("/d/old/x", { kind: "read" }), "ENOTDIR"],
    ["appending to a folder", (fs: FaultFs) => fs.open("/d", { kind: "append" }), "EISDIR"],
  ])("%s fails with its errno", async (_what, call, code) => {
    await expect(call(disk())).rejects.toMatchObject({ code });
  });

  test("a file that lost its name is still written and read by whoever has it open", async () => {
    const fs = disk();
    const file = await fs.open("/d/old", { kind: "append" });
    await fs.unlink("/d/old");
    await file.append(utf8("!"));
    const into = new Uint8Array(4);
    expect(await file.read(into, 0)).toBe(4);
    expect(new TextDecoder().decode(into)).toBe("old!");
  });
});

function disk(faults: readonly Fault[] = [], promises?: DevicePromises): FaultFs {
  return new FaultFs(before, faults, promises);
}

/** What a file may hold after a crash now, each once, in order. */
function contents(fs: FaultFs, path: string): string[] {
  return [...new Set([...everyFate(fs.leftToChance)].map(({ state }) => state.text(path)))].sort();
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
