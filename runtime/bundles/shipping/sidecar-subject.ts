/** Reads which file a signature or a provenance is about; nothing is verified. */
import { RuntimeError } from "../../base/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param path path for messages. @param bytes a DSSE envelope, or an in-toto statement. @param
 * sha256 digest of the bundle.
 * @throws RuntimeError RUNTIME_SIGNATURE if it is about another file, or about none.
 */
export function expectAbout(path: string, bytes: Uint8Array, sha256: string): void {
  const subjects = subjectsOf(bytes);
  if (subjects.includes(sha256)) return;
  const shown = subjects.join(", ").slice(0, 200);
  const found = subjects.length === 0 ? "no subject" : shown;
  const message = `expected it to be about the bundle, SHA-256 ${sha256}, got ${found}`;
  throw new RuntimeError("RUNTIME_SIGNATURE", `${path}: ${message}; sign the bundle again`);
}

/** Returns the SHA-256 of each file that it is about. */
function subjectsOf(bytes: Uint8Array): string[] {
  const outer = fieldsIn(new TextDecoder().decode(bytes));
  const { payload } = outer;
  const inner =
    typeof payload === "string" ? fieldsIn(Buffer.from(payload, "base64").toString()) : outer;
  const { sha256, subject } = inner;
  if (typeof sha256 === "string") return [sha256];
  const listed: readonly unknown[] = Array.isArray(subject) ? subject : [];
  return listed.flatMap((one) => {
    const { sha256: digest } = fieldsOf(fieldsOf(one)["digest"]);
    return typeof digest === "string" ? [digest] : [];
  });
}

/** Returns no fields if the text is not JSON. */
function fieldsIn(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function fieldsOf(value: unknown): Fields {
  const isFields = typeof value === "object" && value !== null && !Array.isArray(value);
  return isFields ? (value as Fields) : {};
}
