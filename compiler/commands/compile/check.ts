/** Implements `compile --check`: compares the existing bundle with the compiled one. */
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
 * @param path of the bundle, which may not exist.
 * @param bytes of the compiled bundle. @param files that would lie beside it.
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
      : `, but these stage files are missing or differ: ${differing.join(", ")}`;
  const headline = `${path} ${state}${stages}${same ? "" : "; compile again to update it"}`;
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
  /** Null if the existing file is not a bundle that can be compared. */
  readonly diff: BundleDiff | null;
}

/** The compiled bundle is not written, so only a summary can be shown. */
const ALL_BY = "compile to another file and run gate --show to see all";

/** Compares the existing file with the compiled bundle. */
async function difference(path: string, after: Bundle): Promise<Difference> {
  try {
    const { bundle: before } = await loadBundle(path);
    const diff = diffBundles(before, after);
    const levelCount = new Set([...before.levels, ...after.levels].map(({ loadQps }) => loadQps))
      .size;
    if (!diff.same) return { diff, text: diffText(diff, { levelCount, allBy: ALL_BY }) };
    return { diff, text: "equal content, encoded differently" };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    return {
      diff: null,
      text: `the existing file is not a bundle: ${error.code} ${error.message}`,
    };
  }
}
