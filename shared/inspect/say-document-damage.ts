/** The sentences of document damage: subject first, nothing promised beyond what was checked. */
import { assertNever, invariant } from "../base/assert.js";
import { limits } from "../base/limits.js";
import type { DocumentDamage } from "./diagnose-document.js";
import type { Finding } from "./finding.js";
import { countedFact as counted } from "./show-value.js";

type Said = Pick<Finding, "says" | "next"> & Partial<Pick<Finding, "why" | "likelyCause">>;

/** Where a cut lies, as a sentence says it; the report's `where` keeps its fixed words. */
export function sayWhere(where: string | undefined): string {
  if (where === undefined) return "between tokens";
  const [place = "", ...thing] = where.split(" ");
  const article = thing[0] === "escape" || thing[0] === "open" ? "an" : "a";
  const inside = thing[0] === "escape" || thing[0] === "character" ? " of the string" : "";
  return `${place} ${article} ${thing.join(" ")}${inside}`;
}

const suspected = (says: string) => ({ says, certainty: "suspected" as const });

export function sayDocumentDamage(name: string, damage: DocumentDamage): Said {
  const at = damage.at.byteOffset;
  const { facts } = damage;
  const bytes = facts.fileBytes;
  const length = facts.length;
  switch (damage.kind) {
    case "truncated":
      return truncated(name, damage);
    case "empty":
      return {
        says: `${name} has zero bytes; a run document is never empty.`,
        why: "Whether it once held something cannot be told from the file alone.",
        likelyCause: suspected(
          "the file was cut to nothing for rewriting, or created and never written",
        ),
        next: ["find out whether this was the first run before treating it as new"],
      };
    case "blank":
      return {
        says: `${name} holds only white space (${counted(bytes, "byte")}).`,
        next: [
          "find out who emptied it; where absent and empty mean the same, write {} or remove it",
        ],
      };
    case "all-nul":
      return {
        says: `${name} has its size, but each of its ${length} bytes is NUL: the contents are gone.`,
        why: "A size can reach the disk before the contents do, so the size proves nothing.",
        likelyCause: suspected(
          "power was lost, or a machine froze, before the contents were synced",
        ),
        next: ["keep the file as evidence"],
      };
    case "nul-padding":
      return nulPadding(name, damage);
    case "nul-run":
      return {
        says: `${name} has ${length} NUL bytes from byte ${at} (${damage.where ?? "between tokens"}).`,
        why: "What stood there is gone; the bytes around it are as written.",
        likelyCause: suspected("a block whose size was recorded and whose contents were not"),
        next: ["compare with an older copy to see what stood there"],
      };
    case "nul-scattered":
      return {
        says: `${name} has ${counted(facts.count, "single NUL byte")} in its strings, the first at byte ${at}.`,
        why: "Brackets and keys are whole; only the values that hold the NUL bytes are unsure.",
        next: ["restore those values from an older copy or by hand; the rest can be read"],
      };
    case "old-tail":
      return {
        says: `${name} holds a whole document up to byte ${at}, then ${counted(length, "byte")} that ${length === 1 ? "does" : "do"} not belong to it.`,
        why: "The first document closes by itself; what follows is no document.",
        likelyCause: suspected(
          "a shorter version was written over a longer one without cutting the file",
        ),
        next: [
          `keep bytes 0 to ${damage.itself?.to ?? at}, after a copy of the whole file is set aside`,
          "look whether the rest holds something newer from another writer",
        ],
      };
    case "concatenated-documents":
      return {
        says: `${name} holds ${facts.documents} whole documents in a row; the second begins behind byte ${at}.`,
        why: Array.isArray(facts.versions)
          ? `They say they are versions ${facts.versions.join(", ")}; whether the file was meant to hold the last of them, the bytes cannot tell.`
          : "Which of them is the newer one cannot be told from the bytes.",
        likelyCause: suspected("a save was appended instead of replacing the file"),
        next: ["compare the documents with the log or the kept versions, then choose one"],
      };
    case "foreign-html":
      return {
        says: `${name} holds an HTML or XML page, not JSON.`,
        likelyCause: suspected("a server's error page was stored without a look at its status"),
        next: ["fetch the document again, checking status and type before saving"],
      };
    case "foreign-gzip":
      return {
        says: `${name} holds a gzip stream, not JSON text.`,
        why: "The first bytes are 1f 8b. Nothing is said here about what is inside.",
        likelyCause: suspected("a compressed response was stored as it came"),
        next: ["unpack a copy and scan that"],
      };
    case "foreign-zip":
      return {
        says: `${name} holds a zip archive, not JSON text.`,
        next: ["unpack a copy and scan that"],
      };
    case "foreign-text-before":
    case "stray-prefix":
      return {
        says: `${name} has ${counted(length, "byte")} of other text before its document, which starts at byte ${facts.documentStartsAt}.`,
        likelyCause: suspected(
          damage.kind === "stray-prefix"
            ? "a key press in an editor"
            : "another program's output went to the same file",
        ),
        next: ["drop those bytes, after a copy of the whole file is set aside"],
      };
    case "conflict-markers":
      return {
        says: `${name} holds an unresolved merge; the first marker is at byte ${at}, line ${damage.at.line}.`,
        why: "Both sides are there; neither may be chosen silently.",
        next: ["choose a side by hand, knowing what each says"],
      };
    case "bom":
      return {
        says: `${name} begins with a UTF-8 byte order mark (3 bytes).`,
        why: "Strict readers refuse the first byte; nothing of the contents is lost.",
        next: ["remove the 3 bytes, and tell the writer to write plain UTF-8"],
      };
    case "utf16":
      return {
        says: `${name} is text in ${String(facts.encoding).toUpperCase()}, not UTF-8${facts.contentWhole === true ? "; its contents are whole" : ", and its contents are not whole"}.`,
        likelyCause: suspected("a shell redirect encoded a program's output anew"),
        next: ["convert a copy to UTF-8"],
      };
    case "invalid-utf8":
      return {
        says: `${name} has ${counted(facts.count, "place")} that ${facts.count === 1 ? "is" : "are"} not UTF-8, the first at byte ${at}.`,
        why: "The structure is whole; the characters at those places are unknown.",
        next: ["find out the writer's encoding, or restore those values from an older copy"],
      };
    case "lone-surrogate":
      return {
        says: `${name} has half a surrogate pair as an escape at byte ${at}${inPath(damage)}.`,
        why: "Lenient parsers take it; a strict service refuses the whole text.",
        next: ["replace that one escape by \\ufffd in a copy, and note which value was touched"],
      };
    case "nonstandard-number":
      return {
        says: `${name} has ${counted(facts.count, "number")} that JSON does not have (NaN or Infinity), the first at byte ${at}.`,
        why: "The file is whole in the dialect of its writer; strict parsers refuse it.",
        next: ["read it with null in their place, and mend the writer"],
      };
    case "duplicate-key":
      return {
        says: `${name} has the same key twice in one object: ${damage.path ?? "$"}, the second at byte ${at}.`,
        why: "Common parsers keep the last value and drop the first without a word.",
        next: ["compare both values and merge them by hand"],
      };
    case "trailing-comma":
      return {
        says: `${name} has a comma before a closing bracket at byte ${at}${more(facts.count)}.`,
        why: "No value is missing; strict parsers refuse the file.",
        next: ["remove the comma"],
      };
    case "comments":
      return {
        says: `${name} holds ${counted(facts.count, "comment")}, the first at byte ${at}.`,
        why: "JSON has none; this is a dialect with comments.",
        next: ["read it with a parser for that dialect"],
      };
    case "too-deep":
      return {
        says: `${name} nests ${facts.depth} levels deep: read to its end, but too deep to show.`,
        next: ["find out what wrote it; recursive readers will run out of stack"],
      };
    case "syntax":
      return {
        says: `${name} stops being JSON at byte ${at} (line ${damage.at.line}): ${foundText(facts.found)} stands where ${String(facts.expected ?? "the end")} should.`,
        why: "The bytes before that place are not thereby trustworthy.",
        next: ["compare with an older copy"],
      };
    default:
      invariant(false, `no sentence for ${damage.kind}`);
      return assertNever(damage.kind as never);
  }
}

