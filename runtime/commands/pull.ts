/** `pull REF -o DIR`: a policy from a registry, with its models, into a folder. */
import { EXIT_CODES } from "../base/errors.ts";
import { sidecarOf } from "../bundles/shipping/sidecars.ts";
import { type Claims, Trust, type TrustOptions } from "../bundles/trust/trust.ts";
import { expectClaimed } from "../bundles/trusted-bundle.ts";
import { counted, explainedTable } from "../describe/text.ts";
import { type JudgePulled, type PulledFile, pullPolicy } from "../registry/pull-policy.ts";
import { formatReference, type RegistryReference } from "../registry/reference.ts";
import { openRegistry, type RegistryOptions } from "../registry/registry.ts";
import type { CommandResult } from "./command-result.ts";

interface PullOptions extends Pick<RegistryOptions, "auth" | "signal"> {
  readonly reference: RegistryReference;
  /** Folder; it is made if its parent exists. */
  readonly out: string;
  /** Keys and labels that its signature is checked with; null to skip the check. */
  readonly trusted: Pick<TrustOptions, "keyFiles" | "labels" | "nowEpochMs"> | null;
}

/** @throws BundleError, RuntimeError */
export async function pullCommand(options: PullOptions): Promise<CommandResult> {
  const { reference, out, auth, signal, trusted } = options;
  const registry = openRegistry(reference, { auth, signal });
  const trust = trusted === null ? null : await Trust.open({ ...trusted, memory: null });
  const judged: { claims: Claims | null } = { claims: null };
  const judge =
    trust === null
      ? undefined
      : judgeBy(trust, (claims) => {
          judged.claims = claims;
        });
  const { digest, path, bundle, files } = await pullPolicy(registry, out, judge);
  const { claims } = judged;
  const name = files.at(-1)?.file ?? "";
  const isSigned = files.some(({ file }) => file === sidecarOf(name, "signature"));
  const fetched = files.filter(({ wasFetched }) => wasFetched).length;
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${formatReference(reference)} is ${digest}`,
      `${path}: ${bundle.method} for "${bundle.application}", ${counted(fetched, "file")} fetched`,
      "",
      fileTable(files),
      "",
      signatureText(isSigned, claims),
    ].join("\n"),
    json: {
      reference: formatReference(reference),
      digest,
      path,
      application: bundle.application,
      method: bundle.method,
      isSigned,
      signature: claims === null ? null : claimsJson(claims),
      files,
    },
  };
}

function judgeBy(trust: Trust, onClaims: (claims: Claims) => void): JudgePulled {
  return async (bytes, envelope, place) => {
    const claims = await trust.expect(bytes, envelope, place);
    onClaims(claims);
    return (bundle) => expectClaimed(bundle, claims, place);
  };
}

function signatureText(isSigned: boolean, claims: Claims | null): string {
  if (claims !== null) {
    const { keyId, serial, issuedAt } = claims;
    return `valid signature: key ${keyId}, serial ${serial}, issued ${issuedAt}`;
  }
  if (!isSigned) return "no signature";
  return "signature not checked: pass --key to check it";
}

function claimsJson({ keyId: key, serial, issuedAt, expiresAt, scope }: Claims): object {
  return { key, serial, issuedAt, expiresAt, scope };
}

function fileTable(files: readonly PulledFile[]): string {
  return explainedTable([
    ["file", "bytes", "sha256", ""],
    ...files.map(({ file, bytes, sha256, wasFetched }) => {
      return [file, String(bytes), `${sha256.slice(0, 12)}…`, wasFetched ? "fetched" : "present"];
    }),
  ]);
}
