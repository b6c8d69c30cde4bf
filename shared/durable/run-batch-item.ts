/** One item of a batch: what the log knows about it, what follows from that, and the doing. */
import { assertNever } from "../base/assert.js";
import type { AttemptState, EffectOutcome, ItemFold, ItemState } from "../format/item-state.js";
import type { CheckpointLog } from "./checkpoint-log.js";
import type { BatchOptions, NamedItem } from "./run-batch.js";
import type { ItemResult, RecheckAnswer } from "./run-batch-outcomes.js";

type Ending<Item> =
  ItemResult<Item> extends infer Result
    ? Result extends unknown
      ? Omit<Result, "item" | "id" | "key">
      : never
    : never;

/** What follows from the log for one item. */
export type ItemVerdict =
  | { readonly kind: "already-done"; readonly says: "record" | "settlement" }
  | { readonly kind: "in-doubt"; readonly open: readonly AttemptState[] }
  | { readonly kind: "not-understood"; readonly word: string }
  | { readonly kind: "to-do"; readonly attempt: number };

/** Pure: decides by what is recorded under the key, and under the bare id where a log knew no keys. */
export function judgeItem(operations: ItemFold, id: string, key: string): ItemVerdict {
  const states = statesOf(operations, id, key);
  if (states.some((state) => state.dones.length > 0)) {
    return { kind: "already-done", says: "record" };
  }
  const attempts = states.flatMap((state) => state.attempts);
  if (attempts.some(({ outcome }) => outcome?.outcome === "done")) {
    return { kind: "already-done", says: "settlement" };
  }
  const open = states.flatMap((state) => state.open);
  if (open.length > 0) return { kind: "in-doubt", open };
  const [remark] = states.flatMap((state) => state.remarks);
  // Another program's word for "sent", perhaps. Trying it could be the second time.
  if (attempts.length === 0 && remark !== undefined) {
    return { kind: "not-understood", word: remark.word };
  }
  return { kind: "to-do", attempt: nextAttempt(states) };
}

function statesOf(operations: ItemFold, id: string, key: string): readonly ItemState[] {
  const withKey = operations.withKey(key);
  const withoutKey = operations.withoutKey(id);
  const own = withKey === undefined ? [] : [withKey];
  // One that has learned a key since is another operation of this item, or the one we have.
  return withoutKey?.keys.length === 0 ? [...own, withoutKey] : own;
}

function nextAttempt(states: readonly ItemState[]): number {
  const attempts = states.flatMap((state) => state.attempts);
  const numbers = attempts.map(({ attempt }) => Number(attempt)).filter(Number.isSafeInteger);
  const omittedCount = states.reduce((sum, state) => sum + state.omittedCount, 0);
  return Math.max(attempts.length + omittedCount, ...numbers) + 1;
}

export class ItemRun<Item> {
  readonly #log: CheckpointLog;
  readonly #named: NamedItem<Item>;
  readonly #options: BatchOptions<Item>;

  constructor(log: CheckpointLog, named: NamedItem<Item>, options: BatchOptions<Item>) {
    this.#log = log;
    this.#named = named;
    this.#options = options;
  }

  async perform(): Promise<ItemResult<Item>> {
    return { ...this.#named, ...(await this.#end()) } as ItemResult<Item>;
  }

  async #end(): Promise<Ending<Item>> {
    if (this.#options.signal?.aborted === true) {
      return { kind: "not-run", reason: "the batch was told to stop before this item" };
    }
    const verdict = this.#judge();
    const open = this.#doubtful(verdict);
    if (open === undefined) return await this.#act(verdict);
    const answer = await this.#ask(open);
    if (typeof answer === "string") return { kind: "held", reason: answer };
    try {
      await this.#settle(open, answer);
    } catch (error) {
      return { kind: "held", reason: `the answer could not be recorded: ${reasonOf(error)}` };
    }
    const settled = this.#judge();
    if (answer.outcome === "unknown" || settled.kind === "in-doubt") {
      return { kind: "held", reason: `still not known: ${answer.reason}` };
    }
    return await this.#act(settled);
  }

