/** What was looked at and what was not: kept apart from the findings, because unknown is never drawn as ok. */

import { limits } from "../../shared/base/limits.js";
import { grouped } from "../../shared/base/text.js";
import type { Coverage } from "../../shared/inspect/report.js";

export class CoverageRecord {
  private readonly skips = new Map<string, { paths: string[]; count: number }>();
  private readonly unknowns = new Set<string>();
  private filesCount = 0;
  private bytesCount = 0;

  lookedAt(bytes: number): void {
    this.filesCount += 1;
    this.bytesCount += bytes;
  }

  skip(path: string, reason: string, count = 1): void {
    const row = this.skips.get(reason) ?? { paths: [], count: 0 };
    this.skips.set(reason, row);
    if (row.paths.length < limits.skippedNamedMax) row.paths.push(path);
    row.count += count;
  }

  /** A sentence about what could not be known. */
  unknown(says: string): void {
    this.unknowns.add(says);
  }

  finish(): Coverage {
    return {
      files: this.filesCount,
      bytes: this.bytesCount,
      skipped: [...this.skips].flatMap(([reason, row]) => skippedRows(reason, row)),
      unknown: [...this.unknowns],
    };
  }
}

/** Each named path is one row; the last one stands for all that are not named. */
function skippedRows(
  reason: string,
  row: { readonly paths: readonly string[]; readonly count: number },
): Coverage["skipped"] {
  return row.paths.map((path, i) => {
    const count = i === row.paths.length - 1 ? row.count - i : 1;
    return count === 1 ? { path, reason } : { path, reason, count };
  });
}

export function sayFilesLimit(): string {
  return `Only the first ${grouped(limits.scanFilesMax)} files were looked at; name a folder inside to see the rest.`;
}
