/** `verify BUNDLE --key NAME.pub`: whether the signature beside a bundle holds, and its files. */
import { dirname, join } from "node:path";
import { EXIT_CODE_BY_ERROR, EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { readBundleFile } from "../bundles/load-bundle.ts";
import { digestOfFile } from "../bundles/shipping/file-digest.ts";
import { sidecarOf } from "../bundles/shipping/sidecars.ts";
import { readEnvelopeFile } from "../bundles/trust/envelope-file.ts";
import { type Labels, labelsText } from "../bundles/trust/labels.ts";
import { readProvenance } from "../bundles/trust/provenance.ts";
import type { SignedFile } from "../bundles/trust/statement.ts";
import { type Claims, Trust } from "../bundles/trust/trust.ts";
import type { CommandResult } from "./command-result.ts";

export interface SignatureOptions {
  /** Files of public keys, one at least. */
  readonly keyFiles: readonly string[];
  /** Of the site it is to hold for; null for any. */
  readonly labels: Labels | null;
  /** Where the files are that the bundle names; null for its own folder. */
  readonly models: string | null;
  readonly nowEpochMs: () => number;
}

/** What was found of the signature. */
interface Found {
  readonly claims: Claims;
  /** Files that are there as they were signed, and those that are not there. */
  readonly present: readonly string[];
  readonly absent: readonly string[];
  /** Whether what says how it was made is there, signed by a key that is trusted. */
  readonly hasProvenance: boolean;
}

/**
 * Checks the signature first, and only if it holds what else `verify` checks.
 * @param options null where no key was given, so that only the latter is checked.
 * @throws RuntimeError where bundle or keys cannot be read.
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

/** @throws RuntimeError RUNTIME_SIGNATURE for a file of other bytes than were signed. */
async function signedFiles(files: readonly SignedFile[], folder: string) {
  const present: string[] = [];
  const absent: string[] = [];
  for (const { file, sha256 } of files) {
    const path = join(folder, file);
    const found = await digestAt(path);
    if (found === null) absent.push(file);
    else if (found === sha256) present.push(file);
    else {
      const message = `${path}: expected the file that was signed, ${sha256}, got ${found}`;
      throw new RuntimeError("RUNTIME_SIGNATURE", message);
    }
  }
  return { present, absent };
}

/** Null where there is no such file. */
async function digestAt(path: string): Promise<string | null> {
  try {
    return (await digestOfFile(path)).sha256;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    const found = `expected a file, got: ${code ?? message}`;
    throw new RuntimeError("RUNTIME_UNREADABLE", `${path}: ${found}`);
  }
}

/** @throws RuntimeError where there is one that is of something else, or of no key trusted. */
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
  const message = `${place}: expected how ${sha256} was made, got how ${found} was`;
  throw new RuntimeError("RUNTIME_SIGNATURE", message);
}

/** What is wrong with the signature, and not with what it is checked by. */
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
  const told = [
    `signature ok: key ${keyId}, serial ${serial}, issued ${issuedAt}`,
    expiresAt === null ? "without expiry" : `until ${expiresAt}`,
    scopeText === "" ? "for every site" : `for ${scopeText}`,
  ];
  const more = absent.length === 0 ? "" : `; not here: ${absent.join(", ")}`;
  const files = `files ok: ${present.length} of ${present.length + absent.length} are as signed`;
  const provenance = "provenance ok: signed, and of this bundle";
  return [told.join(", "), `${files}${more}`, ...(hasProvenance ? [provenance] : [])].join("\n");
}

function signatureJson({ claims, present, absent, hasProvenance }: Found): object {
  const { keyId, serial, issuedAt, expiresAt, scope } = claims;
  const files = { present, absent };
  return { key: keyId, serial, issuedAt, expiresAt, scope, files, provenance: hasProvenance };
}
