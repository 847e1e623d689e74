/** Options of `verify` and `pull` for signatures, in both command lines. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { RuntimeError } from "../base/errors.ts";
import { LABELS_EXPECTED, type Labels, labelsOf } from "../bundles/trust/labels.ts";
import type { SignatureOptions } from "./verify-signature.ts";

export interface SignatureFlags {
  readonly key?: readonly string[];
  readonly labels?: Labels;
  readonly models?: string;
}

export function addSignatureFlags(command: Command): Command {
  return addTrustOptions(command).option(
    "--models <folder>",
    "folder of the signed files (default: that of the bundle)",
  );
}

/** Adds the options for trusted signers. */
export function addTrustOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--key <file>", "public key of a trusted signer, NAME.pub (repeatable)").argParser(
        (text, before: readonly string[] = []) => [...before, text],
      ),
    )
    .option(
      "--labels <labels>",
      "labels of the site that its signature must be valid for",
      labelsFlag,
    );
}

/** Parses a value such as site=berlin,tier=edge. */
export function labelsFlag(text: string): Labels {
  const labels = labelsOf(text);
  if (labels !== undefined) return labels;
  throw new InvalidArgumentError(`expected ${LABELS_EXPECTED}`);
}

/** Returns null if no signature is required. @throws RuntimeError RUNTIME_USAGE without a key. */
export function signatureOptions(
  { key: keyFiles, labels, models }: SignatureFlags,
  nowEpochMs: () => number,
): SignatureOptions | null {
  if (keyFiles !== undefined) {
    return { keyFiles, labels: labels ?? null, models: models ?? null, nowEpochMs };
  }
  if (labels === undefined && models === undefined) return null;
  const flag = labels === undefined ? "--models" : "--labels";
  throw new RuntimeError("RUNTIME_USAGE", `expected --key NAME.pub beside ${flag}`);
}
