/** Replaces one document over and over: argv is the root, the number of replacements, and the size in bytes. */
import { blockingFsOps } from "../../../../shared/adapters/local/blocking-fs-ops.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";

const [root = "", count = "0", sizeBytes = "0"] = process.argv.slice(2);
const key = "runs/run_9d4a.json";
const store = await openLocalStore({ root, fs: blockingFsOps });

const found = await store.read(key);
let etag = found === "absent" ? ("absent" as const) : found.etag;
process.send?.("started");
for (let version = 1; version <= Number(count); version += 1) {
  const outcome = await store.replace(key, documentBytes(version), etag);
  if (outcome.kind !== "written") throw new Error(JSON.stringify(outcome));
  etag = outcome.etag;
  process.send?.(version);
}
process.disconnect?.();

/** Begins and ends with its version, so that a mixture of two can be told from either. */
function documentBytes(version: number): Uint8Array {
  const filler = String(version % 10).repeat(Number(sizeBytes));
  return new TextEncoder().encode(JSON.stringify({ version, filler, end: version }));
}
