/** The world that writers share: what is stored, what can become of an operation, and what others do meanwhile. */
import { createHash } from "node:crypto";
import { headKey, readKey } from "../../shared/format/keys.js";
import { readRunDocument } from "../../shared/format/run-document.js";
import { run } from "../support/build-run.js";
import type { Operation, Result, WriterState } from "./writer-code.js";

export interface Scenario {
  readonly mode: "local" | "bucket";
  readonly updates: readonly {
    readonly updateId: string;
    readonly dependsOn?: readonly string[];
  }[];
  /** How many of each may happen in one history. */
  readonly crashes: number;
  readonly takeOvers: number;
  readonly lostReplies: number;
  /** Which writes can lose their reply, their request, or arrive late. */
  readonly lossy: "commits" | "every write";
  readonly foreignWrites: number;
  readonly handRestores: number;
}

export const headAt = headKey(run);
export const firstText = '{"version":1,"applied_ids":[],"attempts":0}';

export type Writer =
  | { readonly kind: "running"; readonly state: WriterState; readonly checked: boolean }
  | { readonly kind: "dead" }
  | { readonly kind: "ended" };

export interface World {
  readonly objects: Readonly<Record<string, string>>;
  readonly holder: number | undefined;
  readonly writers: readonly Writer[];
  readonly acknowledged: readonly string[];
  /** Writes on their way that may still arrive. */
  readonly late: readonly LateWrite[];
  /** The head that the foreign writer has read and not yet replaced. */
  readonly foreignRead: string | undefined;
  readonly left: {
    readonly crashes: number;
    readonly takeOvers: number;
    readonly lostReplies: number;
    readonly foreignWrites: number;
    readonly handRestores: number;
  };
}

type LateWrite = Extract<Operation, { verb: "create" | "replace" }>;

/** What led from one state to the next; put into words only where a promise is broken. */
export type Cause =
  | string
  | {
      readonly writer: number;
      readonly operation: Operation;
      readonly how: string;
      readonly result: Result;
    };

export interface Move {
  readonly cause: Cause;
  readonly world: World;
  /** What a rename put in the place of something its writer had not read. */
  readonly overwrote?: string;
}

type StoreKind = Pick<Scenario, "mode" | "lossy">;

/** For a writer alone: nobody acts between a look and a write. */
export const reliable: StoreKind = { mode: "bucket", lossy: "commits" };

export const emptyWorld: World = {
  objects: {},
  holder: undefined,
  writers: [],
  acknowledged: [],
  late: [],
  foreignRead: undefined,
  left: { crashes: 0, takeOvers: 0, lostReplies: 0, foreignWrites: 0, handRestores: 0 },
};

type Effect =
  | { readonly kind: "checked" }
  | {
      readonly kind: "done";
      readonly world: World;
      readonly result: Result;
      readonly how?: string;
      readonly overwrote?: string;
    };

/** All that can come of an operation at this moment. */
export function effectsOf(
  world: World,
  store: StoreKind,
  i: number,
  operation: Operation,
  checked: boolean,
): readonly Effect[] {
  const { objects } = world;
  switch (operation.verb) {
    case "read":
      return [done(world, objects[operation.key] ?? "absent")];
    case "list":
      return [
        done(
          world,
          Object.keys(objects)
            .filter((key) => key.startsWith(operation.prefix))
            .sort(),
        ),
      ];
    case "acquire lease":
      return acquireEffects(world, i);
    case "check lease":
      return [done(world, world.holder === i ? "held" : "lost")];
    case "release lease":
      return [done(world, "released")];
    case "remove": {
      if (checked) return [done(without(world, operation.key), "removed")];
      if (objects[operation.key] !== operation.expected) return [done(world, "conflict")];
      // Nowhere is a removal bound to what was looked at before.
      return store.mode === "local"
        ? [{ kind: "checked" }]
        : [done(without(world, operation.key), "removed")];
    }
    case "replace":
    case "create":
      return writeEffects(world, store, i, operation, checked);
  }
}

function acquireEffects(world: World, i: number): readonly Effect[] {
  const { holder, left } = world;
  const holderState = holder === undefined ? undefined : world.writers[holder];
  const isFree = holder === undefined || holder === i || holderState?.kind !== "running";
  if (isFree) return [done({ ...world, holder: i }, "granted")];
  if (left.takeOvers === 0) return [];
  const taken = { ...world, holder: i, left: { ...left, takeOvers: left.takeOvers - 1 } };
  return [{ ...done(taken, "granted"), how: " TAKES OVER" }];
}

function writeEffects(
  world: World,
  { mode, lossy }: StoreKind,
  i: number,
  operation: LateWrite,
  checked: boolean,
): readonly Effect[] {
  const there = world.objects[operation.key];
  const written = done(withObject(world, operation.key, operation.text), "written");
  if (operation.verb === "replace" && mode === "local") {
    if (!checked)
      return there === operation.expected ? [{ kind: "checked" }] : [done(world, "conflict")];
    const isUnread = there !== operation.expected && there !== operation.text;
    const isFormerHolder = world.holder !== i;
    return [
      isFormerHolder && isUnread && there !== undefined
        ? { ...written, overwrote: there }
        : written,
    ];
  }
  const holds = isConditionTrue(operation, there);
  const plain = holds ? written : done(world, "conflict");
  const canBeLost = mode === "bucket" && (lossy === "every write" || operation.verb === "replace");
  if (!canBeLost || world.left.lostReplies === 0) return [plain];
  const left = { ...world.left, lostReplies: world.left.lostReplies - 1 };
  const arrived = { ...plain.world, left };
  const lost = { ...world, left };
  const late = { ...lost, late: [...world.late, operation] };
  return [
    plain,
    { ...done(arrived, "in doubt"), how: " (reply lost)" },
    { ...done(lost, "in doubt"), how: " (request lost)" },
    { ...done(late, "in doubt"), how: " (request late)" },
  ];
}

