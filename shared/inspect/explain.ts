/** `lastgood explain KIND`: what each finding kind means, where it comes from, what to look at, what to do. */
import { documentRows } from "./explain-document.js";
import { logRows } from "./explain-log.js";
import { stateRows } from "./explain-state.js";
import type { ExplanationRow } from "./explanation-row.js";
import type { FindingKind } from "./finding.js";

export interface Explanation {
  readonly title: string;
  readonly meaning: string;
  readonly cause: string;
  readonly lookAt: string;
  readonly doNext: string;
}

/** A kind without an explanation does not compile. */
const rows: Readonly<Record<FindingKind, ExplanationRow>> = {
  ...documentRows,
  ...logRows,
  ...stateRows,
};

export function explainKind(kind: FindingKind): Explanation {
  const [title, meaning, cause, lookAt, doNext] = rows[kind];
  return { title, meaning, cause, lookAt, doNext };
}
