/** `pull REF -o DIR`: a policy from a registry, with its models, into a folder. */
import { EXIT_CODES } from "../errors.ts";
import { type PulledFile, pullPolicy } from "../registry/pull-policy.ts";
import { formatReference, type RegistryReference } from "../registry/reference.ts";
import { openRegistry, type RegistryOptions } from "../registry/registry.ts";
import { sidecarOf } from "../shipping/sidecars.ts";
import { alignColumns, counted } from "../tell/text.ts";
import type { CommandResult } from "./command-result.ts";

export interface PullOptions extends Pick<RegistryOptions, "auth" | "signal"> {
  readonly reference: RegistryReference;
  /** Folder; it is made if its own folder is there. */
  readonly out: string;
}

/** @throws BundleError, RuntimeError */
export async function pullCommand(options: PullOptions): Promise<CommandResult> {
  const { reference, out, auth, signal } = options;
  const registry = openRegistry(reference, { auth, signal });
  const { digest, path, bundle, files } = await pullPolicy(registry, out);
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
      isSigned
        ? "its signature is beside it, and not checked: verify --key does that"
        : "it has no signature",
    ].join("\n"),
    json: {
      reference: formatReference(reference),
      digest,
      path,
      application: bundle.application,
      method: bundle.method,
      isSigned,
      files,
    },
  };
}

function fileTable(files: readonly PulledFile[]): string {
  return alignColumns([
    ["file", "bytes", "sha256", ""],
    ...files.map(({ file, bytes, sha256, wasFetched }) => {
      return [file, String(bytes), `${sha256.slice(0, 12)}…`, wasFetched ? "fetched" : "was there"];
    }),
  ]);
}
