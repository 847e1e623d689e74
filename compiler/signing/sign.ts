/** Implements `sign BUNDLE`: signs a statement about the bundle's sites and expiry. */
import { resolve } from "node:path";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import { INSTANT_EXPECTED, instantMs } from "stratagem-runtime/internal/base/instant";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { bundleOfBytes, readBundleFile } from "stratagem-runtime/internal/bundles/load-bundle";
import { partsOf } from "stratagem-runtime/internal/bundles/shipping/parts";
import { sidecarOf } from "stratagem-runtime/internal/bundles/shipping/sidecars";
import {
  type Envelope,
  envelopeBytes,
  readEnvelope,
} from "stratagem-runtime/internal/bundles/trust/envelope";
import { readEnvelopeFile } from "stratagem-runtime/internal/bundles/trust/envelope-file";
import { type Labels, labelsText } from "stratagem-runtime/internal/bundles/trust/labels";
import { PROVENANCE_TYPE } from "stratagem-runtime/internal/bundles/trust/provenance";
import {
  readStatement,
  SIGNATURE_TYPE,
  type SignedFile,
  type Statement,
  statementBytes,
} from "stratagem-runtime/internal/bundles/trust/statement";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import { type WrittenFile, writeAllAtomically } from "../base/atomic-write.ts";
import { cosignFiles } from "./cosign.ts";
import { readSigningKey, type SigningKey, signatureBy } from "./private-key.ts";
import { provenanceBytes, UNNAMED_BUILDER } from "./provenance.ts";

interface SignOptions {
  /** Path of the bundle. */
  readonly bundle: string;
  /** Files of private keys, at least one. */
  readonly keyFiles: readonly string[];
  /** Null for the time in ms. */
  readonly serial: number | null;
  /** Time, or days from now such as 90d; null for never. */
  readonly expires: string | null;
  readonly scope: Labels;
  /** True to keep the existing signatures and their statement. */
  readonly add: boolean;
  /** The spec it was compiled from, for provenance; null to write none. */
  readonly provenance: string | null;
  /** URI of the builder; null if unknown. */
  readonly builder: string | null;
  /** Key file for cosign's signature; null to write none. */
  readonly cosignKey: string | null;
}

interface SignSurroundings {
  /** Passphrase of encrypted keys. */
  readonly passphrase: string | undefined;
  /** Name and version. */
  readonly compiler: string;
  readonly nowEpochMs: number;
}

const DAY_MS = 86_400_000;
const DAYS = /^(\d{1,5})d$/;

/**
 * Writes BUNDLE.dsse.json, and other requested files, beside a bundle that a server would accept.
 * @throws BundleError, RuntimeError RUNTIME_UNREADABLE, RUNTIME_KEY, RUNTIME_USAGE,
 * RUNTIME_SIGNATURE for an envelope that cannot be extended, UnwritableError
 */
export async function signCommand(
  options: SignOptions,
  { passphrase, compiler, nowEpochMs }: SignSurroundings,
): Promise<CommandResult> {
  expectSense(options, nowEpochMs);
  const keys: SigningKey[] = [];
  for (const path of options.keyFiles) keys.push(await readSigningKey(path, passphrase));
  const bytes = await readBundleFile(options.bundle);
  const { bundle, sha256 } = await bundleOfBytes(options.bundle, bytes);
  const made = { sha256, bytes: bytes.length, application: bundle.application };
  const models = signedFilesOf(bundle);
  const before = options.add ? await envelopeBefore(options.bundle, made) : null;
  const payload = before?.payload ?? statementBytes(statementOf(options, made, models, nowEpochMs));
  const envelope = signed({ payloadType: SIGNATURE_TYPE, payload }, keys, before);
  const files: WrittenFile[] = [];
  const { provenance: spec, builder } = options;
  if (spec !== null) {
    const from = { bundle, path: options.bundle, sha256, models, compiler, builder, spec };
    const provenance = { payloadType: PROVENANCE_TYPE, payload: await provenanceBytes(from) };
    const path = sidecarOf(options.bundle, "provenance");
    files.push({ path, bytes: envelopeBytes(signed(provenance, keys, null)) });
  }
  if (options.cosignKey !== null) {
    const key = await readSigningKey(options.cosignKey, passphrase, true);
    files.push(...cosignFiles(options.bundle, bytes, key));
  }
  // Last, so that the other files exist when the signature appears.
  files.push({ path: sidecarOf(options.bundle, "signature"), bytes: envelopeBytes(envelope) });
  await writeAllAtomically(files);
  const statement = readStatement(payload, options.bundle);
  const isOver = (instantMs(statement.expiresAt) ?? Number.POSITIVE_INFINITY) <= nowEpochMs;
  return resultOf({ options, statement, envelope, keys, files, isOver });
}

