/** `inspect BUNDLE URL [--level QPS] [--state queued=7,slack=40ms[,class=NAME]]`. */

import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import type { Bundle } from "../bundle/schema.ts";
import { inspectBundle } from "../bundles/inspect.ts";
import { loadBundle } from "../bundles/load-bundle.ts";
import { levelForLoad } from "../core/level-choice.ts";
import type { ActionValuesOf } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import type { CommandResult } from "./command-result.ts";
import { inspectServer } from "./inspect-server.ts";

interface InspectOptions {
  readonly path: string;
  /** Load whose level to show; null for the summary, or for the top level with a state. */
  readonly loadQps: number | null;
  /** Text of `--state`. */
  readonly state: string | null;
}

/**
 * @param actionValuesOf computes values of actions; left out, none are shown.
 * @throws BundleError or RuntimeError if the file or the state is invalid.
 */
export async function inspectCommand(
  { path, loadQps, state: asked }: InspectOptions,
  actionValuesOf?: ActionValuesOf,
): Promise<CommandResult> {
  if (/^https?:\/\//.test(path)) {
    if (loadQps === null && asked === null) return inspectServer(path);
    throw new RuntimeError("RUNTIME_USAGE", `--level and --state: expected a bundle, got ${path}`);
  }
  const file = await loadBundle(path);
  const { bundle } = file;
  const method = methodOf(bundle);
  const inspection = inspectBundle(bundle, file);
  const exitCode = EXIT_CODES.ok;
  if (asked !== null) {
    const request = { text: asked, loadQps, actionValuesOf };
    const { text, json: state } = await method.describeState(bundle, request);
    return { exitCode, text, json: { ...inspection, state } };
  }
  if (loadQps !== null) {
    const { text, json: level } = method.describeLevel(
      bundle,
      levelForLoad(bundle.levels, loadQps),
    );
    return { exitCode, text, json: { ...inspection, level } };
  }
  return { exitCode, text: method.summary(bundle, inspection), json: inspection };
}

/** Returns one row per level: its load and its promises. */
export function levelTable(bundle: Bundle): string {
  return methodOf(bundle).levelTable(bundle);
}
