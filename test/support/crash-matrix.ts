/**
 * Crashes by enumeration. A sequence of durable steps is run once for every point at which power can be lost; at each
 * point every state is made that the simulated disk (fault-fs.ts) could be left in; and each state is judged.
 *
 * Each suite prints one line, for example
 *   replace-file: 9 crash points × fates kept, dropped, torn: 143 of 143 states old or new
 */
import type { Change, DiskState } from "./disk-state.js";
import {
  anyDevice,
  type DevicePromises,
  type Fault,
  FaultFs,
  type LeftToChance,
  type PendingChange,
} from "./fault-fs.js";

export interface CrashSequence {
  /** For the printed line: "replace-file". */
  readonly name: string;
  /** For the printed line: what every surviving state was found to be. */
  readonly promise: string;
  readonly before: DiskState;
  readonly device?: DevicePromises;
  /** Besides the power loss, for sequences that go on after a refusal. */
  readonly faults?: readonly Fault[];
  /**
   * The steps under test. `acknowledge` marks what a caller was told is safe; it counts only while power is on.
   * Whatever it throws after the power loss is of no interest.
   */
  readonly act: (fs: FaultFs, acknowledge: (what: string) => void) => Promise<void>;
  /** Judges one surviving state; throws when a promise is broken. */
  readonly judge: (crash: Crash) => Promise<void> | void;
}

export interface Crash {
  readonly state: DiskState;
  readonly acknowledged: readonly string[];
  /** How many changing calls were made before power was lost. */
  readonly point: number;
}

export interface MatrixCount {
  readonly points: number;
  readonly states: number;
}

/** Runs the sequence against every crash, and prints what was covered. */
export async function crashMatrix(sequence: CrashSequence): Promise<MatrixCount> {
  const promises = sequence.device ?? anyDevice;
  const points = await countPoints(sequence, promises);
  let states = 0;
  for (let point = 0; point <= points; point += 1) {
    const fs = new FaultFs(
      sequence.before,
      [{ kind: "power-loss", afterChanges: point }],
      promises,
    );
    const acknowledged: string[] = [];
    // Up to the very moment of the next change: what a caller was told by then must survive.
    const acknowledge = (what: string) => {
      if (fs.hasPower) acknowledged.push(what);
    };
    await sequence.act(fs, acknowledge).catch(() => undefined);
    for (const { fates, state } of everyFate(fs.leftToChance)) {
      states += 1;
      try {
        await sequence.judge({ state, acknowledged, point });
      } catch (error) {
        throw new Error(`${sequence.name}: ${describe(fs, point, fates, state)}`, { cause: error });
      }
    }
  }
  report(
    `${sequence.name}: ${points + 1} crash points × fates kept, dropped, torn: ` +
      `${states} of ${states} states ${sequence.promise}`,
  );
  return { points: points + 1, states };
}

async function countPoints(sequence: CrashSequence, promises: DevicePromises): Promise<number> {
  const fs = new FaultFs(sequence.before, sequence.faults ?? [], promises);
  // Run to its end first: a sequence that fails without any crash would make every judgement below worthless.
  await sequence.act(fs, () => undefined);
  return fs.changeCount;
}

/** One line on the test's output, once per matrix. */
export function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

function describe(fs: FaultFs, point: number, fates: string, state: DiskState): string {
  const calls = fs.calls.map(({ name, path }) => `    ${name} ${path}`).join("\n");
  return `power lost after change ${point} of\n${calls}\n  fates: ${fates}\n  left:\n${state.fingerprint()}`;
}

/** What may become of one pending change. */
interface Fate {
  readonly name: string;
  readonly change: Change | undefined;
}

export interface FatedState {
  readonly fates: string;
  readonly state: DiskState;
}

/** Above this many combinations the far corners are left out: see `combinations`. */
const combinationsMax = process.env.LASTGOOD_TEST_FULL === "1" ? 200_000 : 1_000;

