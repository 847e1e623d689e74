/**
 * Baselines of provisioned tasks: coarse-grained plans for the sample traces of a bundle, with or
 * without a tuner.
 */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { InferlineBundle, ProvisioningPlan } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import type { ReplicaTuner } from "stratagem-runtime/internal/methods/inferline/core/replica-tuner";
import { SCALER_NAMES } from "../../simulate/graph/scalers/scalers.ts";
import { CoarseTuner } from "./simulate/coarse-tuner.ts";
import { coarsePlan } from "./solve/baselines/coarse-plan.ts";
import { hasTraces, SampleTraces } from "./solve/sample-traces.ts";

interface Baseline {
  readonly sizing: "mean" | "peak";
  readonly isTuned: boolean;
}

/** Plans of the whole pipeline as a unit. */
export const COARSE_BASELINES = [
  "cg-mean",
  "cg-peak",
  "cg-mean-autoscale",
  "cg-peak-autoscale",
] as const;
type StageBaselineName = (typeof COARSE_BASELINES)[number];

/** Baselines for provisioned tasks, in the order of the help. */
export const INFERLINE_BASELINES: readonly string[] = [...COARSE_BASELINES, ...SCALER_NAMES];

const BASELINES: Readonly<Record<StageBaselineName, Baseline>> = {
  "cg-mean": { sizing: "mean", isTuned: false },
  "cg-peak": { sizing: "peak", isTuned: false },
  "cg-mean-autoscale": { sizing: "mean", isTuned: true },
  "cg-peak-autoscale": { sizing: "peak", isTuned: true },
};

interface InferlineBaseline {
  /** The bundle with the baseline's plans, and without a tuner. */
  readonly bundle: InferlineBundle;
  /**
   * Makes the tuner; null if replicas stay as planned.
   * @param firstQps load at first, NaN if it is not known.
   */
  tunerFor(firstQps: number): ReplicaTuner | null;
}

/**
 * Plans the levels of a bundle coarsely, each for its own sample traces, which are drawn again; of
 * several plans the most expensive counts.
 * @throws RuntimeError for a name that is not a coarse-grained plan, for traces that cannot be
 * drawn, and for a level without such a plan.
 */
export function inferlineBaseline(bundle: InferlineBundle, name: string): InferlineBaseline {
  const known = COARSE_BASELINES.find((one) => one === name);
  if (known === undefined) {
    throw usage(
      `--baseline ${name} is not for a bundle of method inferline; ` +
        `expected one of ${INFERLINE_BASELINES.join(", ")}`,
    );
  }
  const baseline = BASELINES[known];
  const levels = bundle.levels.map((level) => {
    const plan = planFor(bundle, level, { name, ...baseline });
    return { ...level, plan };
  });
  const planned: InferlineBundle = {
    ...bundle,
    policy: { ...bundle.policy, tuner: "none" },
    levels,
  };
  return {
    bundle: planned,
    tunerFor: (firstQps) =>
      baseline.isTuned ? new CoarseTuner(planned, levelForLoad(levels, firstQps)) : null,
  };
}

function planFor(
  bundle: InferlineBundle,
  { loadQps, capacityQps, plan }: InferlineBundle["levels"][number],
  { name, sizing }: Baseline & { readonly name: string },
): ProvisioningPlan {
  const { policy, arrivals } = bundle;
  // A bundle has the name of a recorded trace, not its arrivals.
  const frame = { ...bundle, recorded: null };
  if (!hasTraces(frame)) {
    const file = arrivals.process === "trace" ? arrivals.file : "";
    throw usage(
      `--baseline ${name} plans for the bundle's sample, which was recorded (${file}) ` +
        "and is not in the bundle; compile with poisson or gamma arrivals to compare",
    );
  }
  const sources = new SampleTraces(frame, capacityQps);
  const plans = sources.samples(policy.traces).map(({ arrivalMs }) =>
    coarsePlan(bundle, {
      arrivalMs,
      durationMs: sources.lengthMs,
      scaleFactors: plan.stages.map(({ scaleFactor }) => scaleFactor),
      sizing,
    }),
  );
  const found = plans.filter((one) => one !== null);
  const [dearest] = found.toSorted((a, b) => b.costPerHour - a.costPerHour);
  if (dearest === undefined || found.length < plans.length) {
    throw usage(
      `--baseline ${name} has no plan for ${loadQps} qps: no batch of the whole pipeline ` +
        "meets the SLO, or the pools have too few workers",
    );
  }
  return dearest;
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
