/**
 * R1, R3 to R6 in every interleaving of two writers that run the real update code (explore.ts says how). Each line
 * printed is one exploration, gone through to its end.
 */
import { describe, expect, test } from "vitest";
import { report } from "../support/crash-matrix.js";
import { explore } from "./explore.js";
import type { Scenario } from "./world.js";

const isFull = process.env.LASTGOOD_TEST_FULL === "1";

const nothing = {
  crashes: 0,
  takeOvers: 0,
  lostReplies: 0,
  lossy: "commits",
  foreignWrites: 0,
  handRestores: 0,
} as const;
const two = [{ updateId: "a" }, { updateId: "b" }];
const local: Scenario = { ...nothing, mode: "local", updates: two };
const bucket: Scenario = { ...nothing, mode: "bucket", updates: two };
/** The same logical update, asked for by two processes at once. */
const oneTwice = [{ updateId: "a" }, { updateId: "a" }];
/** The first one relies on what the second one changes. */
const dependent = [{ updateId: "a", dependsOn: ["attempts"] }, { updateId: "b" }];

const quick: readonly (readonly [string, Scenario])[] = [
  ["local, two take-overs", { ...local, takeOvers: 2 }],
  ["local, a take-over and a crash", { ...local, takeOvers: 1, crashes: 1 }],
  ["local, a take-over and a restore by hand", { ...local, takeOvers: 1, handRestores: 1 }],
  ["local, a crash and a restore by hand", { ...local, crashes: 1, handRestores: 1 }],
  ["local, one update asked for twice, a take-over", { ...local, updates: oneTwice, takeOvers: 1 }],
  ["local, moved inputs, a take-over", { ...local, updates: dependent, takeOvers: 1 }],
  ["bucket, a crash", { ...bucket, crashes: 1 }],
  ["bucket, a restore by hand", { ...bucket, handRestores: 1 }],
  ["bucket, one update asked for twice, a crash", { ...bucket, updates: oneTwice, crashes: 1 }],
  [
    "bucket, one update asked for twice, a lost commit",
    { ...bucket, updates: oneTwice, lostReplies: 1 },
  ],
  ["bucket, moved inputs, a crash", { ...bucket, updates: dependent, crashes: 1 }],
];

/** Up to two million states each. */
const thorough: readonly (readonly [string, Scenario])[] = [
  ["local, a take-over and two crashes", { ...local, takeOvers: 1, crashes: 2 }],
  [
    "local, a take-over, a crash and a restore by hand",
    { ...local, takeOvers: 1, crashes: 1, handRestores: 1 },
  ],
  ["local, a take-over and a foreign write", { ...local, takeOvers: 1, foreignWrites: 1 }],
  [
    "local, a take-over, a foreign write and a restore by hand",
    { ...local, takeOvers: 1, foreignWrites: 1, handRestores: 1 },
  ],
  ["bucket, a lost commit", { ...bucket, lostReplies: 1 }],
  ["bucket, any write lost", { ...bucket, lostReplies: 1, lossy: "every write" }],
  ["bucket, a lost commit and a crash", { ...bucket, lostReplies: 1, crashes: 1 }],
  ["bucket, moved inputs and a lost commit", { ...bucket, updates: dependent, lostReplies: 1 }],
  ["bucket, moved inputs and a foreign write", { ...bucket, updates: dependent, foreignWrites: 1 }],
  [
    "bucket, a foreign write and a restore by hand",
    { ...bucket, foreignWrites: 1, handRestores: 1 },
  ],
];

function outcomesOf(outcomes: ReadonlyMap<string, number>): string {
  return [...outcomes].map(([kind, count]) => `${kind} ${count}`).join(", ");
}

describe.each(isFull ? [...quick, ...thorough] : quick)("%s", (name, scenario) => {
  test("breaks no promise in any interleaving", async () => {
    const { states, moves, violations, outcomes } = await explore(scenario);
    expect([...violations].map(([promise, history]) => `${promise}\n  ${history}`)).toEqual([]);
    report(
      `interleavings, ${name}: ${states} states, ${moves} moves, all visited; ${outcomesOf(outcomes)}`,
    );
  }, 3_600_000);
});
