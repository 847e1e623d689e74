/**
 * Provenance of a bundle, as a site reads it: an in-toto statement in a signed envelope. Source:
 * in-toto attestation framework v1, github.com/in-toto/attestation.
 */
import { jsonOf, malformed, mapOf, readEnvelope, shown, signerOf } from "./envelope.ts";
import { readPublicKeys } from "./keys.ts";

/** Payload type of its envelope. */
export const PROVENANCE_TYPE = "application/vnd.in-toto+json";
export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** Source: SLSA v1.0, slsa.dev/spec/v1.0/provenance. */
export const PREDICATE_TYPE = "https://slsa.dev/provenance/v1";

interface ReadProvenance {
  /** SHA-256 of what it says was made. */
  readonly subjects: readonly string[];
  /** Id of the key that signed it. */
  readonly keyId: string;
}

/**
 * @param bytes bytes of the envelope. @param keyFiles files with the keys of allowed signers.
 * @throws RuntimeError RUNTIME_SIGNATURE, RUNTIME_WRONG_KEY; RUNTIME_UNREADABLE or RUNTIME_KEY for
 * the keys.
 */
export async function readProvenance(
  bytes: Uint8Array,
  keyFiles: readonly string[],
  place: string,
): Promise<ReadProvenance> {
  const envelope = readEnvelope(bytes, PROVENANCE_TYPE, place);
  const { id } = signerOf(envelope, await readPublicKeys(keyFiles), place);
  const statement = jsonOf(envelope.payload, place);
  const { _type: type, predicateType, subject } = statement;
  if (type !== STATEMENT_TYPE || predicateType !== PREDICATE_TYPE) {
    const expected = `${STATEMENT_TYPE} of ${PREDICATE_TYPE}`;
    throw malformed(place, expected, `${shown(type)} of ${shown(predicateType)}`);
  }
  if (!Array.isArray(subject)) throw malformed(`${place}: subject`, "a list", shown(subject));
  const subjects = subject.map((one: unknown, index) => {
    const where = `${place}: subject[${index}]`;
    const { sha256 } = mapOf(mapOf(one, where)["digest"], `${where}.digest`);
    if (typeof sha256 === "string") return sha256;
    throw malformed(`${where}.digest`, "a sha256", shown(sha256));
  });
  return { subjects, keyId: id };
}
