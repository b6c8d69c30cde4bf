import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { blockingFsOps } from "../../../../shared/adapters/local/blocking-fs-ops.js";
import { openLocalStore } from "../../../../shared/adapters/local/local-store.js";
import { nodeFsOps } from "../../../../shared/adapters/local/node-fs-ops.js";
import { objectStoreSuite } from "../../../suites/object-store.js";
import { DiskState } from "../../../support/disk-state.js";
import { FaultFs } from "../../../support/fault-fs.js";

const made: string[] = [];
afterAll(async () => {
  for (const folder of made) await rm(folder, { recursive: true });
});

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lastgood-store-"));
  made.push(folder);
  return folder;
}

objectStoreSuite({
  name: "local store on a real disk",
  open: async () => openLocalStore({ root: await freshFolder(), fs: nodeFsOps }),
});

objectStoreSuite({
  name: "local store on a real disk, calls made in the calling thread",
  open: async () => openLocalStore({ root: await freshFolder(), fs: blockingFsOps }),
});

objectStoreSuite({
  name: "local store on the simulated disk",
  open: async () =>
    openLocalStore({ root: "/work", fs: new FaultFs(DiskState.with({}, ["/work"])) }),
  bigObjectBytes: 1024 * 1024,
});
