/**
 * A level of an InferLine bundle: its plan, and the results of a simulation with the tuner and the
 * production dispatcher.
 */
import type {
  InferlineBundle,
  InferlineLevel,
  ProvisioningExpected,
} from "stratagem-runtime/internal/bundle/schema";
import { depthOf } from "../../graph/depth.ts";
import type { InferlineFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedProfile, withoutPath } from "../../model/planned-times.ts";
import { branchesOf, type RootBranches } from "../../model/root-branches.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import type { RequestArrivals } from "../../simulate/graph/arriving-requests.ts";
import { havePipelineQuantiles } from "../../simulate/graph/pipeline-service-times.ts";
import { expectedTimes, withEnoughBatches } from "../../simulate/latency-sample.ts";
import { settledPlan } from "../../simulate/serving/planned-contention.ts";
import { simulateInferline } from "./simulate/simulate.ts";
import { inferline, type ProvisionedLevel } from "./solve/inferline.ts";
import { sampleLengthMs, simulatedMs } from "./solve/sample-length.ts";
import { hasTraces, SampleTraces } from "./solve/sample-traces.ts";

/** Differs from the sample's seed: traffic that was planned for proves little. */
const SEED = 1_000;

export async function simulatedLevel(
  frame: InferlineFrame,
  loadQps: number,
  branches?: RootBranches,
): Promise<InferlineLevel> {
  const { heldOut, ...level } = await provisioned(frame, loadQps, branches);
  const alone: InferlineLevel = { ...level, expected: { ...UNKNOWN, heldOut } };
  return { ...level, expected: { ...simulated(frame, [alone], level.capacityQps), heldOut } };
}

/** Plans with the serving path, and reports the plan as models alone run it. */
async function provisioned(
  frame: InferlineFrame,
  loadQps: number,
  branches: RootBranches | undefined,
): Promise<ProvisionedLevel> {
  const provisionedAt = (stretch: number): ProvisionedLevel => {
    const own = branchesOf(branches, `times by ${stretch}`);
    return inferline.provisionLevel(planningFrame(frame, stretch), loadQps, own);
  };
  if (frame.cluster.serving === undefined) return provisionedAt(1);
  const found = await settledPlan(
    frame.cluster,
    { loadQps, batches: depthOf(frame.tasks) },
    provisionedAt,
    ({ plan }) => plan.stages.reduce((sum, { replicas }) => sum + replicas, 0),
  );
  return inferline.statedLevel(frame, found);
}

/**
 * Returns the level with its promises recomputed.
 * @throws RangeError if that needs a recorded trace which is not at hand.
 */
export function promisedLevel(
  frame: InferlineFrame,
  { levels }: Pick<InferlineBundle, "levels">,
  level: InferlineLevel,
): InferlineLevel {
  const estimate = inferline.estimateOf(frame, level);
  if (estimate === null) throw new RangeError("the recorded trace is missing");
  const { sample, heldOut } = estimate;
  return {
    ...level,
    sample,
    expected: { ...simulated(frame, levels, level.capacityQps), heldOut },
  };
}

const UNKNOWN: Omit<ProvisioningExpected, "heldOut"> = {
  violationRate: 0,
  latencyMsP50: 0,
  latencyMsP99: 0,
  costPerHour: 0,
  seed: SEED,
  durationMs: 1,
};

/** The same frame and levels give the same numbers, bit for bit. */
function simulated(
  frame: InferlineFrame,
  levels: readonly InferlineLevel[],
  loadQps: number,
): Omit<ProvisioningExpected, "heldOut"> {
  const { recorded: _, ...shared } = frame;
  const bundle: InferlineBundle = {
    ...shared,
    levels,
    provenance: { compiler: "", inputs: [] },
  };
  const { arrivals, durationMs } = arrivalsAt(frame, loadQps);
  const simulate = (longer: number) =>
    simulateInferline(bundle, {
      arrivals,
      durationMs: longer * durationMs,
      seed: SEED,
      serviceTimes:
        frame.cluster.serving !== undefined && havePipelineQuantiles(frame.tasks)
          ? "sampled"
          : "p95",
    });
  // A recorded trace is as long as it is.
  const outcome = arrivals.kind === "requests" ? simulate(1) : withEnoughBatches(simulate);
  return {
    violationRate: outcome.violationRate,
    ...expectedTimes(outcome),
    costPerHour: outcome.costPerHour,
    seed: SEED,
    durationMs: outcome.durationMs,
  };
}

function arrivalsAt(
  frame: InferlineFrame,
  qps: number,
): { readonly arrivals: RequestArrivals; readonly durationMs: number } {
  const { arrivals, policy, recorded } = frame;
  const sampleMs = sampleLengthMs(policy, recorded, qps);
  if (arrivals.process === "trace") {
    const [trace] = hasTraces(frame) ? new SampleTraces(frame, qps).samples(1) : [];
    if (trace === undefined) throw new RangeError("recorded trace without arrivals");
    return { arrivals: { kind: "requests", trace }, durationMs: sampleMs };
  }
  const durationMs = simulatedMs(frame.slo.latencyMs, sampleMs, qps);
  return { arrivals: steadyArrivals(arrivals, qps), durationMs };
}

/** Its SLO is what decisions may spend, and its times are stretched. */
const planningFrame = framesByStretch((frame: InferlineFrame, stretch: number): InferlineFrame => {
  if (frame.cluster.serving === undefined) return frame;
  return {
    ...withoutPath(frame),
    tasks: frame.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({
        ...variant,
        profiles: variant.profiles.map((profile) => stretchedProfile(profile, stretch)),
      })),
    })),
  };
});
