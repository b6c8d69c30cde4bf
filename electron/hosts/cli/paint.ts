/** Colour as a second sign beside the word, never the only one. */
import type { Severity } from "../../../shared/inspect/finding.js";

export interface Paint {
  severity(severity: Severity, text: string): string;
  strong(text: string): string;
  quiet(text: string): string;
  good(text: string): string;
  added(text: string): string;
  removed(text: string): string;
}

function wrapped(open: number, close: number): (text: string) => string {
  return (text) => `\u001b[${open}m${text}\u001b[${close}m`;
}

const plain = (text: string): string => text;

const noPaint: Paint = {
  severity: (_severity, text) => text,
  strong: plain,
  quiet: plain,
  good: plain,
  added: plain,
  removed: plain,
};

const red = wrapped(31, 39);
const yellow = wrapped(33, 39);
const blue = wrapped(34, 39);
const green = wrapped(32, 39);
const bold = wrapped(1, 22);

const colors: Paint = {
  severity: (severity, text) =>
    bold(severity === "error" ? red(text) : severity === "warning" ? yellow(text) : blue(text)),
  strong: bold,
  quiet: wrapped(2, 22),
  good: green,
  added: green,
  removed: red,
};

export function paintFor(isColored: boolean): Paint {
  return isColored ? colors : noPaint;
}
