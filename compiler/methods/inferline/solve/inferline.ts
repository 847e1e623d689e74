/**
 * InferLine: on which hardware, in what batches and on how many replicas each task of a pipeline
 * runs, at the least cost. Source: InferLine §4.
 */
import {
  type InferlineLevel,
  MICROS,
  type ProvisioningPlan,
  type ProvisioningReport,
  type StagePlan,
  type TrafficSample,
} from "stratagem-runtime/internal/bundle/schema";
import type { Configuration } from "../../../graph/served-tasks.ts";
import type { InferlineFrame } from "../../../model/frames.ts";
import { branchesOf, type RootBranches } from "../../../model/root-branches.ts";
import { envelopeOf, peakRate, windowLengths } from "../../../numeric/traffic-envelope.ts";
import type { RequestTrace } from "../../../simulate/graph/visits.ts";
import { inferlineFrame } from "./frame.ts";
import { judge } from "./judge.ts";
import { type MarginPlan, planWithLeastMargin, planWithMargin } from "./margin.ts";
import { inferlineMistakes } from "./mistakes.ts";
import { oneEach } from "./one-each.ts";
import { costOf, hardwareOf, type ProvisioningProblem, throughputQps } from "./problem.ts";
import { provisioningProblem } from "./problem-of.ts";
import { HORIZON_SLOS } from "./sample-length.ts";
import { hasTraces, SampleTraces } from "./sample-traces.ts";
import { scaleFactorsOf } from "./scale-factors.ts";
import { serviceTimeMs } from "./service-time.ts";

/** A level as provisioned, before a simulation with the tuner has added its expected figures. */
export type ProvisionedLevel = Omit<InferlineLevel, "expected"> & {
  readonly heldOut: InferlineLevel["expected"]["heldOut"];
};

export const inferline = {
  mistakes: inferlineMistakes,
  frame: inferlineFrame,
  provisionLevel,
  estimateOf,
  statedLevel,
};

/** Number of traces that a margin is chosen with, and of held-out traces. */
const CALIBRATION_TRACES = 200;
const HELD_OUT_TRACES = 200;
/** Windows whose highest rate the tuner scales down by: 5 s in InferLine §5, at 100 ms. */
const RATE_WINDOW_SLOS = 50;
/**
 * Queries of all tasks that count as a millisecond of `solveLimit`: limits count queries, so that a
 * bundle does not depend on the machine.
 */
const QUERIES_PER_MS = 100_000;
/** A search that only decides whether there is a plan may use this fraction of the limit. */
const PROBE_PART = 20;
/** Loads to try if the pools cannot carry one, each half of the one before. */
const MOST_HALVINGS = 12;
/** Bisection steps that then find the load they carry. */
const BISECTIONS = 5;

/** @param branches of its searches, if several machines search. */
function provisionLevel(
  frame: InferlineFrame,
  loadQps: number,
  branches?: RootBranches,
): ProvisionedLevel {
  const problem = provisioningProblem(frame);
  const plan = planAt(frame, problem, loadQps, branches);
  if (plan.configuration !== null) {
    return levelOf(frame, problem, { loadQps, capacityQps: loadQps, plan });
  }
  const most = mostCarried(frame, problem, loadQps, branches);
  return levelOf(frame, problem, { loadQps, ...most });
}

function planAt(
  frame: InferlineFrame,
  problem: ProvisioningProblem,
  loadQps: number,
  branches: RootBranches | undefined,
): MarginPlan {
  const { margin, refine, downgrade, solveLimitMs, traces } = frame.policy;
  const sources = new SampleTraces(frame, loadQps);
  const samples = sources.samples(traces);
  const own = branchesOf(branches, `${loadQps} qps`);
  const limit = { queryLimit: solveLimitMs * QUERIES_PER_MS, branches: own };
  const options = { loadQps, refine, downgrade, ...limit };
  return margin === "auto"
    ? planWithLeastMargin(problem, samples, sources.calibration(CALIBRATION_TRACES), options)
    : planWithMargin(problem, samples, margin, options);
}

/**
 * Returns approximately the largest load that has a plan; if none has, one replica for each task.
 */
