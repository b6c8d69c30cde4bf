/** Files that could not be judged: refused, too large, or never still. None of them is thereby damaged. */
import { limits } from "../../base/limits.js";
import type { ObservedFile } from "../evidence.js";
import type { EvidenceIndex } from "../evidence-index.js";
import type { Finding } from "../finding.js";

export function unreadable(index: EvidenceIndex): readonly Finding[] {
  return index.evidence.files.flatMap((file) => {
    const { content } = file;
    if (content.kind === "unreadable") return [refused(file, content.errno, content.says)];
    if (content.kind === "too-large") return [tooLarge(file, content.bytes)];
    if (content.kind === "changing") return [changing(file, content.bytes, content.firstBytes)];
    return [];
  });
}

function refused(file: ObservedFile, errno: string, because: string): Finding {
  return {
    kind: "unreadable",
    severity: "error",
    certainty: "proved",
    root: file.root,
    file: file.path,
    facts: { errno },
    says: `${file.path} cannot be read: ${because} (${errno}).`,
    why: "Nothing is known about its bytes; they may be whole.",
    next: [
      errno === "EACCES" || errno === "EPERM"
        ? "set owner or mode so that this user may read it, then scan again"
        : "look at the file system, then scan again",
    ],
    health: "unreadable",
  };
}

function tooLarge(file: ObservedFile, bytes: number): Finding {
  return {
    kind: "too-large",
    severity: "error",
    certainty: "proved",
    root: file.root,
    file: file.path,
    facts: { fileBytes: bytes, limitBytes: limits.documentBytesMax },
    says: `${file.path} has ${bytes} bytes; a document above ${limits.documentBytesMax} bytes is not diagnosed.`,
    next: [
      "if it is a log under a document's name, say so in the context file (role log): logs have no limit",
    ],
    health: "limit",
  };
}

function changing(file: ObservedFile, bytes: number, firstBytes: number): Finding {
  return {
    kind: "changed-while-read",
    severity: "warning",
    certainty: "proved",
    root: file.root,
    file: file.path,
    facts: { fileBytes: bytes, firstBytes },
    says: `${file.path} changed at every look (${firstBytes} bytes, then ${bytes}): something is writing it.`,
    why: "What was read may be parts of two versions, so it is not judged.",
    next: ["scan again when its writer is still, or stop the writer first"],
    health: "suspect",
  };
}
