/**
 * The context file: what is known besides the bytes. Read from text that may come from a scanned folder, so any
 * text is answered, and nothing in it can run or connect anywhere.
 */
import { z } from "zod";
import { type JsonPath, parsePath } from "../base/json-path.js";
import type {
  DeclaredRule,
  Dependency,
  FilePath,
  InspectContext,
  LogFields,
  Role,
  RuleName,
  RuleOperand,
} from "../inspect/context.js";

export type ContextReading =
  | {
      readonly kind: "context";
      readonly context: InspectContext;
      /** What was in the file and had no effect, in sentences. */
      readonly remarks: readonly string[];
    }
  /** Nothing of the file is used. One plain sentence for each thing that is wrong. */
  | { readonly kind: "rejected"; readonly problems: readonly string[] };

const roles = [
  "run",
  "snapshot",
  "log",
  "rotated",
  "derived",
  "lock",
  "temp",
  "replica",
  "evidence",
  "other",
] as const satisfies readonly Role[];

const ruleNames = [
  "each-equals",
  "not-empty",
  "is-list",
  "unique",
  "equals-max",
  "equals-count",
  "equals-count-distinct",
  "lists-files",
  "refers-to",
  "crc32-of",
  "max-age",
] as const satisfies readonly RuleName[];

const jsonPath = z.string().transform((text, check): JsonPath => {
  const parsed = parsePath(text);
  if (parsed.kind === "path") return parsed.path;
  check.addIssue({ code: "custom", message: `is no path: ${parsed.reason}` });
  return z.NEVER;
});

const isoTime = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), "is no ISO time such as 2026-01-31T09:00:00Z");

/** One word, or a list of words. */
const words = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => (typeof given === "string" ? [given] : given));

const fieldNames = [
  "item",
  "phase",
  "key",
  "attempt",
  "worker",
  "time",
  "seq",
  "lease",
  "run",
  "error",
  "planned",
  "updateId",
  "result",
  "version",
  "paths",
] as const satisfies readonly (keyof LogFields)[];

const fieldName = z.string().min(1);
const fieldsShape = z.looseObject({
  ...(Object.fromEntries(fieldNames.map((name) => [name, fieldName.optional()])) as Record<
    (typeof fieldNames)[number],
    z.ZodOptional<typeof fieldName>
  >),
  intent: words.optional(),
  done: words.optional(),
  failed: words.optional(),
  doneIsImplied: z.boolean().optional(),
  logicalKey: words.optional(),
});

const filePath = z.looseObject({ file: z.string(), path: jsonPath.optional() });

const operand = z
  .union([
    z.looseObject({ file: z.string(), path: jsonPath.optional(), form: z.string().optional() }),
    z.looseObject({ glob: z.string() }),
    z.looseObject({ seconds: z.number().nonnegative() }),
  ])
  .optional();

const shape = z.looseObject({
  roles: z.record(z.string(), z.enum(roles)).optional(),
  fields: fieldsShape.optional(),
  versionField: z.string().min(1).optional(),
  dependsOn: z.array(z.looseObject({ output: filePath, inputs: z.array(filePath) })).optional(),
  timeFields: z.record(z.string(), jsonPath).optional(),
  rules: z
    .array(
      z.looseObject({
        file: z.string(),
        path: jsonPath,
        rule: z.enum(ruleNames),
        of: operand,
      }),
    )
    .optional(),
  order: z.array(z.string()).optional(),
  now: isoTime.optional(),
  processes: z
    .array(
      z.looseObject({
        pid: z.number().int().positive(),
        name: z.string().optional(),
        started: isoTime.optional(),
        host: z.string().optional(),
      }),
    )
    .optional(),
  caseInsensitive: z.boolean().optional(),
});

type Shape = z.infer<typeof shape>;