function mostCarried(
  frame: InferlineFrame,
  problem: ProvisioningProblem,
  loadQps: number,
  branches: RootBranches | undefined,
): { readonly capacityQps: number; readonly plan: MarginPlan } {
  let high = loadQps;
  let low = 0;
  for (let halving = 0; halving < MOST_HALVINGS && low === 0; halving++) {
    if (isCarried(frame, problem, high / 2, branches)) low = high / 2;
    else high /= 2;
  }
  for (let step = 0; step < BISECTIONS && low > 0; step++) {
    const middle = (low + high) / 2;
    if (isCarried(frame, problem, middle, branches)) low = middle;
    else high = middle;
  }
  // Whether a sample has a plan is not quite monotone in its load, nor in a margin.
  for (let capacityQps = low; capacityQps > low / 2; capacityQps -= low / 20) {
    const plan = planAt(frame, problem, capacityQps, branches);
    if (plan.configuration !== null) return { capacityQps, plan };
  }
  const configuration = oneEach(problem);
  const plan = { configuration, greedyCost: null, lowerBound: 0, evaluations: 0, margin: 0 };
  return { capacityQps: low > 0 ? low / 2 : high, plan };
}

/** Decides by a short search, and without choosing a margin. */
function isCarried(
  frame: InferlineFrame,
  problem: ProvisioningProblem,
  loadQps: number,
  branches: RootBranches | undefined,
): boolean {
  const { margin, refine, downgrade, solveLimitMs, traces } = frame.policy;
  const samples = new SampleTraces(frame, loadQps).samples(traces);
  const queryLimit = (solveLimitMs * QUERIES_PER_MS) / PROBE_PART;
  const own = branchesOf(branches, `${loadQps} qps`);
  const options = { loadQps, refine, downgrade, queryLimit, branches: own };
  const fixed = margin === "auto" ? 0 : margin;
  return planWithMargin(problem, samples, fixed, options).configuration !== null;
}

interface Planned {
  readonly loadQps: number;
  readonly capacityQps: number;
  readonly plan: MarginPlan;
}

function levelOf(
  frame: InferlineFrame,
  problem: ProvisioningProblem,
  { loadQps, capacityQps, plan }: Planned,
): ProvisionedLevel {
  const { configuration } = plan;
  if (configuration === null) throw new TypeError("level without a plan");
  const sources = new SampleTraces(frame, capacityQps);
  const samples = sources.samples(frame.policy.traces);
  const sample = sampleOf(problem, configuration, samples, sources.lengthMs, plan.margin);
  return {
    loadQps,
    feasible: capacityQps === loadQps,
    capacityQps,
    plan: bundledPlan(problem, configuration, samples, sample.meanQps),
    sample,
    heldOut: heldOutOf(frame, problem, configuration, sources),
    solve: reportOf(frame, problem, plan, capacityQps === loadQps),
  };
}

/** @param durationMs of one trace. */
function sampleOf(
  problem: ProvisioningProblem,
  configuration: Configuration,
  samples: readonly RequestTrace[],
  durationMs: number,
  margin: number,
): TrafficSample {
  const requests = samples.reduce((sum, { arrivalMs }) => sum + arrivalMs.length, 0);
  const serviceMs = serviceTimeMs(
    problem,
    configuration.map((one, stage) => wholeBatchMs(problem, stage, one)),
  );
  const { sloMs } = problem;
  // The windows of a sample are no longer than the sample.
  const windowMs = windowLengths(serviceMs, Math.min(HORIZON_SLOS * sloMs, durationMs));
  const envelopes = samples.map(({ arrivalMs }) => envelopeOf(arrivalMs, windowMs));
  const most = windowMs.map((_, window) => Math.max(...envelopes.map((one) => one[window] ?? 0)));
  const { percentileMs, missRate } = judge(problem, configuration, samples);
  return {
    requests,
    durationMs: samples.length * durationMs,
    meanQps: (1000 * requests) / (samples.length * durationMs),
    peakQps: Math.max(
      ...samples.map(({ arrivalMs }) => {
        return peakRate(arrivalMs, RATE_WINDOW_SLOS * sloMs, durationMs);
      }),
    ),
    margin,
    estimate: { p99Ms: percentileMs, missRate },
    envelope: {
      windowMs: { dtype: "float64", shape: [windowMs.length], data: windowMs },
      requests: { dtype: "float64", shape: [windowMs.length], data: most },
    },
  };
}

