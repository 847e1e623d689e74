/** Statement of a signature about a bundle, as the JSON that is signed. */
import { instantMs } from "../../base/instant.ts";
import { jsonOf, malformed, mapOf, shown } from "./envelope.ts";
import { type Labels, labelsOf } from "./labels.ts";

/** Payload type of a signature's envelope. */
export const SIGNATURE_TYPE = "application/vnd.stratagem.signature.v1+json";

export interface Statement {
  /** Digest of the whole file of the bundle. */
  readonly sha256: string;
  readonly bytes: number;
  readonly application: string;
  /**
   * Grows from one bundle of an application to the next: a site does not go back to a lower one.
   */
  readonly serial: number;
  /** UTC, such as 2027-01-31T12:00:00.000Z. */
  readonly issuedAt: string;
  /** End of its validity; null for never. */
  readonly expiresAt: string | null;
  /** Labels that a site must have; empty for every site. */
  readonly scope: Labels;
  /** Files that the bundle names, by ascending names. */
  readonly models: readonly SignedFile[];
}

export interface SignedFile {
  /** File name without directories. */
  readonly file: string;
  readonly sha256: string;
}

const VERSION = 1;
const FIELDS = [
  "version",
  "sha256",
  "bytes",
  "application",
  "serial",
  "issuedAt",
  "expiresAt",
  "scope",
  "models",
] as const;
type Document = Readonly<Record<(typeof FIELDS)[number], unknown>>;

const DIGEST = /^[0-9a-f]{64}$/;
const MAX_FILES = 20_000;

/** Encodes the payload to sign. */
export function statementBytes(statement: Statement): Uint8Array {
  const { sha256, bytes, application, serial, issuedAt, expiresAt, scope, models } = statement;
  const fields = { sha256, bytes, application, serial, issuedAt, expiresAt, scope, models };
  return Buffer.from(JSON.stringify({ version: VERSION, ...fields }));
}

/**
 * Reads a payload. An unknown field is refused: it may restrict the others.
 * @param place place of the signature, for messages. @throws RuntimeError RUNTIME_SIGNATURE
 */
export function readStatement(payload: Uint8Array, place: string): Statement {
  const fields = documentOf(payload, place);
  const { version, sha256, bytes, application, serial, issuedAt, expiresAt, scope, models } =
    fields;
  if (version !== VERSION) throw malformed(`${place}: version`, `${VERSION}`, shown(version));
  return {
    sha256: digestOf(sha256, `${place}: sha256`),
    bytes: countOf(bytes, `${place}: bytes`),
    application: textOf(application, `${place}: application`),
    serial: countOf(serial, `${place}: serial`),
    issuedAt: timeOf(issuedAt, `${place}: issuedAt`),
    expiresAt: expiresAt === null ? null : timeOf(expiresAt, `${place}: expiresAt`),
    scope: scopeOf(scope, `${place}: scope`),
    models: filesOf(models, `${place}: models`),
  };
}

function documentOf(payload: Uint8Array, place: string): Document {
  const map = jsonOf(payload, place);
  const isWhole = FIELDS.every((field) => Object.hasOwn(map, field));
  const names = Object.keys(map);
  if (isWhole && names.length === FIELDS.length) return map as Document;
  throw malformed(place, `the fields ${FIELDS.join(", ")}`, names.slice(0, 20).join(", "));
}

function filesOf(value: unknown, place: string): SignedFile[] {
  if (!Array.isArray(value) || value.length > MAX_FILES) {
    throw malformed(place, `a list of at most ${MAX_FILES} files`, shown(value));
  }
  return value.map((one: unknown, index) => {
    const { file, sha256, ...more } = mapOf(one, `${place}[${index}]`);
    const name = textOf(file, `${place}[${index}].file`);
    if (/[/\\]/.test(name) || name === "." || name === ".." || Object.keys(more).length > 0) {
      throw malformed(`${place}[${index}]`, "a file without folders, and its sha256", shown(one));
    }
    return { file: name, sha256: digestOf(sha256, `${place}[${index}].sha256`) };
  });
}

function digestOf(value: unknown, place: string): string {
  if (typeof value === "string" && DIGEST.test(value)) return value;
  throw malformed(place, "64 hexadecimal digits", shown(value));
}

function countOf(value: unknown, place: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(place, "a whole number", shown(value));
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw malformed(place, "a text", shown(value));
}

function timeOf(value: unknown, place: string): string {
  if (typeof value === "string" && instantMs(value) !== undefined) return value;
  throw malformed(place, "a time such as 2027-01-31T12:00:00Z", shown(value));
}

function scopeOf(value: unknown, place: string): Labels {
  const labels = typeof value === "object" ? labelsOf(value) : undefined;
  if (labels !== undefined) return labels;
  throw malformed(place, "a map of labels", shown(value));
}
