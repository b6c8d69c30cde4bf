/** Which operation each key of a log stood for, and under which keys each operation was tried. */
import { limits } from "../base/limits.js";
import type { FoldRecord, ItemFold } from "../format/item-state.js";
import type { RecordRead, SharedKey, UnstableKey } from "./log-facts.js";

interface TriedKey {
  readonly key: string;
  /** NaN where attempts have no numbers. */
  readonly attempt: number;
  readonly line: number;
}

export class KeyUse {
  readonly shared: SharedKey[] = [];
  private readonly openOfItem = new Map<string, TriedKey>();
  private readonly endedOfItem = new Map<string, TriedKey>();
  private readonly operationOfKey = new Map<string, string>();
  private readonly unstableKeys = new Map<string, UnstableKey>();

  unstable(): readonly UnstableKey[] {
    return [...this.unstableKeys.values()];
  }

  /**
   * A key belongs to one operation: another item or operation under it defeats it. Such a record is followed under a
   * name of its own, so that two operations are never taken for one that was done twice.
   */
  ownKey(
    record: RecordRead,
    item: string,
    key: string,
    phase: FoldRecord["phase"],
    fold: ItemFold,
    hasIntents: boolean,
  ): string {
    const { operation } = record.fields;
    const other = fold.itemOfKey(key);
    const said = this.operationOfKey.get(key);
    const begins = phase === "intent" || (phase === "done" && !hasIntents);
    const isOtherItem = other !== undefined && other !== item;
    const isOtherOperation = said !== undefined && operation !== undefined && said !== operation;
    if (!isOtherItem && !isOtherOperation) {
      if (begins && said === undefined && operation !== undefined)
        this.remember(this.operationOfKey, key, operation);
      return key;
    }
    const name = `${key} (${isOtherItem ? item : operation})`;
    // The word beside an outcome may name the step and not the operation; only what was begun defeats a key.
    if (!isOtherItem && !begins && fold.itemOfKey(name) === undefined) return key;
    if (fold.itemOfKey(name) === undefined) {
      const operations = isOtherItem ? undefined : ([said ?? "", operation ?? ""] as const);
      this.addSharedKey(key, [other ?? item, item], operations, record.line, fold);
    }
    return name;
  }

  private addSharedKey(
    key: string,
    items: SharedKey["items"],
    operations: SharedKey["operations"],
    line: number,
    fold: ItemFold,
  ): void {
    const owner = fold.withKey(key);
    if (owner === undefined || this.shared.length >= limits.findingsPerKindAndFileMax) return;
    const first = owner.attempts[0]?.intent ?? owner.dones[0];
    this.shared.push({ key, items, operations, lines: [first?.line ?? 0, line] });
  }

  /** A retry under another key than a try before it, unless that one failed for certain. */
  add(record: RecordRead, item: string, key: string, phase: FoldRecord["phase"]): void {
    const place = `${record.fields.operation ?? ""}\u0000${item}`;
    const open = this.openOfItem.get(place);
    const ended = this.endedOfItem.get(place);
    if (phase === "failed" && open?.key === key) this.openOfItem.delete(place);
    if (phase === "done" && open?.key === key) {
      this.openOfItem.delete(place);
      this.remember(this.endedOfItem, place, open);
    }
    if (phase !== "intent") return;
    const attempt = Number(record.fields.attempt ?? Number.NaN);
    const { line } = record;
    const before = open ?? ended;
    const isNext = before !== undefined && attempt > before.attempt;
    if (
      before !== undefined &&
      before.key !== key &&
      (isNext || (open !== undefined && attempt > 1))
    )
      this.unstableKey(place, item, before, { key, line });
    if (open !== undefined || this.openOfItem.size < limits.logMemoryCount)
      this.openOfItem.set(place, { key, attempt, line });
  }

  private unstableKey(
    place: string,
    item: string,
    before: { key: string; line: number },
    now: { key: string; line: number },
  ): void {
    const known = this.unstableKeys.get(place);
    if (known === undefined && this.unstableKeys.size >= limits.findingsPerKindAndFileMax) return;
    const keys = [...(known?.keys ?? [before.key]), now.key].slice(0, limits.itemStateEntriesMax);
    const lines = [...(known?.lines ?? [before.line]), now.line].slice(0, keys.length);
    this.unstableKeys.set(place, { item, keys, lines });
  }

  /** Keeps the latest; the oldest is forgotten. */
  private remember<V>(into: Map<string, V>, name: string, value: V): void {
    into.delete(name);
    if (into.size >= limits.endedKeysRememberedMax) {
      const [oldest] = into.keys();
      if (oldest !== undefined) into.delete(oldest);
    }
    into.set(name, value);
  }
}