/** @throws RuntimeError RUNTIME_USAGE */
function expectSense(options: SignOptions, nowMs: number): void {
  const { add, serial, expires, scope, provenance, builder } = options;
  if (add && (serial !== null || expires !== null || Object.keys(scope).length > 0)) {
    const message =
      "--add: expected no --serial, --expires or --scope: the signed statement is kept";
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  if (builder !== null && provenance === null) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --provenance with --builder");
  }
  if (builder !== null && !URL.canParse(builder)) {
    const message = `--builder: expected a URI such as ${UNNAMED_BUILDER}, got ${builder}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  if (expires === null || expiryMs(expires, nowMs) !== undefined) return;
  const expected = `expected days from now such as 90d, ${INSTANT_EXPECTED}`;
  throw new RuntimeError("RUNTIME_USAGE", `--expires: ${expected}, got ${expires}`);
}

function expiryMs(expires: string, nowMs: number): number | undefined {
  const days = DAYS.exec(expires)?.[1];
  return days === undefined ? instantMs(expires) : nowMs + Number(days) * DAY_MS;
}

function statementOf(
  { serial, expires, scope }: SignOptions,
  made: Pick<Statement, "sha256" | "bytes" | "application">,
  models: readonly SignedFile[],
  nowMs: number,
): Statement {
  const untilMs = expires === null ? undefined : expiryMs(expires, nowMs);
  return {
    ...made,
    serial: serial ?? nowMs,
    issuedAt: new Date(nowMs).toISOString(),
    expiresAt: untilMs === undefined ? null : new Date(untilMs).toISOString(),
    scope,
    models,
  };
}

/** Model files of the bundle; empty if it was compiled without models, for inspection only. */
function signedFilesOf(bundle: Bundle): SignedFile[] {
  if (
    methodOf(bundle)
      .models(bundle)
      .some(({ model }) => model === null)
  )
    return [];
  const files = partsOf(bundle).map(({ file, sha256 }) => ({ file, sha256 }));
  return files.sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** @throws RuntimeError RUNTIME_UNSIGNED, RUNTIME_SIGNATURE */
async function envelopeBefore(
  bundlePath: string,
  { sha256 }: Pick<Statement, "sha256">,
): Promise<Envelope> {
  const path = sidecarOf(bundlePath, "signature");
  const bytes = await readEnvelopeFile(path);
  if (bytes === null) {
    const message = `${path}: expected signatures to add to, got no file; sign without --add`;
    throw new RuntimeError("RUNTIME_UNSIGNED", message);
  }
  const envelope = readEnvelope(bytes, SIGNATURE_TYPE, path);
  const { sha256: before } = readStatement(envelope.payload, path);
  if (before === sha256) return envelope;
  const message = `${path}: expected signatures of this bundle, ${sha256}, got those of ${before}`;
  throw new RuntimeError("RUNTIME_SIGNATURE", `${message}; sign without --add`);
}

/** @param before envelope whose other signatures are kept; null for none. */
function signed(
  content: Pick<Envelope, "payloadType" | "payload">,
  keys: readonly SigningKey[],
  before: Envelope | null,
): Envelope {
  const own = keys.map((key) => signatureBy(key, content));
  const isOwn = (keyId: string) => own.some((signature) => signature.keyId === keyId);
  const others = (before?.signatures ?? []).filter(({ keyId }) => !isOwn(keyId));
  return { ...content, signatures: [...others, ...own] };
}

interface Signed {
  readonly options: SignOptions;
  readonly statement: Statement;
  readonly envelope: Envelope;
  readonly keys: readonly SigningKey[];
  readonly files: readonly WrittenFile[];
  /** True if it has already expired. */
  readonly isOver: boolean;
}

function resultOf({ options, statement, envelope, keys, files, isOver }: Signed): CommandResult {
  const { bundle } = options;
  const { sha256, serial, issuedAt, expiresAt, scope, models, application } = statement;
  const ids = envelope.signatures.map(({ keyId }) => keyId);
  const written = files.map(({ path }) => path);
  const until = expiresAt === null ? "without expiry" : `until ${expiresAt}`;
  const site = labelsText(scope) === "" ? "every site" : labelsText(scope);
  const exposed = keys.flatMap((key) => (key.exposed === null ? [] : [key.exposed]));
  const text = [
    `signed ${bundle} of ${application} by key ${ids.join(", ")}`,
    `serial ${serial}, ${until}, for ${site}, with ${models.length} referenced files`,
    ...written.map((path) => `wrote ${path}`),
    ...(isOver ? ["it has already expired: no site will accept it"] : []),
    ...exposed.map((path) => `other users can read ${path}: run chmod 600 ${path}`),
  ];
  const said = { application, sha256, serial, issuedAt, expiresAt, scope, models };
  const json = { bundle: resolve(bundle), keys: ids, ...said, written, exposedKeys: exposed };
  return { exitCode: EXIT_CODES.ok, text: text.join("\n"), json };
}
