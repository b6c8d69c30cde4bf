import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import {
  nowIso,
  nowMs,
  processAlive,
  processIdentity,
  randomFraction,
  randomHex,
  randomId,
  sha256Hex,
} from "../../../shared/adapters/system.js";

const onLinux = process.platform === "linux";

test("hashes are those everybody else computes", () => {
  expect(sha256Hex(new Uint8Array())).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  );
  const part = new Uint8Array([0, 97, 98, 99, 0]).subarray(1, 4);
  expect(sha256Hex(part)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("time is in milliseconds and in UTC", () => {
  expect(nowIso()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Math.abs(Date.parse(nowIso()) - nowMs())).toBeLessThan(5_000);
});

test("random ids differ and have the promised shape", () => {
  expect(new Set(Array.from({ length: 1_000 }, randomId)).size).toBe(1_000);
  expect(randomHex(8)).toMatch(/^[0-9a-f]{16}$/);
  for (let i = 0; i < 100; i += 1) {
    const fraction = randomFraction();
    expect(fraction >= 0 && fraction < 1).toBe(true);
  }
});

describe("who is alive", () => {
  const self = processIdentity();

  test("we know ourselves", () => {
    expect(self.pid).toBe(process.pid);
    expect(self.host.startsWith(hostname())).toBe(true);
    expect(processAlive(self.pid, self.processStartedAt)).toBe(onLinux ? "alive" : "unknown");
  });

  test("what is no pid is unknown, not gone", () => {
    for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 60]) {
      expect(processAlive(pid, self.processStartedAt)).toBe("unknown");
    }
  });

  test("a live process without a known start time is unknown", () => {
    expect(processAlive(process.pid, undefined)).toBe("unknown");
    expect(processAlive(process.pid, "yesterday")).toBe("unknown");
  });

  test("a process that ended is gone", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    const { pid } = child;
    await once(child, "exit");
    expect(processAlive(pid ?? -1, undefined)).toBe("gone");
  });

  test.skipIf(!onLinux)(
    `another process under the same pid is not the recorded one${onLinux ? "" : " (skipped: only Linux tells when a process started)"}`,
    () => {
      const startedMs = Date.parse(self.processStartedAt ?? "");
      const recorded = (ms: number) => processAlive(process.pid, new Date(ms).toISOString());
      expect(recorded(startedMs - 86_400_000 + 10)).toBe("gone");
      expect(recorded(startedMs + 1_000)).toBe("alive");
      // Off by whole seconds: a clock that was set meanwhile looks just like this, so nothing is proved.
      expect(recorded(startedMs - 3_600_000)).toBe("unknown");
    },
  );
});
