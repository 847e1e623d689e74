/**
 * Implements `stratagem explain LOG… --replay --policy BUNDLE…`: repeats the decisions of a
 * decision log.
 */

import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import { type LoadedBundle, loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { eachLine, logPaths } from "../explain/log-files.ts";
import { ReplayPass } from "./replay-pass.ts";
import { replayJson, replayText } from "./replay-report.ts";

interface ReplayOptions {
  readonly logs: readonly string[];
  /** Bundles; each repeats the decisions that it made. */
  readonly policy: readonly string[];
}

/**
 * @throws RuntimeError RUNTIME_USAGE for a log without decisions; InputError if it cannot be read,
 * BundleError for a bundle.
 */
export async function replayCommand(
  { logs, policy }: ReplayOptions,
  signal: AbortSignal,
): Promise<CommandResult> {
  const bundles: LoadedBundle[] = [];
  for (const path of policy) bundles.push(await loadBundle(path));
  const files = await logPaths(logs);
  const pass = new ReplayPass(bundles);
  const log = { isGrowing: true, flag: "--decision-log" };
  for (const path of files) await eachLine(path, signal, (line) => pass.takeLine(line), log);
  pass.end();
  const { requests, events, skippedEvents, different, differentEvents, unreadable } = pass.counts;
  if (requests + events + skippedEvents === 0) {
    const found = `got none in ${files.join(", ")}; ${unreadable} lines are not of a decision log`;
    const message = `expected a log of serve --decision-log with decisions, ${found}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  return {
    exitCode: different + differentEvents > 0 ? EXIT_CODES.notVerified : EXIT_CODES.ok,
    text: replayText(pass, bundles),
    json: replayJson(pass, files, bundles),
  };
}
