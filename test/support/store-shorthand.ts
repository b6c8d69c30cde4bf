/** What tests of stores say all the time, said shortly. */
import type {
  Etag,
  ObjectStore,
  OpenLogOptions,
  Stored,
  WriteOutcome,
} from "../../shared/storage/object-store.js";
import { isJsonObject } from "./json-object.js";

export function logOptions(options: Partial<OpenLogOptions> = {}): OpenLogOptions {
  return {
    isWholeRecord: isJsonObject,
    setAside: async () => undefined,
    takeOver: "in-place",
    ...options,
  };
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function written(outcome: WriteOutcome): Etag {
  if (outcome.kind !== "written") throw new Error(`not written but ${JSON.stringify(outcome)}`);
  return outcome.etag;
}

export async function storedAt(store: ObjectStore, key: string): Promise<Stored> {
  const stored = await store.read(key);
  if (stored === "absent") throw new Error(`${key} is absent`);
  return stored;
}

export async function textOf(store: ObjectStore, key: string): Promise<string> {
  return new TextDecoder().decode((await storedAt(store, key)).bytes);
}

export async function textOfLog(store: ObjectStore, key: string, fromByte = 0): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of store.readLog(key, fromByte)) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
