/** A folder that moves while it is read: each file is a list of looks, one for each time it is opened. */
import type { EntryFacts, EntryKind, FileReading } from "../../electron/service/file-reading.js";

export interface FileLook {
  readonly bytes: Uint8Array | string;
  readonly modifiedMs?: number;
  readonly inode?: number;
  /** errno of opening it. */
  readonly openFails?: string;
  /** errno of reading it. */
  readonly readFails?: string;
  /** Bytes appended between the first byte read and the end of the look. */
  readonly growsBy?: string;
  /** Modification time that the second stat of the look shows. */
  readonly modifiedMsAfter?: number;
  readonly kind?: EntryKind;
}

export type Fails = { readonly listFails: string } | { readonly lookFails: string };

export interface MemoryFolder {
  readonly reading: FileReading;
  /** Milliseconds that were waited, one entry for each pause. */
  readonly pauses: number[];
  readonly opened: string[];
  readonly closed: string[];
}

/**
 * `files`: path → looks; the last look repeats. The head of a file is read before the first look and sees the
 * first look without using it up.
 */
export function memoryFolder(
  files: Readonly<Record<string, readonly FileLook[] | Fails>>,
): MemoryFolder {
  const opens = new Map<string, number>();
  const opened: string[] = [];
  const closed: string[] = [];
  const paths = Object.keys(files);
  const lookAt = (path: string, index: number): FileLook => {
    const looks = files[path];
    const look = Array.isArray(looks)
      ? (looks[Math.min(index, looks.length - 1)] as FileLook)
      : undefined;
    if (look === undefined) throw refusal("ENOENT");
    return look;
  };
  const reading: FileReading = {
    async names(folder) {
      const own = relative(folder);
      const found = files[own];
      if (found !== undefined && "listFails" in found) throw refusal(found.listFails);
      const prefix = own === "" ? "" : `${own}/`;
      const names = paths
        .filter((path) => path !== own && path.startsWith(prefix))
        .map((path) => path.slice(prefix.length).split("/")[0] ?? "");
      return [...new Set(names)].map((name) => Buffer.from(name));
    },
    async look(path) {
      const own = relative(path);
      const found = files[own];
      if (found !== undefined && "lookFails" in found) throw refusal(found.lookFails);
      if (found === undefined || "listFails" in found)
        return factsOf({ bytes: "", kind: "folder" });
      return factsOf(lookAt(own, 0));
    },
    async open(path) {
      const own = relative(path);
      const count = opens.get(own) ?? 0;
      opens.set(own, count + 1);
      const look = lookAt(own, Math.max(0, count - 1));
      if (look.openFails !== undefined) throw refusal(look.openFails);
      opened.push(own);
      let stats = 0;
      return {
        look: async () => factsOf(stats++ === 0 ? look : after(look)),
        read: async (target, atByte) => {
          if (look.readFails !== undefined) throw refusal(look.readFails);
          const rest = Buffer.from(look.bytes).subarray(atByte, atByte + target.length);
          target.set(rest);
          return rest.length;
        },
        close: async () => void closed.push(own),
      };
    },
  };
  return { reading, pauses: [], opened, closed };
}

export const memoryRoot = "/memory";

function relative(path: Buffer): string {
  return path.toString("utf8").slice(memoryRoot.length + 1);
}

function after(look: FileLook): FileLook {
  const grown = Buffer.concat([Buffer.from(look.bytes), Buffer.from(look.growsBy ?? "")]);
  const modifiedMs = look.modifiedMsAfter ?? look.modifiedMs;
  return { ...look, bytes: grown, ...(modifiedMs === undefined ? {} : { modifiedMs }) };
}

function factsOf(look: FileLook): EntryFacts {
  const sizeBytes = Buffer.from(look.bytes).length;
  const modifiedMs = look.modifiedMs ?? 0;
  const identity = `1:${look.inode ?? 1}`;
  const stamp = `${identity}:${sizeBytes}:${modifiedMs}`;
  return { kind: look.kind ?? "file", sizeBytes, modifiedMs, stamp, identity };
}

function refusal(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: refused by the test`), { code });
}