/** Every state that a power loss can leave, each once. */
export function* everyFate(chance: LeftToChance): Generator<FatedState> {
  const seen = new Set<string>();
  const choices = chance.pending.map((one) => fatesOf(one, chance.promises));
  for (const combination of combinations(choices)) {
    if (!isPossible(chance, combination)) continue;
    const state = chance.device.copy();
    for (const fate of combination) if (fate.change !== undefined) state.apply(fate.change);
    const fingerprint = state.fingerprint();
    if (seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    yield { fates: combination.map((fate) => fate.name).join(", ") || "nothing pending", state };
  }
}

/** On a device that keeps entries in order, none survives one that was dropped before it. */
function isPossible(chance: LeftToChance, combination: readonly Fate[]): boolean {
  if (chance.promises.metadata === "any-order") return true;
  let dropped = false;
  for (const [index, fate] of combination.entries()) {
    const change = chance.pending[index]?.change;
    if (change === undefined || !("folder" in change)) continue;
    if (dropped && fate.change !== undefined) return false;
    dropped ||= fate.change === undefined;
  }
  return true;
}

function fatesOf({ change, forsaken }: PendingChange, promises: DevicePromises): Fate[] {
  const name = `${change.kind}${forsaken ? " (forsaken)" : ""}`;
  const fates: Fate[] = [
    { name: `${name} kept`, change },
    { name: `${name} dropped`, change: undefined },
  ];
  if (change.kind === "write") fates.push(...tornFates(change, promises.sectorBytes));
  return fates;
}

type Write = Extract<Change, { kind: "write" }>;

/** The shortest and the longest cut and one between; and behind the last line end, where a tear looks whole. */
function tornFates(write: Write, sectorBytes: number): Fate[] {
  const { bytes, atByte } = write;
  const lastLine = bytes.subarray(0, -1).lastIndexOf(0x0a) + 1;
  const wanted = [1, Math.floor(bytes.length / 2), lastLine, bytes.length - 1];
  const cuts = [...new Set(wanted)].filter(
    (cut) => cut > 0 && cut < bytes.length && (atByte + cut) % sectorBytes === 0,
  );
  const filled = (cut: number, fill: number) => {
    const torn = new Uint8Array(bytes.length).fill(fill);
    torn.set(bytes.subarray(0, cut));
    return { ...write, bytes: torn };
  };
  const hole = (cut: number) => ({ ...write, bytes: bytes.slice().fill(0, 0, cut) });
  return [
    { name: "write nul-tail 0", change: filled(0, 0) },
    ...cuts.flatMap((cut) => [
      { name: `write cut ${cut}`, change: { ...write, bytes: bytes.slice(0, cut) } },
      { name: `write nul-tail ${cut}`, change: filled(cut, 0) },
      { name: `write garbage ${cut}`, change: filled(cut, 0xa5) },
      { name: `write hole ${cut}`, change: hole(cut) },
    ]),
  ];
}

/**
 * All combinations while they are few. Otherwise those near the two ends, where faults are found: everything kept and
 * everything dropped, each with every single change, and every pair of changes, going its own way.
 */
function* combinations(choices: readonly Fate[][]): Generator<Fate[]> {
  const count = choices.reduce((product, fates) => product * fates.length, 1);
  if (count <= combinationsMax) {
    yield* product(choices);
    return;
  }
  for (const end of [0, 1]) {
    const base = choices.flatMap((fates) => fates[end] ?? []);
    yield base;
    for (const [i, fates] of choices.entries()) {
      for (const fate of fates) yield base.with(i, fate);
    }
    for (let i = 0; i < choices.length; i += 1) {
      for (let j = i + 1; j < choices.length; j += 1) {
        for (const left of choices[i] ?? []) {
          for (const right of choices[j] ?? []) yield base.with(i, left).with(j, right);
        }
      }
    }
  }
}

function* product(choices: readonly Fate[][]): Generator<Fate[]> {
  const at = choices.map(() => 0);
  for (;;) {
    yield choices.flatMap((fates, i) => fates[at[i] ?? 0] ?? []);
    let i = 0;
    while (i < choices.length && (at[i] ?? 0) === (choices[i]?.length ?? 0) - 1) {
      at[i] = 0;
      i += 1;
    }
    if (i === choices.length) return;
    at[i] = (at[i] ?? 0) + 1;
  }
}
