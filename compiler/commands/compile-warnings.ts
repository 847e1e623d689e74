/** What `compile` warns of: what the cluster cannot do as it was asked to. */
import {
  type Bundle,
  type InferlineBundle,
  type RamsisBundle,
  type RamsisLevel,
  type ThemisBundle,
  violationCeiling,
} from "../../runtime/bundle/schema.ts";
import { percent } from "../../runtime/tell/text.ts";
import { placeWarnings } from "../methods/accordion/place-report.ts";

/** Levels that the cluster cannot carry, or not in time. @param uncut names of models that have a file and no layers. */
export function warnings(bundle: Bundle, uncut: readonly string[]): string[] {
  const ceiling = violationCeiling(bundle.slo);
  if (bundle.method === "accordion") return placeWarnings(bundle, uncut);
  if (bundle.method === "ramsis") return tableWarnings(bundle);
  if (bundle.method === "inferline") return provisioningWarnings(bundle);
  if (bundle.method === "themis") return scalingWarnings(bundle);
  return bundle.levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: above the capacity of ${Math.floor(capacityQps)} qps, whose plan it has; the excess is shed`;
    }
    if (expected.violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO when it is simulated, allowed ${percent(ceiling)}; the plan has no room for queues`;
  });
}

/** Of held-out traces, for which a margin is worth a thought. */
const FEW_MET = 0.95;

function provisioningWarnings({ levels, slo, policy }: InferlineBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice = policy.margin === "auto" ? "" : "; policy.margin: auto leaves room for them";
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: the pools have a plan up to about ${Math.floor(capacityQps)} qps, and it has that one`;
    }
    const { traces, met } = expected.heldOut;
    if (met < FEW_MET * traces) {
      return `level ${loadQps} qps: ${met} of ${traces} traces that were not planned with meet the SLO${advice}`;
    }
    if (expected.violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO when it is simulated, allowed ${percent(ceiling)}`;
  });
}

function scalingWarnings({ levels, slo, policy }: ThemisBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice =
    policy.queueing === "paper" ? "; policy.queueing: stochastic counts with them" : "";
  return levels.flatMap(({ loadQps, feasible, capacityQps, steady }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: the pool has a plan up to about ${Number(capacityQps.toPrecision(3))} qps, and it has that one`;
    }
    const { violationRate } = steady.expected;
    if (violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(violationRate)} of random requests miss the SLO, allowed ${percent(ceiling)}${advice}`;
  });
}

/** One line for each run of neighbours that are not feasible. */
function tableWarnings({ levels, slo }: RamsisBundle): string[] {
  const allowed = `allowed ${percent(violationCeiling(slo))}`;
  const infeasible = infeasibleRuns(levels).map((run) => {
    const [{ loadQps: first }, last] = [run[0], run[run.length - 1] ?? run[0]];
    const { loadQps, capacityQps } = last;
    const which =
      run.length === 1
        ? `level ${first} qps is`
        : `${run.length} levels, ${first} to ${loadQps} qps, are`;
    const highest = Math.max(...run.map(({ expected }) => expected.violationRate));
    const violations = `expected violations ${run.length === 1 ? "" : "up to "}${percent(highest)}`;
    return loadQps > capacityQps
      ? `${which} not feasible: above the capacity of ${Math.floor(capacityQps)} qps, ${violations}`
      : `${which} not feasible: ${violations}, ${allowed}`;
  });
  return [...infeasible, ...levels.filter(isFarBelow).map(farBelow)];
}

/** Of the capacity: below it there is time to spare, and a policy that is far from its bound needs an explanation. */
const LOW_UTILISATION = 0.5;
const FAR_BELOW = 0.02;

function isFarBelow({ loadQps, capacityQps, expected }: RamsisLevel): boolean {
  const gap = (expected.servedBoundAccuracy ?? 0) - expected.accuracyPerQuery;
  return loadQps <= LOW_UTILISATION * capacityQps && gap > FAR_BELOW;
}

function farBelow({ loadQps, capacityQps, expected }: RamsisLevel): string {
  const used = percent(loadQps / capacityQps);
  const [own, bound] = [expected.accuracyPerQuery, expected.servedBoundAccuracy ?? 0];
  return `level ${loadQps} qps: an accuracy of ${percent(own)} is far below the bound of ${percent(bound)} at ${used} of the capacity; with few workers or a tight SLO queries that meet by chance may be why`;
}

type Run = [RamsisLevel, ...RamsisLevel[]];

/** Levels that are not feasible and follow each other; those above the capacity are a run of their own. */
function infeasibleRuns(levels: readonly RamsisLevel[]): Run[] {
  const runs: Run[] = [];
  for (const [index, level] of levels.entries()) {
    const previous = levels[index - 1];
    const run = runs[runs.length - 1];
    if (level.feasible) continue;
    const isSameKind =
      previous !== undefined &&
      !previous.feasible &&
      previous.loadQps > previous.capacityQps === level.loadQps > level.capacityQps;
    if (isSameKind && run !== undefined) run.push(level);
    else runs.push([level]);
  }
  return runs;
}
