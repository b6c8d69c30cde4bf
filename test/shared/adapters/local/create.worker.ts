/** Creates each key it is told, with its own pid as the bytes, and says how that ended. argv: root. */
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";

const [root = ""] = process.argv.slice(2);
const store = await openLocalStore({ root });
process.on("message", (key) => void create(String(key)));
process.send?.("ready");

async function create(key: string): Promise<void> {
  const outcome = await store.replace(key, new TextEncoder().encode(`${process.pid}`), "absent");
  process.send?.(outcome.kind);
}
