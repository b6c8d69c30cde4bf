/**
 * Text from scanned bytes made fit to be shown. A file name or a value may hold escape sequences that rewrite a
 * terminal, or letters that turn the reading direction around: they are shown, never sent.
 */

/**
 * Controls, line separators, invisible and direction-changing characters, tag characters, lone surrogates.
 * Joiners (U+200C, U+200D) stay: scripts and emoji need them, and alone they move nothing.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu;

const shortNames: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** One line of text that is safe to print: `\n`, `\x1b`, `\u{202e}` stand for what must not be sent. */
export function visibleText(text: string): string {
  return text.replace(unsafe, (character) => {
    const short = shortNames[character];
    if (short !== undefined) return short;
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    return code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
  });
}

/**
 * JSON of any plain value, in ASCII-safe form where a terminal could be misled: the same value for a parser,
 * nothing to obey for a terminal.
 */
export function safeJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** East Asian wide and full-width letters, and emoji: two columns each in a terminal. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const zeroWidth = /\p{Mn}|\p{Me}|\u200c|\u200d/u;

/** Columns that the text takes in a terminal. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOfOne(character);
  return columns;
}

function columnsOfOne(character: string): number {
  if (character < "\u0300") return 1;
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Cut to at most `columnsMax` columns; an ellipsis stands where something was left out. */
export function clipToColumns(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text;
  return `${beginning(text, Math.max(0, columnsMax - 1))}…`;
}

function beginning(text: string, columnsMax: number): string {
  let end = 0;
  let columns = 0;
  for (const character of text) {
    columns += columnsOfOne(character);
    if (columns > columnsMax) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Padded with spaces on the right, counted in columns. */
export function padToColumns(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - columnsOf(text)));
}

/** Lines of at most `columnsMax` columns, broken between words; a word longer than a line is broken inside. */
export function wrapWords(text: string, columnsMax: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (columnsOf(joined) <= columnsMax) {
      line = joined;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (columnsOf(line) > columnsMax) {
      const part = beginning(line, columnsMax) || line.slice(0, 1);
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  if (line !== "" || lines.length === 0) lines.push(line);
  return lines;
}

/** "1 error", "2 errors", "12,345 bytes". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** 12,345,678 */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
