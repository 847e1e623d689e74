/**
 * Warnings of `compile` for a bundle of tables: loads that the cluster cannot carry, and doubtful
 * levels.
 */
import {
  type RamsisBundle,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { percent } from "stratagem-runtime/internal/describe/text";
import type { Application } from "../../spec/application.ts";

/** One line for each run of adjacent infeasible levels. */
export function tableWarnings({ levels, slo }: RamsisBundle): string[] {
  const ceiling = violationCeiling(slo);
  const infeasible = infeasibleRuns(levels).map((run) => {
    const [{ loadQps: first }, last] = [run[0], run[run.length - 1] ?? run[0]];
    const { loadQps } = last;
    const which =
      run.length === 1
        ? `level ${first} qps is`
        : `${run.length} levels, ${first} to ${loadQps} qps, are`;
    return (
      `${which} not feasible: expected violations ${missedLimits(run, ceiling)}, allowed ` +
      percent(ceiling)
    );
  });
  return [...infeasible, ...levels.filter(isFarBelow).map(farBelow)];
}

/** Warns of buckets without stated shares of the load. */
export function bucketWarnings(
  { buckets }: Pick<RamsisBundle, "buckets">,
  { tasks }: Pick<Application, "tasks">,
): string[] {
  if (buckets === undefined || tasks[0]?.bucketShares !== undefined) return [];
  const names = buckets.map(({ name }) => name).join(", ");
  return [`no bucketShares: the buckets ${names} are assumed to have equal shares of the load`];
}

/** The highest rate in a run of levels. */
function ratesOf(run: Run, rateOf = (level: RamsisLevel) => level.expected.violationRate): string {
  return `${run.length === 1 ? "" : "up to "}${percent(Math.max(...run.map(rateOf)))}`;
}

/** The limit holds for each class, if there are classes: the rates of those that miss it. */
function missedLimits(run: Run, ceiling: number): string {
  const missed = Object.keys(run[0].expected.byClass ?? {}).flatMap((name) => {
    const rateOf = ({ expected }: RamsisLevel) => expected.byClass?.[name]?.violationRate ?? 0;
    if (run.every((level) => rateOf(level) <= ceiling)) return [];
    return [`of class ${name} ${ratesOf(run, rateOf)}`];
  });
  return missed.length === 0 ? ratesOf(run) : missed.join(", ");
}

/**
 * Fraction of the fastest variant's capacity: below it there is spare time, and a policy far from
 * its bound needs an explanation.
 */
const LOW_UTILISATION = 0.5;
const FAR_BELOW = 0.02;

function isFarBelow({ loadQps, capacityQps, expected }: RamsisLevel): boolean {
  const gap = (expected.servedBoundAccuracy ?? 0) - expected.accuracyPerQuery;
  return loadQps <= LOW_UTILISATION * capacityQps && gap > FAR_BELOW;
}

function farBelow({ loadQps, expected }: RamsisLevel): string {
  const [own, bound] = [expected.accuracyPerQuery, expected.servedBoundAccuracy ?? 0];
  return (
    `level ${loadQps} qps: an accuracy of ${percent(own)} is far below the bound of ` +
    `${percent(bound)} although the workers have time to spare; with few workers or a tight SLO ` +
    "queries that arrive together by chance may be the reason"
  );
}

type Run = [RamsisLevel, ...RamsisLevel[]];

/** Adjacent levels that are not feasible. */
function infeasibleRuns(levels: readonly RamsisLevel[]): Run[] {
  const runs: Run[] = [];
  for (const [index, level] of levels.entries()) {
    const previous = levels[index - 1];
    const run = runs[runs.length - 1];
    if (level.feasible) continue;
    if (previous?.feasible === false && run !== undefined) run.push(level);
    else runs.push([level]);
  }
  return runs;
}
