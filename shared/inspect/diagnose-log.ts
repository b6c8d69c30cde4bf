/** What one log's bytes are, record by record, without ever holding the log. Total: any bytes are answered. */
import { concatBytes } from "../base/bytes.js";
import type { JsonPath } from "../base/json-path.js";
import { formatPath } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import {
  candidatePaths,
  type DeclaredFields,
  declaredDialect,
  type FieldName,
  fieldNames,
  fieldPath,
  guessedDialect,
  type LogDialect,
  textOf,
} from "../dialects/log-fields.js";
import { capturePlan } from "../format/capture-plan.js";
import type { CapturedValue } from "../format/json-answer.js";
import { LogScanner, type ScannedLine } from "../format/log-scan.js";
import { LogFactsCollector } from "./collect-log-facts.js";
import type { Role } from "./context.js";
import { foreignFormat, utf16Form } from "./document-signs.js";
import type { FindingKind } from "./finding.js";
import { lineContent } from "./line-content.js";
import { type LineVerdict, type LogDamage, LogDamageCollector } from "./log-damage.js";
import type { LogFacts, RecordRead } from "./log-facts.js";

export interface LogDiagnosis {
  readonly bytes: number;
  /** Whole records that can be read. */
  readonly records: number;
  readonly lines: number;
  /** Set when the file is another format altogether; then nothing else was looked at. */
  readonly foreign: FindingKind | undefined;
  readonly damage: readonly LogDamage[];
  readonly facts: LogFacts;
  /** Values of declared rules, by path text. */
  readonly queried: ReadonlyMap<string, QueriedValues>;
  /** Bytes of a first line without its beginning, and of a last line without its end, for joining rotated parts. */
  readonly headPiece: Uint8Array | undefined;
  readonly tailPiece: Uint8Array | undefined;
}

export interface QueriedValues {
  /** As written, in file order. */
  readonly raw: readonly string[];
  readonly complete: boolean;
}

export interface LogOptions {
  readonly path: string;
  readonly role: Role;
  /** Declared fields; undefined: guessed from the first records. */
  readonly fields: DeclaredFields | undefined;
  /** Paths that declared rules ask of each record. */
  readonly queries?: readonly JsonPath[];
}

export interface LogDiagnosing {
  push(chunk: Uint8Array): void;
  finish(): LogDiagnosis;
}

export function createLogDiagnosis(options: LogOptions): LogDiagnosing {
  return new Diagnosing(options);
}

/** Bytes after which a foreign format is known for what it is. */
const firstBytesMin = 64;

class Diagnosing implements LogDiagnosing {
  private readonly scanner: LogScanner;
  private readonly damage: LogDamageCollector;
  private readonly fieldPaths: readonly string[];
  private readonly queries: readonly JsonPath[];
  private readonly queried = new Map<string, { raw: string[]; complete: boolean }>();
  private facts: LogFactsCollector | undefined;
  private dialect: LogDialect | undefined;
  /** Records waiting until the fields are guessed. */
  private waiting: { values: ReadonlyMap<string, CapturedValue>; verdict: LineVerdict }[] = [];
  private bareRecords = true;
  private bytes = 0;
  private first: Uint8Array = new Uint8Array(0);
  private foreign: FindingKind | undefined;
  private told = false;

  constructor(options: LogOptions) {
    this.queries = options.queries ?? [];
    if (options.fields !== undefined) this.dialect = declaredDialect(options.fields);
    const declared = this.dialect?.paths;
    this.fieldPaths =
      declared === undefined ? candidatePaths() : [...new Set(Object.values(declared))];
    if (this.dialect !== undefined) this.facts = new LogFactsCollector(this.dialect);
    this.damage = new LogDamageCollector((verdict) => this.record(verdict));
    const plan = capturePlan([...this.fieldPaths.map(fieldPath), ...this.queries]);
    for (const query of this.queries)
      this.queried.set(formatPath(query), { raw: [], complete: true });
    this.damage.plan = plan;
    this.scanner = new LogScanner((line) => this.line(line), plan);
  }

