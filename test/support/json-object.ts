/** Whether a line is one whole JSON object. It ends with its own brace, so no prefix of a record is taken for one. */
export function isJsonObject(line: Uint8Array): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}
