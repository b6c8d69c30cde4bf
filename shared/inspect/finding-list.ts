import { limits } from "../base/limits.js";
import type { Finding, FindingKind } from "./finding.js";

/**
 * Findings of one file, no more of one kind than limits.findingsPerKindAndFileMax: what is beyond is counted in
 * the last one that is listed, so that a log of a million operations in doubt says how many they are.
 */
export class FindingList {
  private readonly byKind = new Map<FindingKind, { listed: Finding[]; count: number }>();

  add(...findings: readonly (Finding | undefined)[]): void {
    for (const finding of findings) {
      if (finding === undefined) continue;
      const group = this.byKind.get(finding.kind);
      if (group === undefined) this.byKind.set(finding.kind, { listed: [finding], count: 1 });
      else {
        group.count += 1;
        if (group.count <= limits.findingsPerKindAndFileMax) group.listed.push(finding);
      }
    }
  }

  all(): readonly Finding[] {
    return [...this.byKind.values()].flatMap(({ listed, count }) => {
      const last = listed.at(-1);
      const notListed = count - listed.length;
      if (last === undefined || notListed === 0) return listed;
      const says = `${last.says} ${notListed} more of this kind in this file are not listed.`;
      return [...listed.slice(0, -1), { ...last, says, facts: { ...last.facts, notListed } }];
    });
  }
}
