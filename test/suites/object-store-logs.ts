/** What every object store promises about logs; part of objectStoreSuite. */
import { expect, test } from "vitest";
import type { LogFile, ObjectStore } from "../../shared/storage/object-store.js";
import {
  logOptions,
  sameBytes,
  storedAt,
  textOfLog,
  utf8,
  written,
} from "../support/store-shorthand.js";

type Open = () => Promise<ObjectStore>;

export function logTests(open: Open): void {
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

export function tailTests(open: Open): void {
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
          expect(sameBytes((await storedAt(store, key)).bytes, bytes)).toBe(true);
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

  test("when somebody writes to the log while its cut bytes are set aside, nothing is cut", async () => {
    const store = await open();
    await plant(store, key, utf8('{"id":1}\n{"id'));
    const theirs = utf8('{"id":1}\n{"id":2}\n');
    const setAside = async () => {
      written(await store.replace(key, theirs, (await storedAt(store, key)).etag));
    };
    const refusal = { code: "lease-lost" };
    await expect(store.openLog(key, logOptions({ setAside }))).rejects.toMatchObject(refusal);
    expect(sameBytes((await storedAt(store, key)).bytes, theirs)).toBe(true);
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

/** Puts bytes under the key of a log, as whoever wrote it last left them. */
async function plant(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  written(await store.replace(key, bytes, "absent"));
}

async function appendOnce(store: ObjectStore, key: string, text: string): Promise<void> {
  const log: LogFile = await store.openLog(key, logOptions());
  expect(await log.append(utf8(text))).toMatchObject({ kind: "appended" });
  await log.close();
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function unexpected(what: string): never {
  throw new Error(`unexpected: ${what}`);
}
