/** `verify BUNDLE --key NAME.pub`: verifies the signature beside a bundle, and its files. */
import { dirname, join } from "node:path";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { readBundleFile } from "../bundles/load-bundle.ts";
import { partAt } from "../bundles/shipping/part-files.ts";
import { sidecarOf } from "../bundles/shipping/sidecars.ts";
import { readEnvelopeFile } from "../bundles/trust/envelope-file.ts";
import { type Labels, labelsText } from "../bundles/trust/labels.ts";
import { readProvenance } from "../bundles/trust/provenance.ts";
import type { SignedFile } from "../bundles/trust/statement.ts";
import { type Claims, Trust } from "../bundles/trust/trust.ts";
import type { CommandResult } from "./command-result.ts";

export interface SignatureOptions {
  /** Files of public keys, at least one. */
  readonly keyFiles: readonly string[];
  /** Labels of the site; null for any. */
  readonly labels: Labels | null;
  /** Folder of the files that the bundle names; null for its own folder. */
  readonly models: string | null;
  readonly nowEpochMs: () => number;
}

/** Findings about the signature. */
interface Found {
  readonly claims: Claims;
  /** Files that match the signature, and files that are missing. */
  readonly present: readonly string[];
  readonly absent: readonly string[];
  /** Whether the bundle has a provenance signed by a trusted key. */
  readonly hasProvenance: boolean;
}

/**
 * Checks the signature first, and the rest only if it is valid.
 * @param options null without a key, so that only the rest is checked.
 * @throws RuntimeError if the bundle or keys cannot be read.
 */
export async function verifySigned(
  path: string,
  options: SignatureOptions | null,
  verify: () => Promise<CommandResult>,
): Promise<CommandResult> {
  if (options === null) return verify();
  let found: Found;
  try {
    found = await signatureOf(path, options);
  } catch (error) {
    if (!(error instanceof RuntimeError) || !isRefusal(error)) throw error;
    return refused(path, error);
  }
  const { exitCode, text, json } = await verify();
  return {
    exitCode,
    text: `${signatureText(found)}\n${text}`,
    json: { ...json, signature: signatureJson(found) },
  };
}

async function signatureOf(path: string, options: SignatureOptions): Promise<Found> {
  const { keyFiles, labels, nowEpochMs } = options;
  const trust = await Trust.open({ keyFiles, labels, nowEpochMs, memory: null });
  const bytes = await readBundleFile(path);
  const envelope = await readEnvelopeFile(sidecarOf(path, "signature"));
  const claims = await trust.expect(bytes, envelope, path);
  const files = await signedFiles(claims.models, options.models ?? dirname(path));
  const hasProvenance = await isProvenanceOf(path, claims, keyFiles);
  return { claims, ...files, hasProvenance };
}

/** @throws RuntimeError RUNTIME_SIGNATURE for a file that differs from the signed one. */
async function signedFiles(files: readonly SignedFile[], folder: string) {
  const present: string[] = [];
  const absent: string[] = [];
  for (const { file, sha256 } of files) {
    const path = join(folder, file);
    const found = await digestAt(path, sha256);
    if (found === null) absent.push(file);
    else if (found === sha256) present.push(file);
    else {
      const message = `${path}: expected the file that was signed, ${sha256}, got ${found}`;
      throw new RuntimeError("RUNTIME_SIGNATURE", message);
    }
  }
  return { present, absent };
}

/** Returns null if the file does not exist. */
async function digestAt(path: string, wanted: string): Promise<string | null> {
  try {
    return (await partAt(path, wanted)).sha256;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    const found = `expected a file, got: ${code ?? message}`;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: ${found}`);
  }
}

/** @throws RuntimeError for a provenance of another file, or not signed by a trusted key. */
async function isProvenanceOf(
  path: string,
  { sha256 }: Claims,
  keyFiles: readonly string[],
): Promise<boolean> {
  const place = sidecarOf(path, "provenance");
  const bytes = await readEnvelopeFile(place);
  if (bytes === null) return false;
  const { subjects } = await readProvenance(bytes, keyFiles, place);
  if (subjects.includes(sha256)) return true;
  const found = subjects.join(", ");
  const message = `${place}: expected the provenance of ${sha256}, got that of ${found}`;
  throw new RuntimeError("RUNTIME_SIGNATURE", message);
}

/** Whether the signature is invalid, as opposed to keys or files that cannot be read. */
function isRefusal({ code }: RuntimeError): boolean {
  return EXIT_CODE_BY_ERROR[code] === EXIT_CODES.notVerified;
}

function refused(path: string, { code, message }: RuntimeError): CommandResult {
  return {
    exitCode: EXIT_CODES.notVerified,
    text: `refused: ${code} ${message}`,
    json: { path, ok: false, error: { code, message } },
  };
}

function signatureText({ claims, present, absent, hasProvenance }: Found): string {
  const { keyId, serial, issuedAt, expiresAt, scope } = claims;
  const scopeText = labelsText(scope);
  const parts = [
    `signature ok: key ${keyId}, serial ${serial}, issued ${issuedAt}`,
    expiresAt === null ? "without expiry" : `until ${expiresAt}`,
    scopeText === "" ? "for every site" : `for ${scopeText}`,
  ];
  const more = absent.length === 0 ? "" : `; missing: ${absent.join(", ")}`;
  const files = `files ok: ${present.length} of ${claims.models.length} match the signature`;
  const provenance = "provenance ok: signed, and about this bundle";
  return [parts.join(", "), `${files}${more}`, ...(hasProvenance ? [provenance] : [])].join("\n");
}

function signatureJson({ claims, present, absent, hasProvenance }: Found): object {
  const { keyId, serial, issuedAt, expiresAt, scope } = claims;
  const files = { present, absent };
  return { key: keyId, serial, issuedAt, expiresAt, scope, files, provenance: hasProvenance };
}
