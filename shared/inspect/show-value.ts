import { counted } from "../base/text.js";
import { JsonNumber } from "../format/json-number.js";
import { isJsonObject, type JsonValue } from "../format/json-value.js";

/** A value in a sentence: scalars as JSON writes them, containers by their size. */
export function shown(value: JsonValue): string {
  if (Array.isArray(value))
    return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (isJsonObject(value)) return `an object of ${Object.keys(value).length} members`;
  if (value instanceof JsonNumber) return value.text;
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

/** A count among a finding's facts, with its word. */
export function countedFact(count: unknown, one: string): string {
  return counted(typeof count === "number" ? count : 0, one);
}
