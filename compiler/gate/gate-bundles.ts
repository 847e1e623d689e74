/**
 * Implements `stratagem gate OLD NEW`: decides by the promises whether one bundle may replace
 * another.
 */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import { type LoadedBundle, loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { compare } from "./compare.ts";
import { type GateOutcome, passes } from "./gate-outcome.ts";
import { gateMarkdown, gateText, regressionsOf } from "./gate-table.ts";
import { judge } from "./judge.ts";
import {
  type AskedPercentiles,
  askedByRequirements,
  askedPercentile,
  withPercentiles,
} from "./percentiles.ts";
import { promisedBundle } from "./promised-bundle.ts";
import { requirementsAsked } from "./required-outcome.ts";
import { type Tolerance, tolerancesOf } from "./tolerance.ts";

export interface GateOptions {
  readonly before: string;
  readonly after: string;
  readonly allow?: string;
  readonly require?: string;
  readonly markdown?: true;
}

/** @throws BundleError or RuntimeError for a bundle or an option. */
export async function gateCommand(
  options: GateOptions,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const { before: oldPath, after: newPath } = options;
  const tolerances = options.allow === undefined ? [] : tolerancesOf(options.allow, "--allow");
  const requirements = requirementsAsked(options.require) ?? [];
  const files = [await loadBundle(oldPath), await loadBundle(newPath)] as const;
  const asked = tolerances.flatMap(({ figure, scope }) => askedPercentile(figure, scope));
  const before = await promisesOf(files[0], asked, watch);
  const after = await promisesOf(files[1], asked, watch);
  // Figures that only a requirement needs are not compared with the old bundle.
  const own = askedByRequirements(requirements);
  const required = await withPercentiles(after, files[1].bundle, own, watch);
  const outcome: GateOutcome = {
    before,
    after,
    oldPath,
    newPath,
    rows: compare(before, after, tolerances),
    requirements: judge(requirements, required),
  };
  return {
    exitCode: passes(outcome) ? EXIT_CODES.ok : EXIT_CODES.notVerified,
    text: options.markdown === true ? gateMarkdown(outcome) : gateText(outcome),
    json: documentOf(outcome, files, tolerances),
  };
}

async function promisesOf(
  { bundle, byteCount }: LoadedBundle,
  asked: readonly AskedPercentiles[],
  watch: SimulateWatch,
) {
  return withPercentiles(await promisedBundle(bundle, byteCount), bundle, asked, watch);
}

function documentOf(
  { before, after, rows, requirements }: GateOutcome,
  [oldFile, newFile]: readonly [LoadedBundle, LoadedBundle],
  tolerances: readonly Tolerance[],
): object {
  const fileOf = ({ path, sha256, byteCount, bundle }: LoadedBundle): object => {
    const { application, method } = bundle;
    return { path, sha256, bytes: byteCount, application, method };
  };
  return {
    ok: passes({ rows, requirements }),
    old: fileOf(oldFile),
    new: fileOf(newFile),
    allow: tolerances.map(({ text }) => text),
    regressions: regressionsOf(rows),
    comparisons: rows,
    requirements,
    levels: { old: before.levels.length, new: after.levels.length },
  };
}