function truncated(name: string, damage: DocumentDamage): Said {
  const at = damage.at.byteOffset;
  const bytes = damage.facts.fileBytes;
  const place =
    at === bytes
      ? `at its end, byte ${at}, ${sayWhere(damage.where)}`
      : `${sayWhere(damage.where)} that begins at byte ${at} of ${bytes}`;
  return {
    says: `${name} stops ${place}.`,
    why: `${openBrackets(damage)}${inPath(damage)}. The value at the cut is never taken as whole.`,
    likelyCause: suspected("the file was rewritten in place and the write did not finish"),
    next: ["keep the torn bytes: they may name outputs that no older copy knows"],
  };
}

function nulPadding(name: string, damage: DocumentDamage): Said {
  const { facts } = damage;
  const whole = damage.itself !== undefined;
  return {
    says: `${name} is ${facts.length} NUL bytes from byte ${damage.at.byteOffset} to its end${whole ? ", behind a whole document" : `; the text before them stops ${sayWhere(damage.where)}`}.`,
    why: whole
      ? "The document before the NUL bytes closes by itself."
      : `${openBrackets(damage)} where the NUL bytes begin.`,
    likelyCause: suspected("the size was recorded and the last contents were not"),
    next: whole
      ? ["cut the NUL bytes, after a copy is set aside"]
      : ["what stands before the NUL bytes can be read"],
  };
}

function inPath(damage: DocumentDamage): string {
  const { path } = damage;
  if (path === undefined || path === "$") return "";
  return path.length > limits.pathLettersSaidMax
    ? ` at ${path.slice(0, limits.pathLettersSaidMax)} …`
    : ` at ${path}`;
}

function more(count: unknown): string {
  return typeof count === "number" && count > 1 ? ` and ${count - 1} more` : "";
}

function foundText(found: unknown): string {
  if (typeof found !== "number") return "something else";
  if (found > 0x20 && found < 0x7f) return `"${String.fromCharCode(found)}"`;
  return `byte 0x${found.toString(16).padStart(2, "0")}`;
}

function openBrackets(damage: DocumentDamage): string {
  const { openDepth } = damage.facts;
  if (openDepth === 0) return "No bracket is open";
  return openDepth === 1 ? "1 bracket is still open" : `${openDepth} brackets are still open`;
}
