/** `verify BUNDLE` of the runtime: integrity, schema and semantics. */

import { BundleError } from "../base/bundle-error.ts";
import { EXIT_CODES } from "../base/errors.ts";
import { type Bundle, FORMAT_VERSION } from "../bundle/schema.ts";
import { type LoadedBundle, loadBundle } from "../bundles/load-bundle.ts";
import { methodOf } from "../methods/registry.ts";
import type { CommandResult } from "./command-result.ts";

/**
 * Decodes a bundle and reports on it; `bundle` is null if it was refused. @throws RuntimeError if
 * the file cannot be read.
 */
export async function verifyBundle(
  path: string,
): Promise<{ readonly bundle: Bundle | null; readonly result: CommandResult }> {
  try {
    const file = await loadBundle(path);
    return { bundle: file.bundle, result: accepted(file) };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return { bundle: null, result: refused(path, error) };
  }
}

/** The runtime's own `verify`, which has no solver to recompute guarantees. */
export async function verifyCommand(path: string): Promise<CommandResult> {
  const { bundle, result } = await verifyBundle(path);
  if (bundle === null) return result;
  return {
    exitCode: result.exitCode,
    text: `${result.text}\nguarantees not recomputed: use stratagem verify, which has a solver`,
    json: { ...result.json, guarantees: null },
  };
}

function accepted({ path, byteCount, sha256, bundle }: LoadedBundle): CommandResult {
  const { application, method, levels } = bundle;
  const { stateCount, text: decisions } = methodOf(bundle).decisions(bundle);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `integrity ok: ${path}, ${byteCount} bytes, sha256 ${sha256}`,
      `schema ok: format version ${FORMAT_VERSION}, ${method} for "${application}"`,
      `semantics ok: ${levels.length} levels, ${decisions}`,
    ].join("\n"),
    json: {
      path,
      ok: true,
      formatVersion: FORMAT_VERSION,
      application,
      method,
      bytes: byteCount,
      sha256,
      levelCount: levels.length,
      stateCount,
    },
  };
}

function refused(path: string, { code, message }: BundleError): CommandResult {
  return {
    exitCode: EXIT_CODES.notVerified,
    text: `refused: ${code} ${message}`,
    json: { path, ok: false, error: { code, message } },
  };
}
