/**
 * One update of a run. The order of these steps is the guarantee: it was model-checked, and the test in
 * test/model explores it as it stands here. Change neither without the other.
 */
import { assertNever } from "../base/assert.js";
import { isLastgoodError } from "../base/errors.js";
import type { JsonPath } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { headKey, keptVersionKey, pendingKey, type RunName } from "../format/keys.js";
import { readRunDocument } from "../format/run-document.js";
import type { Etag, Key, Stored } from "../storage/object-store.js";
import { changedPaths } from "./dependencies.js";
import { newestWholeVersion, readKeptVersion } from "./history.js";
import type { HeldLease } from "./lease.js";
import { holdsUpdate } from "./ledger.js";
import { keepCommitted, keepVersion } from "./run-keep.js";
import { lookAtRun, type RunSight } from "./run-look.js";
import type { RunMeans } from "./run-means.js";
import type { Change, UpdateDoubt, UpdateOutcome, UpdateRequest } from "./run-outcomes.js";
import { tidyAfter } from "./run-tidy.js";
import {
  type ChangedDocument,
  changedDocument,
  judgeSight,
  type ReadyHead,
  sameBytes,
} from "./update-steps.js";

/** "again": somebody else moved something; look afresh. */
type StepOutcome = "again" | UpdateOutcome;
type ChangedBytes = Extract<ChangedDocument, { kind: "changed" }>;

interface OwnClaim {
  readonly key: Key;
  readonly etag: Etag;
}

/** Something of ours that may still become the head, as long as the head is the one it was made from. */
interface Doubt {
  readonly reason: UpdateDoubt;
  readonly base: Etag;
  readonly changed: ChangedBytes;
}

export interface UpdateTask {
  readonly run: RunName;
  readonly request: UpdateRequest;
  readonly dependencies: readonly JsonPath[];
  readonly change: Change;
  readonly lease: HeldLease | "none";
}

export class RunUpdate {
  readonly #means: RunMeans;
  readonly #task: UpdateTask;
  /** Digests of bytes that we claimed, so that we or a helper may have committed them: a head with one of them is our own success. */
  readonly #tried = new Set<string>();
  /** Digests of heads that we made visible and could not bring to the device. */
  readonly #unsynced = new Map<string, UpdateDoubt>();
  #doubt: Doubt | undefined;
  #movedPaths: readonly string[] = [];

  constructor(means: RunMeans, task: UpdateTask) {
    this.#means = means;
    this.#task = task;
  }

