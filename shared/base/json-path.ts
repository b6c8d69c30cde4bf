/**
 * One grammar of paths everywhere: `$.tasks[4].note`, `tasks[*].status`, keys with other letters as `["a.b"]`.
 * The leading `$.` may be left out on input and stands on output.
 */
export type PathStep =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "each" };

export type JsonPath = readonly PathStep[];

export type ParsedPath =
  | { readonly kind: "path"; readonly path: JsonPath }
  | { readonly kind: "rejected"; readonly reason: string };

const plainKey = /^[\p{L}_$@-][\p{L}\p{N}_$@-]*$/u;

export function keyStep(key: string): PathStep {
  return { kind: "key", key };
}

export function indexStep(index: number): PathStep {
  return { kind: "index", index };
}

/** `$.tasks[4].note`; the root is `$`. */
export function formatPath(path: JsonPath): string {
  let text = "$";
  for (const step of path) text += formatStep(step);
  return text;
}

function formatStep(step: PathStep): string {
  if (step.kind === "index") return `[${step.index}]`;
  if (step.kind === "each") return "[*]";
  return plainKey.test(step.key) ? `.${step.key}` : `[${JSON.stringify(step.key)}]`;
}

/** Reads the grammar above; any text is answered. A bare `$` or an empty text is the root. */
export function parsePath(text: string): ParsedPath {
  const steps: PathStep[] = [];
  let at =
    text.startsWith("$") && (text.length === 1 || text[1] === "." || text[1] === "[") ? 1 : 0;
  let first = at === 0;
  while (at < text.length) {
    if (text[at] === "[") {
      const bracket = readBracket(text, at);
      if (bracket === undefined) return rejected(text, at, 'a bracket holds [N], [*] or ["key"]');
      steps.push(bracket.step);
      at = bracket.end;
    } else {
      if (text[at] === ".") at += 1;
      else if (!first) return rejected(text, at, "expected . or [");
      const from = at;
      while (at < text.length && text[at] !== "." && text[at] !== "[") at += 1;
      if (at === from) return rejected(text, at, "a key is missing");
      steps.push(keyStep(text.slice(from, at)));
    }
    first = false;
  }
  return { kind: "path", path: steps };
}

function rejected(text: string, at: number, reason: string): ParsedPath {
  return { kind: "rejected", reason: `${JSON.stringify(text)} at character ${at + 1}: ${reason}` };
}

function readBracket(text: string, open: number): { step: PathStep; end: number } | undefined {
  if (text[open + 1] === '"') return readQuoted(text, open);
  const close = text.indexOf("]", open);
  if (close < 0) return undefined;
  const inside = text.slice(open + 1, close);
  if (inside === "*") return { step: { kind: "each" }, end: close + 1 };
  if (!/^(0|[1-9][0-9]{0,14})$/.test(inside)) return undefined;
  return { step: indexStep(Number(inside)), end: close + 1 };
}

function readQuoted(text: string, open: number): { step: PathStep; end: number } | undefined {
  let at = open + 2;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  if (text[at] !== '"' || text[at + 1] !== "]") return undefined;
  try {
    return { step: keyStep(JSON.parse(text.slice(open + 1, at + 1)) as string), end: at + 2 };
  } catch {
    return undefined;
  }
}

/** True when `concrete` (no `[*]`) is reached by `pattern`, exactly or as a place below it. */
export function pathCovers(pattern: JsonPath, concrete: JsonPath): boolean {
  if (concrete.length < pattern.length) return false;
  return pattern.every((step, i) => {
    const other = concrete[i];
    if (other === undefined) return false;
    if (step.kind === "each") return other.kind === "index" || other.kind === "each";
    if (step.kind === "index") return other.kind === "index" && other.index === step.index;
    return other.kind === "key" && other.key === step.key;
  });
}