function isConditionTrue(operation: LateWrite, there: string | undefined): boolean {
  return operation.verb === "create" ? there === undefined : there === operation.expected;
}

export function lateMoves(world: World): Move[] {
  return world.late.map((operation, i) => {
    const rest = { ...world, late: world.late.filter((_, at) => at !== i) };
    const holds = isConditionTrue(operation, world.objects[operation.key]);
    return {
      cause: `a late write arrives: ${describe(operation)}`,
      world: holds ? withObject(rest, operation.key, operation.text) : rest,
    };
  });
}

/** A writer that knows neither claims nor leases: reads the head, and later replaces it with the next version. */
export function foreignMoves(world: World): Move[] {
  const { foreignRead, left, objects } = world;
  const head = objects[headAt];
  if (foreignRead !== undefined) {
    const document = readRunDocument(new TextEncoder().encode(foreignRead));
    if (document.kind !== "run") return [];
    const next = JSON.stringify({
      version: document.version + 1,
      applied_ids: [...document.appliedIds, "foreign"],
      attempts: Number(document.value.attempts) + 1,
    });
    const replaced = withObject({ ...world, foreignRead: undefined }, headAt, next);
    return [{ cause: `the foreign writer replaces the head by ${next}`, world: replaced }];
  }
  if (left.foreignWrites === 0 || head === undefined) return [];
  const reading = {
    ...world,
    foreignRead: head,
    left: { ...left, foreignWrites: left.foreignWrites - 1 },
  };
  return [{ cause: "the foreign writer reads the head", world: reading }];
}

/** A person copies an older kept version over the head. */
export function handMoves(world: World): Move[] {
  const { left, objects } = world;
  const head = documentAt(objects);
  if (left.handRestores === 0 || head === undefined) return [];
  const moves: Move[] = [];
  for (const [key, text] of Object.entries(objects)) {
    const meaning = readKey(key);
    if (meaning.kind !== "kept-version" || meaning.version >= head.version) continue;
    const restored = { ...world, left: { ...left, handRestores: left.handRestores - 1 } };
    moves.push({
      cause: `A PERSON puts version ${meaning.version} back`,
      world: withObject(restored, headAt, text),
    });
  }
  return moves;
}

function done(world: World, result: Result): Extract<Effect, { kind: "done" }> {
  return { kind: "done", world, result };
}

function withObject(world: World, key: string, text: string): World {
  return { ...world, objects: { ...world.objects, [key]: text } };
}

function without(world: World, key: string): World {
  const { [key]: _gone, ...objects } = world.objects;
  return { ...world, objects };
}

export function withWriter(world: World, i: number, writer: Writer): World {
  return { ...world, writers: world.writers.with(i, writer) };
}

interface Head {
  readonly version: number;
  readonly ids: readonly string[];
  readonly attempts: unknown;
}

const heads = new Map<string, Head | undefined>();

export function documentAt(objects: World["objects"]): Head | undefined {
  const text = objects[headAt];
  if (text === undefined) return undefined;
  if (!heads.has(text)) heads.set(text, headOf(text));
  return heads.get(text);
}

function headOf(text: string): Head | undefined {
  const document = readRunDocument(new TextEncoder().encode(text));
  if (document.kind !== "run") return undefined;
  return { version: document.version, ids: idsOf(text), attempts: document.value.attempts };
}

export function idsOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : (JSON.parse(text) as { applied_ids: string[] }).applied_ids;
}

export function sorted(objects: World["objects"]): [string, string][] {
  return Object.entries(objects).sort(([a], [b]) => (a < b ? -1 : 1));
}

export function keyOf(world: World): string {
  const writers = world.writers.map((writer) =>
    writer.kind === "running" ? `${writer.state.id}${writer.checked ? "c" : ""}` : writer.kind,
  );
  const { objects, holder, acknowledged, late, foreignRead } = world;
  const { crashes, takeOvers, lostReplies, foreignWrites, handRestores } = world.left;
  const left = [crashes, takeOvers, lostReplies, foreignWrites, handRestores];
  const all = [sorted(objects), holder, writers, acknowledged, late, foreignRead, left];
  // A short digest in the place of a kilobyte: millions of states are held at once.
  return createHash("sha256").update(JSON.stringify(all)).digest("base64").slice(0, 22);
}

function describe(operation: Operation): string {
  if (!("key" in operation)) return operation.verb;
  const name = operation.key.slice(run.length - "run_9d4a".length);
  return "text" in operation
    ? `${operation.verb} ${name} as ${operation.text}`
    : `${operation.verb} ${name}`;
}

export function causeText(cause: Cause): string {
  if (typeof cause === "string") return cause;
  const { writer, operation, how, result } = cause;
  return `W${writer} ${describe(operation)}${how} → ${describeResult(result)}`;
}

function describeResult(result: Result): string {
  return typeof result === "string" ? result : `${result.length} names`;
}