  /** Attempts to be asked about, none where a line that is no record may have been about this item; else undefined. */
  #doubtful(verdict: ItemVerdict): readonly AttemptState[] | undefined {
    if (verdict.kind === "in-doubt") return verdict.open;
    return verdict.kind === "to-do" && this.#log.reading.unreadableCount > 0 ? [] : undefined;
  }

  #judge(): ItemVerdict {
    return judgeItem(this.#log.reading.operations, this.#named.id, this.#named.key);
  }

  async #act(verdict: ItemVerdict): Promise<Ending<Item>> {
    switch (verdict.kind) {
      case "in-doubt":
        return { kind: "held", reason: doubtAbout(verdict.open) };
      case "already-done":
        return verdict;
      case "not-understood":
        return {
          kind: "held",
          reason: `the log says ${JSON.stringify(verdict.word)} of it, which is no outcome known here`,
        };
      case "to-do":
        return await this.#attempt(verdict.attempt);
      default:
        return assertNever(verdict);
    }
  }

  /** Straight-line: the order is the guarantee. */
  async #attempt(attempt: number): Promise<Ending<Item>> {
    const { item, id, key } = this.#named;
    const { effect, signal, atCrashPoint = () => {} } = this.#options;
    const entry = { id, key, attempt };
    try {
      await this.#log.append({ ...entry, phase: "intent" }); // durable first, or a crash would hide the attempt
    } catch (error) {
      return { kind: "not-run", reason: `its intent could not be recorded: ${reasonOf(error)}` };
    }
    await atCrashPoint("item: intent recorded");
    let answer: Awaited<ReturnType<typeof effect>>;
    try {
      answer = await effect(item, { key, attempt, signal });
    } catch (error) {
      // No outcome is written: the intent without one is the record of the doubt.
      return { kind: "in-doubt", attempt, reason: reasonOf(error) };
    }
    // A caller without types may forget to return anything: then nobody has said what became of it.
    if (answer?.kind !== "done" && answer?.kind !== "refused") {
      return { kind: "in-doubt", attempt, reason: "the effect answered neither done nor refused" };
    }
    await atCrashPoint("item: effect done");
    try {
      await this.#log.append(
        answer.kind === "done"
          ? { ...entry, phase: "done" }
          : { ...entry, phase: "failed", reason: answer.reason },
      );
    } catch (error) {
      const word = answer.kind === "done" ? "it was done" : "it was refused";
      const reason = `${word}, and that could not be recorded: ${reasonOf(error)}`;
      return { kind: "in-doubt", attempt, reason };
    }
    await atCrashPoint("item: outcome recorded");
    return answer.kind === "done"
      ? { kind: "done", attempt }
      : { kind: "refused", attempt, reason: answer.reason };
  }

  /** The answer, or why there is none. */
  async #ask(open: readonly AttemptState[]): Promise<RecheckAnswer | string> {
    const { item, key } = this.#named;
    const doubt = doubtAbout(open);
    if (this.#options.recheck === undefined) return doubt;
    try {
      const answer = await this.#options.recheck(item, { key, attempts: open });
      return isOutcome(answer.outcome)
        ? answer
        : `${doubt}, and the answer about it was no outcome`;
    } catch (error) {
      return `${doubt}, and asking about it failed: ${reasonOf(error)}`;
    }
  }

  async #settle(open: readonly AttemptState[], answer: RecheckAnswer): Promise<void> {
    const { id, key } = this.#named;
    const unseen: AttemptState = { attempt: undefined };
    for (const { attempt, outcome } of open.length > 0 ? open : [unseen]) {
      // Asked again and still unknown: said once, or the log would grow with every retry.
      if (answer.outcome === "unknown" && outcome?.outcome === "unknown") continue;
      const number = attempt === undefined ? Number.NaN : Number(attempt);
      await this.#log.append({
        ...answer,
        phase: "settled",
        id,
        key,
        attempt: Number.isSafeInteger(number) && String(number) === attempt ? number : undefined,
      });
      await this.#options.atCrashPoint?.("item: doubt settled");
    }
  }
}

function isOutcome(word: string): word is EffectOutcome {
  return word === "done" || word === "failed" || word === "not-started" || word === "unknown";
}

function doubtAbout(open: readonly AttemptState[]): string {
  if (open.length === 0) return "a line of the log is no record, and may have been about it";
  const tried = open.map((one) => one.attempt ?? "without number").join(", ");
  return `attempt ${tried} was begun and no outcome is recorded: it may have happened`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