function heldOutOf(
  frame: InferlineFrame,
  problem: ProvisioningProblem,
  configuration: Configuration,
  sources: SampleTraces,
): ProvisionedLevel["heldOut"] {
  const after = frame.policy.margin === "auto" ? CALIBRATION_TRACES : 0;
  const heldOut = sources.heldOut(HELD_OUT_TRACES, after);
  const { traces, met, missRate } = judge(problem, configuration, heldOut);
  return { traces, met, missRate };
}

function bundledPlan(
  problem: ProvisioningProblem,
  configuration: Configuration,
  samples: readonly RequestTrace[],
  meanQps: number,
): ProvisioningPlan {
  const scaleFactors = scaleFactorsOf(problem, samples);
  const stages = configuration.map((one, stage): StagePlan => {
    const hardware = hardwareOf(problem, stage, one);
    const { batch, replicas } = one;
    const qps = throughputQps(hardware, batch);
    const scaleFactor = scaleFactors[stage] ?? 0;
    return {
      variant: hardware.variant,
      pool: hardware.pool,
      batch,
      replicas,
      latencyMs: wholeBatchMs(problem, stage, one),
      throughputQps: qps,
      scaleFactor,
      provisioningRatio: (meanQps * scaleFactor) / (replicas * qps),
    };
  });
  return { costPerHour: costOf(problem, configuration) / MICROS, stages };
}

function wholeBatchMs(
  problem: ProvisioningProblem,
  stage: number,
  one: Configuration[number],
): number {
  return hardwareOf(problem, stage, one).batchMs[one.batch - 1] ?? Number.NaN;
}

function reportOf(
  { policy }: InferlineFrame,
  problem: ProvisioningProblem,
  { configuration, greedyCost, lowerBound, evaluations }: MarginPlan,
  isFeasible: boolean,
): ProvisioningReport {
  const cost = configuration === null ? 0 : costOf(problem, configuration);
  const provenGap = Math.max(0, 1 - lowerBound / cost);
  const found = provenGap === 0 ? "optimal" : "feasible";
  return {
    method: policy.refine === "exact" ? "greedy, then branch and bound" : "greedy",
    status: isFeasible ? found : "infeasible",
    greedyCostPerHour: greedyCost === null ? null : greedyCost / MICROS,
    provenGap,
    evaluations,
  };
}

/**
 * Returns the level, its plan and sample with the times of the given frame: it may have been
 * planned with longer times.
 */
function statedLevel(frame: InferlineFrame, level: ProvisionedLevel): ProvisionedLevel {
  const problem = provisioningProblem(frame);
  const configuration = configurationOf(problem, level.plan);
  const sources = new SampleTraces(frame, level.capacityQps);
  const samples = sources.samples(frame.policy.traces);
  const { margin } = level.sample;
  const sample = sampleOf(problem, configuration, samples, sources.lengthMs, margin);
  return {
    ...level,
    plan: bundledPlan(problem, configuration, samples, sample.meanQps),
    sample,
    heldOut: heldOutOf(frame, problem, configuration, sources),
  };
}

function configurationOf(
  problem: ProvisioningProblem,
  { stages }: ProvisioningPlan,
): Configuration {
  return stages.map(({ variant, pool, batch, replicas }, stage) => {
    const hardware = problem.stages[stage]?.hardware.findIndex(
      (one) => one.variant === variant && one.pool === pool,
    );
    return { hardware: hardware ?? -1, batch, replicas };
  });
}

function estimateOf(
  frame: InferlineFrame,
  { plan, sample, capacityQps }: InferlineLevel,
): Pick<ProvisionedLevel, "sample" | "heldOut"> | null {
  if (!hasTraces(frame)) return null;
  const problem = provisioningProblem(frame);
  const configuration = configurationOf(problem, plan);
  const sources = new SampleTraces(frame, capacityQps);
  const samples = sources.samples(frame.policy.traces);
  return {
    sample: sampleOf(problem, configuration, samples, sources.lengthMs, sample.margin),
    heldOut: heldOutOf(frame, problem, configuration, sources),
  };
}
