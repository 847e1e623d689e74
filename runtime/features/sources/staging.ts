/** From what a source has to a revision in the store: checked, signed, with all of its files. */
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
  /** As messages name the source. */
  readonly name: string;
  readonly store: PolicyStore;
  readonly policy: StoredPolicy;
  /** Null where nobody has to sign. */
  readonly trust: Pick<Trust, "expect"> | null;
  /** Whether its models are of a folder of this machine, and come from nowhere else. */
  readonly hasOwnModels: boolean;
  /** That the bundle has to be of; null where any may begin. */
  readonly application: string | null;
  readonly nowEpochMs: () => number;
  /** Told of bytes that came over the net. */
  readonly onBytes: (byteCount: number) => void;
}

/** A revision that may be followed, and what its signature says; null where nobody has to sign. */
export interface Staged {
  readonly revision: Revision;
  readonly claims: Claims | null;
}

/**
 * Nothing is decoded before it is signed, where somebody has to, and nothing else is fetched before
 * the bundle is one; of what is refused nothing is left but files that were whole.
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
      // One after the other: of a slow line none would be whole when it breaks off.
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
  // What an attempt before has left may have been of another file.
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
 * Serials count within an application: a bundle of another one could be an old one of that.
 * @throws RuntimeError RUNTIME_SOURCE
 */
function expectSameApplication(
  { application: found }: Bundle,
  { name, application }: StagingOptions,
): void {
  if (application === null || found === application) return;
  const expected = `expected a bundle of the application ${application}, got one of ${found}`;
  throw sourceFault(`${name}: ${expected}; give another application a URL of its own`);
}

/** @throws RuntimeError */
function expectPlainParts(parts: readonly ShippedPart[], { name, trust }: StagingOptions): void {
  const taken = parts.find(({ file }) => RESERVED_NAMES.has(file));
  if (taken !== undefined) {
    const message = `expected models of other names than the bundle's own, got ${taken.file}`;
    throw sourceFault(`${name}: ${message}`);
  }
  const code = parts.find(({ kind }) => kind === "module");
  if (code === undefined || trust !== null) return;
  // Whoever has the place that bundles come from would have this machine.
  const expected = `expected a signed bundle where one names code, got ${code.file}`;
  throw new RuntimeError(
    "RUNTIME_UNSIGNED",
    `${name}: ${expected}; serve with --require-signature, or with --models and the code there`,
  );
}

function sourceFault(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_SOURCE", message);
}
