/** Names as a file system gives them: bytes, of which only most are UTF-8. */

export interface ShownPath {
  /** With `/`; bytes that are not UTF-8 stand as `\xNN`. */
  readonly path: string;
  /** The bytes of the whole relative path, where they are not UTF-8. */
  readonly nameBase64?: string;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function shownPath(bytes: Buffer): ShownPath {
  const separated = process.platform === "win32" ? withSlashes(bytes) : bytes;
  try {
    return { path: strict.decode(separated) };
  } catch {
    return { path: escaped(separated), nameBase64: bytes.toString("base64") };
  }
}

function withSlashes(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (byte === 0x5c ? 0x2f : byte)));
}

/** Whole UTF-8 sequences stay; every other byte is written as `\xNN`. */
function escaped(bytes: Buffer): string {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      text += `\\x${(bytes[at] ?? 0).toString(16).padStart(2, "0")}`;
      at += 1;
    } else {
      text += strict.decode(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return text;
}

/** Bytes of the valid UTF-8 sequence that begins at `at`; 0 when none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + length > bytes.length) return 0;
  try {
    strict.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}

const slash = Buffer.from("/");

export function joinBytes(folder: Buffer, name: Buffer): Buffer {
  if (folder.length === 0) return name;
  return Buffer.concat(folder.at(-1) === 0x2f ? [folder, name] : [folder, slash, name]);
}
