/** What must hold of the levels of a bundle with a serving path, whatever the problem. */
import { compile } from "../../compiler/levels/compile.ts";
import type { Baseline } from "../../compiler/methods/ramsis/simulate/baseline-names.ts";
import { ViolationBlocks } from "../../compiler/methods/ramsis/solve/violation-blocks.ts";
import type { LoadedApplication } from "../../compiler/spec/load-application.ts";
import {
  type RamsisBundle,
  type RamsisLevel,
  violationCeiling,
} from "../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { simulatedAs } from "./beaten.ts";
import type { RandomServed } from "./random-served.ts";
import { SERVED_OPTIONS } from "./served-application.ts";

export async function compiled(loaded: LoadedApplication): Promise<RamsisBundle> {
  const { bundle } = await compile(loaded, SERVED_OPTIONS);
  const read = decodeBundle(encodeBundle(bundle));
  if (read.method !== "ramsis") throw new TypeError("expected a bundle of tables");
  return read;
}

/** The arrivals, service times and serving path that the promise of a level is made with. */
function servedAs(bundle: RamsisBundle, level: RamsisLevel, baseline: Baseline | null) {
  const { loadQps } = level;
  const queries = Math.min(250_000, Math.max(50_000, Math.ceil(60 * loadQps)));
  const durationMs = (1000 * queries) / loadQps;
  const blocks = new ViolationBlocks(durationMs);
  const result = simulatedAs(
    baseline,
    { ...bundle, levels: [level] },
    {
      arrivals: { kind: "poisson", qps: loadQps },
      durationMs,
      seed: 1,
      serviceTimes: "sampled",
      onViolation: (arrivalMs) => blocks.count(arrivalMs),
    },
  );
  return { ...result, promisedRate: blocks.upperRate(result.queries) };
}

/** Baselines that keep the ceiling at a level that is called infeasible, as lines. */
export function keptByBaselines(bundle: RamsisBundle): string[] {
  const ceiling = violationCeiling(bundle.slo);
  const fixed = bundle.tasks[0]?.variants.map(({ name }) => ({ kind: "fixed", variant: name }));
  const baselines = [{ kind: "greedy" }, { kind: "jellyfish" }, ...(fixed ?? [])] as const;
  return bundle.levels.flatMap((level) => {
    if (level.feasible) return [];
    return baselines.flatMap((baseline) => {
      const { promisedRate } = servedAs(bundle, level, baseline as Baseline);
      if (promisedRate > ceiling) return [];
      const own = level.expected.violationRate;
      return [`${level.loadQps} qps: ${JSON.stringify(baseline)} ${promisedRate}, level ${own}`];
    });
  });
}

/** Levels that are worse in a bundle with more loads, as lines. */
export function worseWithMore(few: RamsisBundle, more: RamsisBundle): string[] {
  return few.levels.flatMap((level) => {
    const same = more.levels.find(({ loadQps }) => loadQps === level.loadQps);
    if (same === undefined) return [`${level.loadQps} qps is missing`];
    const isWorse =
      (level.feasible && !same.feasible) ||
      (level.feasible === same.feasible &&
        same.expected.accuracyPerQuery < level.expected.accuracyPerQuery);
    if (!isWorse) return [];
    const [before, after] = [level.expected, same.expected];
    return [`${level.loadQps} qps: ${before.accuracyPerQuery}, then ${after.accuracyPerQuery}`];
  });
}

/** The longest latency of a level, in SLOs. */
export function longestSlos(bundle: RamsisBundle, level: RamsisLevel): number {
  const { latencyMs } = servedAs(bundle, level, null);
  return (latencyMs?.max ?? 0) / bundle.slo.latencyMs;
}

/** All of it for one problem. */
export async function broken(problem: RandomServed): Promise<{
  readonly levels: number;
  readonly infeasible: number;
  readonly kept: readonly string[];
  readonly worse: readonly string[];
  readonly longest: number;
}> {
  const { loads } = problem;
  const more = await compiled(problem.at(loads));
  const few = await compiled(problem.at(loads.filter((_, at) => at % 2 === 0)));
  return {
    levels: more.levels.length,
    infeasible: more.levels.filter(({ feasible }) => !feasible).length,
    kept: keptByBaselines(more),
    worse: worseWithMore(few, more),
    longest: Math.max(...more.levels.map((level) => longestSlos(more, level))),
  };
}
