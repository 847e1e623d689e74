/** Stages what a source has as a revision in the store: verified, and with all its files. */
import { createHash } from "node:crypto";
import { BundleError } from "../../base/bundle-error.ts";
import { RuntimeError } from "../../base/errors.ts";
import type { Bundle } from "../../bundle/schema.ts";
import { readBundle } from "../../bundles/read-bundle.ts";
import { partsOf, type ShippedPart } from "../../bundles/shipping/parts.ts";
import type { Claims, Trust } from "../../bundles/trust/trust.ts";
import { expectClaimed } from "../../bundles/trusted-bundle.ts";
import type { Found } from "./policy-source.ts";
import { namingStore, type PolicyStore } from "./policy-store.ts";
import { RESERVED_NAMES, type Revision, type StoredPolicy } from "./stored-policy.ts";

interface StagingOptions {
  /** Name of the source in messages. */
  readonly name: string;
  readonly store: PolicyStore;
  readonly policy: StoredPolicy;
  /** Null if signatures are not required. */
  readonly trust: Pick<Trust, "expect"> | null;
  /** Whether models come from a local folder only. */
  readonly hasOwnModels: boolean;
  /** Required application; null for any. */
  readonly application: string | null;
  readonly nowEpochMs: () => number;
  /** Called with the number of bytes received. */
  readonly onBytes: (byteCount: number) => void;
}

/** A staged revision with its signed claims; claims are null if signatures are not required. */
export interface Staged {
  readonly revision: Revision;
  readonly claims: Claims | null;
}

/**
 * Verifies the signature, if required, before decoding, and decodes the bundle before fetching
 * files. A rejected bundle leaves only complete files behind.
 * @throws BundleError, RuntimeError, and the signal's reason.
 */
export async function stage(
  found: Found,
  options: StagingOptions,
  signal: AbortSignal,
): Promise<Staged> {
  const { name, store, policy, trust, hasOwnModels } = options;
  options.onBytes(found.bundle.length);
  const claims = (await trust?.expect(found.bundle, found.envelope, name)) ?? null;
  const bundle = await namedBundle(found.bundle, name);
  if (claims !== null) expectClaimed(bundle, claims, name);
  expectSameApplication(bundle, options);
  const parts = hasOwnModels ? [] : partsOf(bundle);
  expectPlainParts(parts, options);
  const revision = await store.keeping(
    parts.map(({ sha256 }) => sha256),
    async () => {
      // Sequentially, so that an interrupted slow connection has completed some files.
      for (const part of parts) await fetchPart(part, found, options, signal);
      signal.throwIfAborted();
      return namingStore(policy.folder, () =>
        policy.put({
          bundle: found.bundle,
          sha256: createHash("sha256").update(found.bundle).digest("hex"),
          envelope: found.envelope,
          provenance: found.provenance,
          application: bundle.application,
          source: name,
          validator: found.validator,
          epochMs: options.nowEpochMs(),
          parts: parts.map((part) => ({ ...part, path: store.blobOf(part.sha256) })),
        }),
      );
    },
  );
  return { revision, claims };
}

async function fetchPart(
  part: ShippedPart,
  found: Found,
  { name, store, onBytes }: StagingOptions,
  signal: AbortSignal,
): Promise<void> {
  const { file, sha256 } = part;
  if (await store.has(sha256)) return;
  const isBegun = (await store.begun(sha256)) > 0;
  const attempt = () =>
    namingStore(store.folder, async () => {
      onBytes(await found.fetch(part, store.partOf(sha256), signal));
      return store.take(sha256);
    });
  let digest = await attempt();
  // The partial file may have belonged to another file.
  if (digest !== sha256 && isBegun) digest = await attempt();
  if (digest === sha256) return;
  const expected = `expected ${file} as the bundle names it, SHA-256 ${sha256}`;
  throw sourceFault(`${name}: ${expected}, got ${digest}`);
}

/** @throws BundleError */
async function namedBundle(bytes: Uint8Array, name: string): Promise<Bundle> {
  try {
    return await readBundle(bytes);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new BundleError(error.code, `${name}: ${error.message}`);
  }
}

/**
 * Serials count within an application, so a bundle of another application could be an outdated one.
 * @throws RuntimeError RUNTIME_SOURCE
 */
function expectSameApplication(
  { application: found }: Bundle,
  { name, application }: StagingOptions,
): void {
  if (application === null || found === application) return;
  const expected = `expected a bundle of the application ${application}, got one of ${found}`;
  throw sourceFault(`${name}: ${expected}; use a separate URL for another application`);
}

/** @throws RuntimeError */
function expectPlainParts(parts: readonly ShippedPart[], { name, trust }: StagingOptions): void {
  const reserved = parts.find(({ file }) => RESERVED_NAMES.has(file));
  if (reserved !== undefined) {
    const message = `expected model file names other than the bundle's, got ${reserved.file}`;
    throw sourceFault(`${name}: ${message}`);
  }
  const code = parts.find(({ kind }) => kind === "module");
  if (code === undefined || trust !== null) return;
  // Otherwise the source could run any code on this machine.
  const expected = `expected a signed bundle because it names code, got ${code.file}`;
  throw new RuntimeError(
    "RUNTIME_UNSIGNED",
    `${name}: ${expected}; serve with --require-signature, or with --models and the code there`,
  );
}

function sourceFault(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_SOURCE", message);
}
