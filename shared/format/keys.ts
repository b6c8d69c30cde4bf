/**
 * The names around a run and a log: built here, and read back here, so that a writer and an inspector can
 * never disagree about them.
 *
 *   runs/run_9d4a.json                                  run document (head)
 *   runs/run_9d4a/v61.json                              kept version
 *   runs/run_9d4a/v62.pending.0123456789abcdef.json     claim: version 62, made from the head with that sha256
 *   runs/run_9d4a.lease.json                            lease of the run; checkpoint.lease.json that of the log
 *   runs/run_9d4a.lease.7.2.json                        lease as granted under token 7, renewal 2
 *   runs/checkpoint.7.superseded.jsonl                  the log's old file after a takeover under token 7
 *   runs/checkpoint/000000017.jsonl                     segment of a log in a bucket
 */

/** A run is named by its head's key without `.json`: `runs/run_9d4a`. */
export type RunName = string;

export type KeyMeaning =
  | { readonly kind: "kept-version"; readonly run: RunName; readonly version: number }
  | {
      readonly kind: "pending";
      readonly run: RunName;
      readonly version: number;
      readonly base: string;
    }
  /** `target` is what the lease is for, without its extension: a run's name, or a log's. */
  | { readonly kind: "lease"; readonly target: string }
  | {
      readonly kind: "lease-grant";
      readonly target: string;
      readonly token: number;
      readonly renewal: number;
    }
  | { readonly kind: "superseded-log"; readonly log: string; readonly token: number }
  | { readonly kind: "log-segment"; readonly log: string; readonly number: number }
  /** A file of ours that a write had not yet moved to its name; `target` is that name's key. */
  | { readonly kind: "staged"; readonly target: string }
  | { readonly kind: "log"; readonly log: string }
  /** May be a run document; only its content tells. */
  | { readonly kind: "document"; readonly run: RunName }
  | { readonly kind: "other" };

/** Hex digits of the head's sha256 in the name of a claim: enough to tell any two heads of one run apart. */
const baseDigits = 16;
const segmentDigits = 9;

export function headKey(run: RunName): string {
  return `${run}.json`;
}

export function keptVersionKey(run: RunName, version: number): string {
  return `${run}/v${version}.json`;
}

/** `baseSha256`: of the head's bytes the claim was made from, in lower-case hex. */
export function pendingKey(run: RunName, version: number, baseSha256: string): string {
  return `${run}/v${version}.pending.${baseSha256.slice(0, baseDigits)}.json`;
}

/** Where kept versions and claims of a run stand. */
export function versionsPrefix(run: RunName): string {
  return `${run}/v`;
}

export function leaseKey(target: string): string {
  return `${target}.lease.json`;
}

export function leaseGrantKey(target: string, token: number, renewal: number): string {
  return `${target}.lease.${token}.${renewal}.json`;
}

export function supersededLogKey(log: string, token: number): string {
  return `${log}.${token}.superseded.jsonl`;
}

export function logSegmentKey(log: string, number: number): string {
  return `${log}/${String(number).padStart(segmentDigits, "0")}.jsonl`;
}

/** Bytes set aside: named by time and content, so that the same bytes set aside twice at once are one object. */
export function evidenceKey(
  folder: string,
  setAsideAtMs: number,
  sha256: string,
  key: string,
): string {
  const name = key.slice(key.lastIndexOf("/") + 1);
  return `${folder}/${setAsideAtMs}-${sha256.slice(0, baseDigits)}-${name}`;
}

const count = "(0|[1-9][0-9]{0,14})";
const shapes: readonly {
  readonly pattern: RegExp;
  readonly meaning: (groups: readonly string[]) => KeyMeaning;
}[] = [
  {
    pattern: new RegExp(`^(.+)/v${count}\\.json$`, "s"),
    meaning: ([run = "", version]) => ({ kind: "kept-version", run, version: Number(version) }),
  },
  {
    pattern: new RegExp(`^(.+)/v${count}\\.pending\\.([0-9a-f]{${baseDigits}})\\.json$`, "s"),
    meaning: ([run = "", version, base = ""]) => ({
      kind: "pending",
      run,
      version: Number(version),
      base,
    }),
  },
  {
    pattern: /^(.+)\.lease\.json$/s,
    meaning: ([target = ""]) => ({ kind: "lease", target }),
  },
  {
    pattern: new RegExp(`^(.+)\\.lease\\.${count}\\.${count}\\.json$`, "s"),
    meaning: ([target = "", token, renewal]) => ({
      kind: "lease-grant",
      target,
      token: Number(token),
      renewal: Number(renewal),
    }),
  },
  {
    pattern: new RegExp(`^(.+)\\.${count}\\.superseded\\.jsonl$`, "s"),
    meaning: ([log = "", token]) => ({ kind: "superseded-log", log, token: Number(token) }),
  },
  {
    pattern: new RegExp(`^(.+)/([0-9]{${segmentDigits}})\\.jsonl$`, "s"),
    meaning: ([log = "", number]) => ({ kind: "log-segment", log, number: Number(number) }),
  },
  {
    pattern: /^(.*\/)?\.([^/]+)\.(?:[0-9a-f]{16}|take-over-[0-9]+)\.tmp$/s,
    meaning: ([folder = "", name = ""]) => ({ kind: "staged", target: folder + name }),
  },
  { pattern: /^(.+)\.jsonl$/s, meaning: ([log = ""]) => ({ kind: "log", log }) },
  { pattern: /^(.+)\.json$/s, meaning: ([run = ""]) => ({ kind: "document", run }) },
];

/** What a key means by its name alone. Any text is answered; numbers are read only as we write them. */
export function readKey(key: string): KeyMeaning {
  for (const { pattern, meaning } of shapes) {
    const match = pattern.exec(key);
    if (match !== null) return meaning(match.slice(1));
  }
  return { kind: "other" };
}

/** Why a run cannot have this name; undefined when it can. A head must not be named like one of its neighbours. */
export function runNameRefusal(run: RunName): string | undefined {
  if (run === "" || run.endsWith("/")) return "a run needs a name";
  const meaning = readKey(headKey(run)).kind;
  return meaning === "document" ? undefined : `${headKey(run)} would be read as a ${meaning}`;
}