  async perform(): Promise<UpdateOutcome> {
    try {
      const outcome = await this.#attemptUntilSettled();
      const settled = outcome.kind === "applied" || outcome.kind === "already-applied";
      if (settled || this.#doubt === undefined || outcome.kind === "in-doubt") return outcome;
      return inDoubt(this.#doubt.reason, `the last look ended with ${outcome.kind}`);
    } catch (error) {
      // An error says that nothing has changed. While a commit is in doubt, that cannot be said.
      if (this.#doubt === undefined || !isLastgoodError(error)) throw error;
      return inDoubt(this.#doubt.reason, error.message);
    }
  }

  async #attemptUntilSettled(): Promise<UpdateOutcome> {
    const { updateAttemptsMax, pause, random } = this.#means;
    for (let attempt = 1; attempt <= updateAttemptsMax; attempt += 1) {
      const outcome = await this.#attempt();
      if (outcome !== "again") return outcome;
      // Jitter: two writers that met once would otherwise meet again, in step, for ever.
      const ceilingMs = Math.min(limits.updatePauseMsMax, 2 ** Math.min(attempt, 16));
      await pause(Math.floor(random() * ceilingMs));
    }
    return { kind: "gave-up", attempts: updateAttemptsMax };
  }

  async #attempt(): Promise<StepOutcome> {
    const { store, names, ledgerWindowCount } = this.#means;
    const { run } = this.#task;
    // 1. Look. Whatever is found half-done is finished, or named, before anything new is begun.
    await this.#means.atCrashPoint("look-begun");
    const sight = await lookAtRun(this.#means, run);
    await this.#means.atCrashPoint("looked");
    const verdict = judgeSight(sight, ledgerWindowCount, names);
    switch (verdict.kind) {
      case "head-torn":
        return { ...verdict, newestWhole: await newestWholeVersion(store, run, names) };
      case "head-missing":
        if ((await store.read(headKey(run))) !== "absent") return "again"; // it was just being created
        return { ...verdict, newestWhole: await newestWholeVersion(store, run, names) };
      case "looks-behind":
        if (await this.#hasMoved(sight)) return "again"; // an honest writer was between two of our reads
        return { ...verdict, kind: "head-behind" };
      case "version-fork":
        return verdict;
      case "keep-head":
        return this.#keepHead(verdict.head);
      case "torn-claim":
        return this.#setTornClaimAside(verdict.head, verdict.claim);
      case "finish-claim":
        return this.#finishClaim(verdict.head, verdict.claim);
      case "ready":
        return this.#changeHead(verdict.head, sight);
      default:
        return assertNever(verdict);
    }
  }

  async #hasMoved({ head }: RunSight): Promise<boolean> {
    const now = await this.#means.store.read(headKey(this.#task.run));
    return now === "absent" || head === "absent" || now.etag !== head.stored.etag;
  }

  async #keepHead({ document, stored }: ReadyHead): Promise<StepOutcome> {
    const kept = await keepVersion(
      this.#means.store,
      this.#task.run,
      document.version,
      stored.bytes,
    );
    await this.#means.atCrashPoint("head-kept");
    if (kept.kind !== "in-doubt") return "again"; // a fork is named by the next look
    const detail = `version ${document.version} stands in the head but could not be kept (${kept.reason})`;
    return inDoubt("version-not-kept", detail);
  }

  async #setTornClaimAside({ document, sha256 }: ReadyHead, claim: Stored): Promise<StepOutcome> {
    // Only the present holder: a former one could take away a claim that is being written anew.
    if ((await this.#leaseState()) === "lost") return { kind: "lease-lost" };
    const key = pendingKey(this.#task.run, document.version + 1, sha256);
    await this.#means.setAside(key, claim.bytes);
    await this.#means.store.remove(key, claim.etag);
    await this.#means.atCrashPoint("torn-claim-set-aside");
    return "again";
  }

  /** A writer stopped between claim and commit: its steps 5 and 6. Its claim is its word; nothing is decided anew. */
  async #finishClaim(head: ReadyHead, claim: Stored): Promise<StepOutcome> {
    const { store, sha256, atCrashPoint } = this.#means;
    const { run } = this.#task;
    const version = head.document.version + 1;
    if ((await this.#leaseState()) === "lost") return { kind: "lease-lost" };
    await atCrashPoint("help-lease-checked");
    const committed = await store.replace(headKey(run), claim.bytes, head.stored.etag);
    if (committed.kind === "in-doubt" && committed.reason !== "reply-lost") {
      this.#unsynced.set(sha256(claim.bytes), committed.reason);
    }
    // Not ours to take back: on a conflict its maker does, or it is a leftover of a head that is gone.
    if (committed.kind !== "written") return "again";
    await atCrashPoint("help-committed");
    const kept = await keepVersion(store, run, version, claim.bytes);
    if (kept.kind !== "kept") return "again";
    await atCrashPoint("help-kept");
    await store.remove(pendingKey(run, version, head.sha256), claim.etag);
    await atCrashPoint("help-claim-removed");
    return "again";
  }

  async #changeHead(head: ReadyHead, sight: RunSight): Promise<StepOutcome> {
    const { request, change } = this.#task;
    const { store, ledgerWindowCount: windowCount, names, atCrashPoint } = this.#means;
    // 2. Absorbed already? The window answers, and nothing is written.
    if (holdsUpdate(head.document.appliedIds, request.updateId))
      return this.#alreadyIn(head, sight);
    const late = await this.#settleDoubt(head);
    if (late !== undefined) return late;
    // 3. What the change was derived from: still true, or said to have moved.
    const refusal = await this.#checkInputs(head);
    if (refusal !== undefined) return refusal;
    const changed = changedDocument(head, request, change, { windowCount, names });
    if (changed.kind === "rejected") return { ...changed, kind: "input-rejected" };
    await atCrashPoint("change-made");
    // 4. Claim. It appears whole; of two writers that read one head, one makes it and the other sees it.
    const key = pendingKey(this.#task.run, changed.version, head.sha256);
    this.#tried.add(this.#means.sha256(changed.bytes)); // from here on it may be committed, by us or a helper
    const claimed = await store.replace(key, changed.bytes, "absent");
    if (claimed.kind === "conflict") return "again";
    if (claimed.kind === "in-doubt") {
      this.#doubt = { reason: claimed.reason, base: head.stored.etag, changed };
      return "again"; // it may be there, or still arrive; the next look finishes it like anybody's
    }
    await atCrashPoint("claimed");
    const claim = { key, etag: claimed.etag };
    try {
      return await this.#commit(head, sight, changed, claim);
    } catch (error) {
      if (!isLastgoodError(error)) throw error;
      // The claim would outlive the error, and the next writer would finish what we call failed.
      await this.#takeBackAfterError(head, changed, claim);
      throw error;
    }
  }

  async #commit(
    head: ReadyHead,
    sight: RunSight,
    changed: ChangedBytes,
    claim: OwnClaim,
  ): Promise<StepOutcome> {
    const { store, sha256, atCrashPoint } = this.#means;
    const { run } = this.#task;
    // A kept next version means that the head we read is history: our claim was made too late.
    if ((await store.read(keptVersionKey(run, changed.version))) !== "absent") {
      await this.#takeBack(head, changed, claim);
      return "again";
    }
    await atCrashPoint("next-version-looked-for");
    // 5. Commit. The lease right before the replace; the claim stays for whoever has taken over.
    if ((await this.#leaseState()) === "lost") return { kind: "lease-lost" };
    await atCrashPoint("lease-checked");
    const committed = await store.replace(headKey(run), changed.bytes, head.stored.etag);
    let etag: Etag;
    if (committed.kind === "written") {
      etag = committed.etag;
    } else if (committed.kind === "in-doubt") {
      this.#doubt = { reason: committed.reason, base: head.stored.etag, changed };
      if (committed.reason !== "reply-lost") {
        this.#unsynced.set(sha256(changed.bytes), committed.reason);
      }
      return "again"; // our id absent from the next look would not mean "not applied"
    } else {
      const settled = await this.#settleConflict(head, changed, claim);
      if (settled.kind !== "ours") return settled.outcome;
      etag = settled.etag;
    }
    await atCrashPoint("committed");
    // 6. Keep. Nothing is acknowledged before this file is durable.
    const kept = await keepCommitted(store, run, changed.version, changed.bytes);
    if (kept.kind === "fork") {
      const sign = { kind: "kept-version-differs" } as const;
      return { kind: "version-fork", version: changed.version, sign };
    }
    if (kept.kind !== "kept") {
      const detail = kept.kind === "refused" ? kept.message : kept.reason;
      return inDoubt("version-not-kept", detail);
    }
    await atCrashPoint("kept");
    return this.#applied({ version: changed.version, etag, bytes: changed.bytes }, sight, claim);
  }

  /** The conflict may be our own success, answered late or brought about by a helper: look for our id first. */
  async #settleConflict(
    head: ReadyHead,
    changed: ChangedBytes,
    claim: OwnClaim,
  ): Promise<
    { readonly kind: "ours"; readonly etag: Etag } | { readonly kind: "lost"; outcome: StepOutcome }
  > {
    const { store, names } = this.#means;
    const now = await store.read(headKey(this.#task.run));
    if (now !== "absent") {
      if (sameBytes(now.bytes, changed.bytes)) return { kind: "ours", etag: now.etag };
      const reading = readRunDocument(now.bytes, names);
      if (reading.kind === "run") {
        const { version: headVersion } = reading;
        const isIn = holdsUpdate(reading.appliedIds, this.#task.request.updateId);
        if (isIn) return { kind: "lost", outcome: "again" };
        // So many built on it since that the window has forgotten our id: the kept version has not.
        if (await this.#isKept(changed)) {
          return {
            kind: "lost",
            outcome: { kind: "already-applied", headVersion, etag: now.etag },
          };
        }
      }
    }
    await this.#takeBack(head, changed, claim);
    return { kind: "lost", outcome: "again" };
  }

  async #isKept(changed: ChangedBytes): Promise<boolean> {
    const kept = await this.#means.store.read(keptVersionKey(this.#task.run, changed.version));
    return kept !== "absent" && sameBytes(kept.bytes, changed.bytes);
  }

  /**
   * A head that does not hold our id: what was in doubt is settled if the head has moved on, because a late
   * write of ours was bound to the head before. The same head leaves it in doubt.
   */
  async #settleDoubt({ document, stored }: ReadyHead): Promise<UpdateOutcome | undefined> {
    if (this.#doubt === undefined || this.#doubt.base === stored.etag) return undefined;
    if (await this.#isKept(this.#doubt.changed)) {
      return { kind: "already-applied", headVersion: document.version, etag: stored.etag };
    }
    this.#doubt = undefined;
    return undefined;
  }

  async #alreadyIn(head: ReadyHead, sight: RunSight): Promise<UpdateOutcome> {
    const { document, stored, sha256 } = head;
    const unsynced = this.#unsynced.get(sha256);
    if (unsynced !== undefined) {
      return inDoubt(unsynced, "the change is visible, but perhaps not after a power loss");
    }
    if (!this.#tried.has(sha256)) {
      return { kind: "already-applied", headVersion: document.version, etag: stored.etag };
    }
    const own = { version: document.version, etag: stored.etag, bytes: stored.bytes };
    return this.#applied(own, sight, undefined);
  }

  async #applied(
    own: { readonly version: number; readonly etag: Etag; readonly bytes: Uint8Array },
    sight: RunSight,
    claim: OwnClaim | undefined,
  ): Promise<UpdateOutcome> {
    const { run, request } = this.#task;
    const inUse = request.basedOn === undefined ? [] : [request.basedOn];
    const tidying = await tidyAfter(this.#means, { run, ...own, claim, kept: sight.kept, inUse });
    const { version, etag } = own;
    return { kind: "applied", version, etag, movedPaths: this.#movedPaths, tidying };
  }

  async #checkInputs({ document }: ReadyHead): Promise<UpdateOutcome | undefined> {
    const { dependencies, request, run } = this.#task;
    const { basedOn: readVersion, onStale } = request;
    this.#movedPaths = [];
    const headVersion = document.version;
    if (readVersion === undefined || dependencies.length === 0 || readVersion === headVersion) {
      return undefined;
    }
    const { store, names } = this.#means;
    const base = await readKeptVersion(store, run, readVersion, names);
    if (base.kind !== "whole" || readVersion > headVersion) {
      return { kind: "base-unknown", readVersion, headVersion };
    }
    const moved = changedPaths(base.document.value, document.value, dependencies);
    if (moved.length > 0 && onStale === "refuse") {
      return { kind: "stale-inputs", readVersion, headVersion, changedPaths: moved };
    }
    this.#movedPaths = moved;
    return undefined;
  }

  async #takeBack(head: ReadyHead, changed: ChangedBytes, claim: OwnClaim): Promise<void> {
    // Conditional on our own bytes: under this name somebody else's claim may stand by now.
    const removed = await this.#means.store.remove(claim.key, claim.etag);
    if (removed.kind !== "in-doubt") return;
    this.#doubt = { reason: "claim-left", base: head.stored.etag, changed };
  }

  async #takeBackAfterError(
    head: ReadyHead,
    changed: ChangedBytes,
    claim: OwnClaim,
  ): Promise<void> {
    const doubt = { reason: "claim-left", base: head.stored.etag, changed } as const;
    try {
      const removed = await this.#means.store.remove(claim.key, claim.etag);
      // "conflict": a helper may have finished and removed it while our own commit was refused.
      if (removed.kind !== "removed") this.#doubt ??= doubt;
    } catch (error) {
      if (!isLastgoodError(error)) throw error;
      this.#doubt ??= doubt;
    }
  }

  async #leaseState(): Promise<"held" | "lost"> {
    return this.#task.lease === "none" ? "held" : this.#task.lease.check();
  }
}

function inDoubt(reason: UpdateDoubt, detail: string): UpdateOutcome {
  return { kind: "in-doubt", reason, detail };
}
