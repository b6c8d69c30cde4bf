import { describe, expect, test } from "vitest";
import {
  evidenceKey,
  headKey,
  keptVersionKey,
  leaseGrantKey,
  leaseKey,
  logSegmentKey,
  pendingKey,
  readKey,
  runNameRefusal,
  supersededLogKey,
  versionsPrefix,
} from "../../../shared/format/keys.js";

const sha256 = "0123456789abcdef".repeat(4);

describe("each name is read back as what it was built for", () => {
  test.each([
    [headKey("runs/run_9d4a"), "runs/run_9d4a.json", { kind: "document", run: "runs/run_9d4a" }],
    [
      keptVersionKey("runs/run_9d4a", 61),
      "runs/run_9d4a/v61.json",
      { kind: "kept-version", run: "runs/run_9d4a", version: 61 },
    ],
    [
      pendingKey("run", 64, sha256),
      "run/v64.pending.0123456789abcdef.json",
      { kind: "pending", run: "run", version: 64, base: "0123456789abcdef" },
    ],
    [
      leaseKey("runs/checkpoint"),
      "runs/checkpoint.lease.json",
      { kind: "lease", target: "runs/checkpoint" },
    ],
    [
      leaseGrantKey("run", 7, 2),
      "run.lease.7.2.json",
      { kind: "lease-grant", target: "run", token: 7, renewal: 2 },
    ],
    [
      supersededLogKey("runs/checkpoint", 7),
      "runs/checkpoint.7.superseded.jsonl",
      { kind: "superseded-log", log: "runs/checkpoint", token: 7 },
    ],
    [
      logSegmentKey("checkpoint", 17),
      "checkpoint/000000017.jsonl",
      { kind: "log-segment", log: "checkpoint", number: 17 },
    ],
  ])("%s", (built, expected, meaning) => {
    expect(built).toBe(expected);
    expect(readKey(built)).toEqual(meaning);
  });
});

test("kept versions and claims stand under the run's prefix", () => {
  expect(keptVersionKey("a/b", 1).startsWith(versionsPrefix("a/b"))).toBe(true);
  expect(pendingKey("a/b", 1, sha256).startsWith(versionsPrefix("a/b"))).toBe(true);
});

describe("names that only look like ours", () => {
  test.each([
    ["run/v061.json", "document"],
    ["run/v-1.json", "document"],
    ["run/v1.pending.0123.json", "document"],
    ["run/v1.pending.0123456789ABCDEF.json", "document"],
    ["run/v99999999999999999999.json", "document"],
    ["v1.json", "document"],
    ["a/17.jsonl", "log"],
    ["checkpoint.jsonl", "log"],
    ["checkpoint.x.superseded.jsonl", "log"],
    ["run.json.bak", "other"],
    ["", "other"],
    ["\n", "other"],
  ])("%j is %s", (key, kind) => {
    expect(readKey(key).kind).toBe(kind);
  });
});

test("a staged file names the file it was to become", () => {
  expect(readKey("runs/.run_9d4a.json.0123456789abcdef.tmp")).toEqual({
    kind: "staged",
    target: "runs/run_9d4a.json",
  });
  expect(readKey(".checkpoint.jsonl.take-over-5.tmp")).toEqual({
    kind: "staged",
    target: "checkpoint.jsonl",
  });
});

test("bytes set aside are named by time, content and where they came from", () => {
  expect(evidenceKey(".lastgood/evidence", 1_795_953_600_000, sha256, "run/v2.json")).toBe(
    ".lastgood/evidence/1795953600000-0123456789abcdef-v2.json",
  );
});

describe("a run may not be named like a neighbour of another", () => {
  test.each(["a.lease", "a.lease.1.2", "a/v1", "a/v1.pending.0123456789abcdef", "", "runs/"])(
    "%j is refused",
    (run) => {
      expect(runNameRefusal(run)).toBeDefined();
    },
  );

  test.each(["run_9d4a", "runs/run_9d4a", "v1", "a.lease.x"])("%j is allowed", (run) => {
    expect(runNameRefusal(run)).toBeUndefined();
  });
});
