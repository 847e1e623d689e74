/** `compile --check`: whether a bundle is what would be written, and what of it is not. */
import { createHash } from "node:crypto";
import { BundleError } from "stratagem-runtime/internal/base/bundle-error";
import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { readBundle } from "stratagem-runtime/internal/bundles/read-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { type BundleDiff, diffBundles } from "../../gate/differences.ts";
import { diffText } from "../../gate/differences-text.ts";
import type { BundleFile } from "../../methods/method.ts";
import { InputError } from "../../spec/document/input-error.ts";
import { existingFile, filesThatDiffer } from "./bundle-files.ts";

/**
 * @param path of the bundle that is there, or is not.
 * @param bytes that would be written. @param files that would be beside it.
 */
export async function compareWith(
  path: string,
  bytes: Uint8Array,
  files: readonly BundleFile[],
): Promise<CommandResult> {
  const existing = await existingFile(path, bytes.length).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${code ?? message})`);
  });
  const isSame = existing !== null && Buffer.compare(existing, bytes) === 0;
  const differing = await filesThatDiffer(path, files);
  const same = isSame && differing.length === 0;
  const state = existing === null ? "does not exist" : isSame ? "is up to date" : "differs";
  const stages =
    differing.length === 0
      ? ""
      : `, but these of its stages are missing or differ: ${differing.join(", ")}`;
  const headline = `${path} ${state}${stages}${same ? "" : "; compile it again to update it"}`;
  const found =
    existing === null || isSame ? null : await difference(path, await readBundle(bytes));
  return {
    exitCode: same ? EXIT_CODES.ok : EXIT_CODES.different,
    text: found === null ? headline : `${headline}\n${found.text}`,
    json: {
      path,
      same,
      exists: existing !== null,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      ...(files.length === 0 ? {} : { differingStages: differing }),
      ...(found === null ? {} : { diff: found.diff }),
    },
  };
}

interface Difference {
  readonly text: string;
  /** Null where the file that is there is no bundle that could be compared. */
  readonly diff: BundleDiff | null;
}

/** There is only one file to be compared with what was computed. */
const ALL_BY = "compile to another file, and gate --show shows them";

/** From the file that is there to the bundle that would be. */
async function difference(path: string, after: Bundle): Promise<Difference> {
  try {
    const { bundle: before } = await loadBundle(path);
    const diff = diffBundles(before, after);
    const levelCount = new Set([...before.levels, ...after.levels].map(({ loadQps }) => loadQps))
      .size;
    if (!diff.same) return { diff, text: diffText(diff, { levelCount, allBy: ALL_BY }) };
    return { diff, text: "both say the same, in other bytes" };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return { diff: null, text: `what is there is no bundle: ${error.code} ${error.message}` };
  }
}
