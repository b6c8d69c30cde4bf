import { createHash } from "node:crypto";
import { emptyContext, type InspectContext } from "../../shared/inspect/context.js";
import { diagnoseDocument } from "../../shared/inspect/diagnose-document.js";
import { createLogDiagnosis } from "../../shared/inspect/diagnose-log.js";
import type { Evidence, ObservedContent, ObservedFile } from "../../shared/inspect/evidence.js";
import { documentCapture } from "../../shared/inspect/evidence-index.js";
import { guessRoles } from "../../shared/inspect/guess-roles.js";
import { type Inspection, inspectRun } from "../../shared/inspect/inspect-run.js";
import { logQueries } from "../../shared/inspect/log-views.js";

/** Files in memory, by path: what collecting evidence from a folder of them would give. */
export type Files = Readonly<Record<string, string | Uint8Array | object>>;

/** Fields of an effect log as our own records name them, `item` aside. */
export const effectFields = {
  item: "item",
  phase: "phase",
  key: "key",
  attempt: "attempt",
  worker: "worker",
  time: "at",
  seq: "seq",
  run: "run",
  intent: ["intent"],
  done: ["done"],
  failed: ["failed"],
} as const;

export const someNow = Date.parse("2026-03-04T12:00:00Z");

export function evidenceOf(files: Files, given: Partial<InspectContext> = {}): Evidence {
  const context = { ...emptyContext, ...given };
  const named = Object.entries(files).map(([path, content]) => ({ path, bytes: bytesOf(content) }));
  const roles = guessRoles(
    named.map(({ path, bytes }) => ({ path, bytes: bytes.length, head: bytes.subarray(0, 4_096) })),
    context,
  );
  const observed = named.flatMap(({ path, bytes }): ObservedFile[] => {
    const role = roles.get(path);
    if (role === undefined || role.reading === "none") return [];
    const content = contentOf(path, bytes, role.reading, role.role, context);
    return [
      {
        root: 0,
        path,
        role: role.role,
        roleFrom: role.from,
        modifiedMs: someNow - 3_600_000,
        content,
      },
    ];
  });
  const nowMs = context.now === undefined ? someNow : Date.parse(context.now);
  return { roots: ["run"], files: observed, context, nowMs, hostName: "box-1" };
}

export function inspected(files: Files, given: Partial<InspectContext> = {}): Inspection {
  return inspectRun(evidenceOf(files, given));
}

function bytesOf(content: string | Uint8Array | object): Uint8Array {
  if (content instanceof Uint8Array) return content;
  return Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
}

function contentOf(
  path: string,
  bytes: Uint8Array,
  reading: "document" | "log",
  role: ObservedFile["role"],
  context: InspectContext,
): ObservedContent {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (reading === "document") {
    const diagnosis = diagnoseDocument(bytes, { capture: documentCapture(context) });
    return { kind: "document", bytes: bytes.length, sha256, diagnosis, held: bytes };
  }
  const log = createLogDiagnosis({
    path,
    role,
    fields: context.fields,
    queries: logQueries(context, path),
  });
  log.push(bytes);
  return { kind: "log", bytes: bytes.length, sha256, log: log.finish() };
}
