/** What only a real file system can show: links, pipes, permissions, names of all sorts. */
import { execFileSync } from "node:child_process";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { blockingFsOps } from "../../../../shared/adapters/local/blocking-fs-ops.js";
import type { FsOps } from "../../../../shared/adapters/local/fs-ops.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { nodeFsOps } from "../../../../shared/adapters/local/node-fs-ops.js";
import { limits } from "../../../../shared/base/limits.js";
import type { Etag } from "../../../../shared/storage/object-store.js";
import { DiskState } from "../../../support/disk-state.js";
import { FaultFs, pausing } from "../../../support/fault-fs.js";
import { logOptions, textOf, textOfLog, utf8, written } from "../../../support/store-shorthand.js";

const isRoot = process.getuid?.() === 0;

let outside: string;
let root: string;
beforeEach(async () => {
  outside = await mkdtemp(join(tmpdir(), "lastgood-disk-"));
  root = join(outside, "workspace");
  await mkdir(root);
});
afterEach(() => rm(outside, { recursive: true, force: true }));

describe.each([
  ["on the thread pool", nodeFsOps],
  ["in the calling thread", blockingFsOps],
] as const)("local store, calls %s", (_how, fs: FsOps) => {
  const open = () => openLocalStore({ root, fs });

  test("a folder that is not there is said to be missing, and is not made", async () => {
    const missing = join(root, "nowhere");
    await expect(openLocalStore({ root: missing, fs })).rejects.toMatchObject({
      code: "not-found",
    });
    await writeFile(missing, "");
    await expect(openLocalStore({ root: missing, fs })).rejects.toMatchObject({
      code: "not-found",
    });
  });

  test("a folder that goes away later is an error, never an empty listing or an absent object", async () => {
    const store = await open();
    await rename(root, `${root}-unmounted`);
    await expect(store.list("", 10)).rejects.toMatchObject({ code: "not-found" });
    await expect(store.read("a")).rejects.toMatchObject({ code: "not-found" });
    await expect(store.read("a/b")).rejects.toMatchObject({ code: "not-found" });
    await expect(store.replace("a", utf8("1"), "absent")).rejects.toMatchObject({
      code: "not-found",
    });
    expect(await readdir(outside)).toEqual(["workspace-unmounted"]);
  });

  test.each([0o600, 0o640, 0o664, 0o444])(
    "a replaced file keeps its permissions: %o",
    async (mode) => {
      const store = await open();
      const etag = written(await store.replace("a", utf8("old"), "absent"));
      await chmod(join(root, "a"), mode);
      written(await store.replace("a", utf8("new"), etag));
      expect((await stat(join(root, "a"))).mode & 0o7777).toBe(mode);
    },
  );

  test("a new file has the permissions that the process gives new files", async () => {
    const store = await open();
    await writeFile(join(root, "plain"), "");
    written(await store.replace("a", utf8("1"), "absent"));
    const [ours, plain] = [await stat(join(root, "a")), await stat(join(root, "plain"))];
    expect(ours.mode).toBe(plain.mode);
  });

  test.skipIf(!isRoot)(
    `a file replaced by root stays with its owner${isRoot ? "" : " (skipped: only root can give files away)"}`,
    async () => {
      const store = await open();
      const etag = written(await store.replace("a", utf8("old"), "absent"));
      execFileSync("chown", ["12345:12346", join(root, "a")]);
      written(await store.replace("a", utf8("new"), etag));
      expect(await stat(join(root, "a"))).toMatchObject({ uid: 12345, gid: 12346 });
    },
  );

  test("a symbolic link is followed by no verb, neither as a folder nor as a file", async () => {
    const store = await open();
    const secret = join(outside, "secret");
    await mkdir(secret);
    await writeFile(join(secret, "a.jsonl"), "theirs\n");
    await symlink(secret, join(root, "folder"));
    await symlink(join(secret, "a.jsonl"), join(root, "file.jsonl"));
    const refusal = { code: "not-a-file" };
    for (const key of ["folder/a.jsonl", "file.jsonl"]) {
      await expect(store.read(key), key).rejects.toMatchObject(refusal);
      await expect(store.replace(key, utf8("1"), "absent"), key).rejects.toMatchObject(refusal);
      await expect(store.replace(key, utf8("1"), "x" as Etag), key).rejects.toMatchObject(refusal);
      await expect(store.remove(key, "x" as Etag), key).rejects.toMatchObject(refusal);
      await expect(store.openLog(key, logOptions()), key).rejects.toMatchObject(refusal);
      await expect(textOfLog(store, key), key).rejects.toMatchObject(refusal);
    }
    await expect(store.replace("folder/new", utf8("1"), "absent")).rejects.toMatchObject(refusal);
    await expect(store.list("folder/", 10)).rejects.toMatchObject(refusal);
    expect(await store.list("", 10)).toEqual({ keys: [], complete: true });
    expect(await readdir(secret)).toEqual(["a.jsonl"]);
    expect(await readFile(join(secret, "a.jsonl"), "utf8")).toBe("theirs\n");
  });

  test("a pipe and a folder under a key are refused at once, not waited for", async () => {
    const store = await open();
    execFileSync("mkfifo", [join(root, "pipe")]);
    await mkdir(join(root, "folder"));
    for (const key of ["pipe", "folder"]) {
      const refusal = { code: "not-a-file" };
      await expect(store.read(key), key).rejects.toMatchObject(refusal);
      await expect(store.openLog(key, logOptions()), key).rejects.toMatchObject(refusal);
      await expect(store.replace(key, utf8("1"), "absent"), key).rejects.toMatchObject(refusal);
    }
    expect((await store.list("", 10)).keys).toEqual([]);
  });

  test("a file in the place of a folder is no folder: reads find nothing, writes are refused", async () => {
    const store = await open();
    written(await store.replace("a", utf8("1"), "absent"));
    expect(await store.read("a/b")).toBe("absent");
    await expect(store.replace("a/b", utf8("1"), "absent")).rejects.toMatchObject({
      code: "not-a-file",
    });
    expect(await textOf(store, "a")).toBe("1");
  });

  test("staged files of a writer that was killed are not listed and hinder nobody", async () => {
    const store = await open();
    await writeFile(join(root, ".a.0123456789abcdef.tmp"), "half");
    await writeFile(join(root, ".notes.tmp"), "theirs");
    written(await store.replace("a", utf8("1"), "absent"));
    expect((await store.list("", 10)).keys).toEqual([".notes.tmp", "a"]);
  });

  test("replacing leaves a second hard link with the old bytes", async () => {
    const store = await open();
    const etag = written(await store.replace("head", utf8("old"), "absent"));
    await link(join(root, "head"), join(root, "kept"));
    written(await store.replace("head", utf8("new"), etag));
    expect(await textOf(store, "kept")).toBe("old");
  });

  test("of a file that cannot be read, the refusal says so and nothing is taken for empty", async () => {
    if (isRoot) return; // Root may read everything.
    const store = await open();
    written(await store.replace("a", utf8("1"), "absent"));
    await chmod(join(root, "a"), 0o000);
    await expect(store.read("a")).rejects.toMatchObject({ code: "not-permitted" });
  });
});