  /** The first bytes are held back until the format can be told, so that chunk sizes change nothing. */
  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.told) {
      if (this.foreign === undefined) this.scanner.push(chunk);
      return;
    }
    this.first = concatBytes([this.first, chunk]);
    if (this.first.length >= firstBytesMin) this.tellFormat();
  }

  private tellFormat(): void {
    this.told = true;
    this.foreign = foreignFormat(this.first) ?? (utf16Form(this.first) && "utf16");
    if (this.foreign === undefined) this.scanner.push(this.first);
    this.first = new Uint8Array(0);
  }

  finish(): LogDiagnosis {
    if (!this.told) this.tellFormat();
    if (this.foreign === undefined) this.scanner.finish();
    this.damage.finish(this.bytes);
    if (this.facts === undefined) this.guess();
    const facts = (this.facts ?? new LogFactsCollector(guessedDialect([], false))).facts();
    const { records, lines, headPiece, tailPiece } = this.damage;
    return {
      bytes: this.bytes,
      records,
      lines,
      foreign: this.foreign,
      damage: this.damage.damage,
      facts,
      queried: this.queried,
      headPiece,
      tailPiece,
    };
  }

  private line(line: ScannedLine): void {
    this.damage.add(line);
  }

  /** Each whole record, wherever on its line it stands. */
  private record(verdict: LineVerdict): void {
    const values = new Map<string, CapturedValue>();
    for (const value of verdict.captured) {
      const field = this.fieldPaths[value.pattern];
      if (field !== undefined) values.set(field, value);
      else this.query(value);
    }
    if (this.facts !== undefined && this.dialect !== undefined) {
      this.facts.add(recordOf(verdict, values, this.dialect));
      return;
    }
    this.bareRecords &&= isBareId(verdict, values.get("id"));
    const contentSum = lineContent(verdict, undefined);
    this.waiting.push({ values, verdict: { ...verdict, content: undefined, contentSum } });
    if (this.waiting.length >= limits.fieldGuessRecordsMax) this.guess();
  }

  private query(value: CapturedValue): void {
    const path = this.queries[value.pattern - this.fieldPaths.length];
    const into = path === undefined ? undefined : this.queried.get(formatPath(path));
    if (into === undefined) return;
    if (into.raw.length >= limits.logMemoryCount || value.raw === "too-long") into.complete = false;
    else into.raw.push(value.raw);
  }

  private guess(): void {
    const texts = this.waiting.map(({ values }) => {
      const record = new Map<string, string>();
      for (const [name, value] of values) {
        const text = textOf(value);
        if (text !== undefined) record.set(name, text);
      }
      return record;
    });
    const dialect = guessedDialect(texts, this.bareRecords);
    const facts = new LogFactsCollector(dialect);
    for (const { values, verdict } of this.waiting) facts.add(recordOf(verdict, values, dialect));
    this.waiting = [];
    this.dialect = dialect;
    this.facts = facts;
  }
}

/** The record is `{"id":…}` and nothing else: members that no field is named after count too. */
function isBareId(verdict: LineVerdict, id: CapturedValue | undefined): boolean {
  const { content, byteOffset } = verdict;
  if (content === undefined || id === undefined) return false;
  const aroundBytes = content.length - (id.end - id.at.byteOffset);
  if (aroundBytes > limits.bareRecordAroundBytesMax) return false;
  const around = [
    ...content.subarray(0, id.at.byteOffset - byteOffset),
    ...content.subarray(id.end - byteOffset),
  ];
  const written = around.filter((byte) => byte > 0x20);
  return String.fromCharCode(...written) === '{"id":}';
}

function recordOf(
  verdict: LineVerdict,
  values: ReadonlyMap<string, CapturedValue>,
  dialect: LogDialect,
): RecordRead {
  const fields: Partial<Record<FieldName, string>> = {};
  const numeric = new Set<FieldName>();
  for (const name of fieldNames) {
    const path = dialect.paths[name];
    const value = path === undefined ? undefined : values.get(path);
    if (value === undefined) continue;
    const text = name === "paths" && value.raw !== "too-long" ? value.raw : textOf(value);
    if (text === undefined) continue;
    fields[name] = text;
    if (value.kind === "number") numeric.add(name);
  }
  const seq = dialect.paths.seq === undefined ? undefined : values.get(dialect.paths.seq);
  const { line, byteOffset } = verdict;
  // The fold tells records apart by number and time together; with one of them alone it asks for the bytes.
  const isPair = (fields.seq === undefined) === (fields.time === undefined);
  const isTold = isPair && fields.item !== undefined && fields.phase !== undefined;
  const content = isTold ? "" : lineContent(verdict, seq);
  return { line, byteOffset, fields, numeric, content };
}