/** Reads the text of a context file. A byte order mark is let pass, since editors add it unasked. */
export function readContextFile(text: string): ContextReading {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    return { kind: "rejected", problems: [`it is not JSON: ${(error as Error).message}`] };
  }
  const checked = shape.safeParse(parsed);
  if (!checked.success) return { kind: "rejected", problems: problemsOf(checked.error) };
  return { kind: "context", context: toContext(checked.data), remarks: unknownKeys(checked.data) };
}

function problemsOf(error: z.ZodError): readonly string[] {
  return error.issues.map((issue) => {
    const place = issue.path.map((step, i) =>
      typeof step === "number" ? `[${step}]` : i === 0 ? String(step) : `.${String(step)}`,
    );
    return `${place.join("") || "the whole file"}: ${issue.message.replaceAll('"|"', '", "')}`;
  });
}

function toContext(given: Shape): InspectContext {
  return {
    roles: new Map(Object.entries(given.roles ?? {})),
    fields: given.fields === undefined ? undefined : toFields(given.fields),
    versionField: given.versionField,
    dependsOn: (given.dependsOn ?? []).map(
      (one): Dependency => ({
        output: toFilePath(one.output),
        inputs: one.inputs.map(toFilePath),
      }),
    ),
    timeFields: new Map(Object.entries(given.timeFields ?? {})),
    rules: (given.rules ?? []).map(
      ({ file, path, rule, of }): DeclaredRule => ({ file, path, rule, of: toOperand(of) }),
    ),
    order: given.order ?? [],
    now: given.now,
    processes: given.processes?.map(({ pid, name, started, host }) => ({
      pid,
      ...(name === undefined ? {} : { name }),
      ...(started === undefined ? {} : { started }),
      ...(host === undefined ? {} : { host }),
    })),
    caseInsensitive: given.caseInsensitive ?? false,
  };
}

function toFields(given: NonNullable<Shape["fields"]>): LogFields {
  const known = Object.entries(given).filter(
    ([name, value]) => knownFields.has(name) && value !== undefined,
  );
  return Object.fromEntries(known) as LogFields;
}

const knownFields: ReadonlySet<string> = new Set(Object.keys(fieldsShape.shape));

function toFilePath(given: { file: string; path?: JsonPath | undefined }): FilePath {
  return given.path === undefined ? { file: given.file } : { file: given.file, path: given.path };
}

function toOperand(given: z.infer<typeof operand>): RuleOperand {
  if (given === undefined) return { kind: "none" };
  if ("file" in given) {
    const { file, path, form } = given as { file: string; path?: JsonPath; form?: string };
    return { kind: "place", file, path: path ?? [], ...(form === undefined ? {} : { form }) };
  }
  if ("glob" in given) return { kind: "glob", glob: (given as { glob: string }).glob };
  return { kind: "seconds", seconds: (given as { seconds: number }).seconds };
}

const knownKeys: ReadonlySet<string> = new Set(Object.keys(shape.shape));
/** They run or connect, so they come only from the operator's own configuration. */
const operatorsOnly: ReadonlySet<string> = new Set(["probes", "probe", "commands", "command"]);

function unknownKeys(given: Shape): readonly string[] {
  const top = Object.keys(given).filter((key) => !knownKeys.has(key));
  const fields = Object.keys(given.fields ?? {}).filter((key) => !knownFields.has(key));
  return [
    ...top.map((key) =>
      operatorsOnly.has(key)
        ? `"${key}" is ignored here: what runs or connects is taken only from --config.`
        : `"${key}" is not a key of a context file; it has no effect.`,
    ),
    ...fields.map((key) => `"fields.${key}" is not a field that is known; it has no effect.`),
  ];
}

/** A context as the text of a context file, for a person to edit. */
export function writeContextFile(given: {
  readonly roles: ReadonlyMap<string, Role>;
  readonly fields: LogFields | undefined;
}): string {
  const file = {
    roles: Object.fromEntries(given.roles),
    ...(given.fields === undefined ? {} : { fields: given.fields }),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}
