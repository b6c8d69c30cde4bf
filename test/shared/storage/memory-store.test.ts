import { createMemoryStore } from "../../../shared/storage/memory-store.js";
import { objectStoreSuite } from "../../suites/object-store.js";

objectStoreSuite({ name: "memory store", open: async () => createMemoryStore() });