describe("local store, what systems differ in", () => {
  const before = DiskState.with({ "/work/a": "old" });

  test("where folders cannot be synced, the store says that it survives a kill and no more", async () => {
    const fs: FsOps = {
      ...pausing(new FaultFs(before), async () => {}),
      syncDirectory: async () => "unsupported",
    };
    const store = await openLocalStore({ root: "/work", fs });
    expect(store.traits.survives).toBe("process-kill");
    const found = await store.read("a");
    if (found === "absent") throw new Error("absent");
    expect(await store.replace("a", utf8("new"), found.etag)).toMatchObject({ kind: "written" });
  });

  test.each(["EPERM", "EACCES", "EBUSY"])(
    "on Windows a rename refused with %s is asked again, within bounds",
    async (errno) => {
      for (const [refusals, outcome] of [
        [3, "written"],
        [limits.renameAttemptsMax, "refused"],
      ] as const) {
        const disk = new FaultFs(before);
        let left: number = refusals;
        const fs: FsOps = {
          ...pausing(disk, async () => {}),
          rename: async (from, to) => {
            left -= 1;
            if (left >= 0) throw Object.assign(new Error(errno), { code: errno });
            await disk.rename(from, to);
          },
        };
        const store = await openLocalStore({ root: "/work", fs, platform: "windows" });
        const found = await store.read("a");
        if (found === "absent") throw new Error("absent");
        const end = await store.replace("a", utf8("new"), found.etag).then(
          ({ kind }) => kind,
          () => "refused",
        );
        expect(end).toBe(outcome);
        expect(disk.afterKill().text("/work/a")).toBe(outcome === "written" ? "new" : "old");
        expect(disk.afterKill().names("/work")).toEqual(["a"]);
      }
    },
  );

  test.each(["a:b", "runs/con.json", "NUL", "com1", "a.", "a ", "a?", "x\u0007"])(
    "on Windows %j is refused, since it is no file there",
    async (key) => {
      const fs = new FaultFs(before);
      const windows = await openLocalStore({ root: "/work", fs, platform: "windows" });
      await expect(windows.read(key)).rejects.toMatchObject({ code: "name-rejected" });
      await expect(windows.replace(key, utf8("1"), "absent")).rejects.toMatchObject({
        code: "name-rejected",
      });
      const posix = await openLocalStore({ root: "/work", fs, platform: "posix" });
      written(await posix.replace(key, utf8("1"), "absent"));
      written(await windows.replace("icon.json", utf8("1"), "absent"));
    },
  );

  test("a file that grows while it is read is read to its end, up to the bound", async () => {
    const disk = new FaultFs(before);
    let grow = true;
    const fs = pausing(disk, async () => {
      const isReading = disk.calls.at(-1)?.name === "fstat";
      if (!grow || !isReading) return;
      grow = false;
      const writer = await disk.open("/work/a", { kind: "append" });
      await writer.append(utf8("x".repeat(5_000)));
    });
    const store = await openLocalStore({ root: "/work", fs });
    expect(await textOf(store, "a")).toBe(`old${"x".repeat(5_000)}`);
  });

  test("an object beyond the bound is refused before anything is read or written", async () => {
    const huge = { length: limits.objectBytesMax + 1, subarray: () => new Uint8Array() };
    const store = await openLocalStore({ root: "/work", fs: new FaultFs(before) });
    await expect(store.replace("b", huge as unknown as Uint8Array, "absent")).rejects.toMatchObject(
      { code: "limit-exceeded" },
    );
  });
});
