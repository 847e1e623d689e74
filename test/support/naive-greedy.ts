import { FeedForward } from "../../compiler/graph/feed-forward.ts";
import {
  aloneMs,
  type Configuration,
  type TaskConfiguration,
} from "../../compiler/graph/served-tasks.ts";
import {
  costOf,
  excessOf,
  hardwareOf,
  type ProvisioningProblem,
  throughputQps,
} from "../../compiler/methods/inferline/solve/problem.ts";
import { scaleFactorsOf } from "../../compiler/methods/inferline/solve/scale-factors.ts";
import type { RequestTrace } from "../../compiler/simulate/graph/visits.ts";
import { meetsSlo } from "./inferline-brute-force.ts";

interface Candidate {
  readonly configuration: Configuration;
  readonly stage: number;
  readonly saving: number;
}

/**
 * Algorithms 1 and 2 as they are read, one replica at a time, everything evaluated, nothing
 * skipped.
 * @param downgrade whether to the next cheaper hardware, or to any.
 * @returns null where they find nothing within the pools.
 */
export function naiveGreedy(
  problem: ProvisioningProblem,
  trace: RequestTrace,
  sloMs: number,
  downgrade: "next" | "any" = "next",
): Configuration | null {
  const isFeasible = (one: Configuration): boolean => meetsSlo(problem, one, [trace], sloMs);
  let configuration = initialize(problem, trace, isFeasible);
  if (configuration === null) return null;
  for (;;) {
    const current: Configuration = configuration;
    const candidates = [
      ...simpleActions(problem, current).filter((one) => isFeasible(one.configuration)),
      ...downgrades({ problem, trace, downgrade }, current, isFeasible).filter(
        (one) => compareCost(problem, one.configuration, current) < 0,
      ),
    ].filter((one) => compareCost(problem, one.configuration, current) <= 0);
    const [best] = candidates.sort(
      (a, b) =>
        compareCost(problem, a.configuration, b.configuration) ||
        b.saving - a.saving ||
        percentileMs(problem, a.configuration, trace, sloMs) -
          percentileMs(problem, b.configuration, trace, sloMs) ||
        a.stage - b.stage,
    );
    if (best === undefined) return excessOf(problem, current) === 0 ? current : null;
    configuration = best.configuration;
  }
}

function initialize(
  problem: ProvisioningProblem,
  trace: RequestTrace,
  isFeasible: (one: Configuration) => boolean,
): Configuration | null {
  const scale = scaleFactorsOf(problem, [trace]);
  const configuration = problem.stages.map(({ hardware }): TaskConfiguration => {
    const order = hardware.map((_, index) => index);
    order.sort((a, b) => {
      const [one, other] = [hardware[a], hardware[b]];
      if (one === undefined || other === undefined) return 0;
      return aloneMs(one) - aloneMs(other) || one.price - other.price;
    });
    const [fastest = 0] = order;
    return { hardware: fastest, batch: hardware[fastest]?.batches[0] ?? 1, replicas: 1 };
  });
  for (let added = 0; added < 400; added++) {
    if (isFeasible(configuration)) return configuration;
    const throughput = configuration.map((one, stage) => {
      const qps = throughputQps(hardwareOf(problem, stage, one), one.batch);
      return (one.replicas * qps) / (scale[stage] ?? 0);
    });
    const stage = throughput.indexOf(Math.min(...throughput));
    const one = configuration[stage];
    if (one !== undefined) configuration[stage] = { ...one, replicas: one.replicas + 1 };
  }
  return null;
}

function simpleActions(problem: ProvisioningProblem, configuration: Configuration): Candidate[] {
  return configuration.flatMap((one, stage) => {
    const hardware = hardwareOf(problem, stage, one);
    const candidates: Candidate[] = [];
    if (one.replicas > 1) {
      const fewer = { ...one, replicas: one.replicas - 1 };
      candidates.push({ configuration: withStage(configuration, stage, fewer), stage, saving: 0 });
    }
    const batch = nextBatch(hardware.batches, one.batch);
    if (batch !== undefined) {
      const [before, after] = [one.batch, batch].map((size) => throughputQps(hardware, size));
      const needed = Math.ceil(one.replicas * ((before ?? 0) / (after ?? 1)));
      const saving = hardware.price * (one.replicas - needed);
      candidates.push({
        configuration: withStage(configuration, stage, { ...one, batch }),
        stage,
        saving,
      });
    }
    return candidates;
  });
}

interface Reach {
  readonly problem: ProvisioningProblem;
  readonly trace: RequestTrace;
  readonly downgrade: "next" | "any";
}

function downgrades(
  { problem, trace, downgrade }: Reach,
  configuration: Configuration,
  isFeasible: (one: Configuration) => boolean,
): Candidate[] {
  return configuration.flatMap((one, stage) => {
    const { price } = hardwareOf(problem, stage, one);
    const all = problem.stages[stage]?.hardware ?? [];
    const lower = all.map((other) => other.price).filter((other) => other < price);
    return all.flatMap((other, hardware): Candidate[] => {
      if (other.price >= price) return [];
      if (downgrade === "next" && other.price < Math.max(...lower)) return [];
      for (let replicas = 1; replicas <= trace.arrivalMs.length; replicas++) {
        const start = { hardware, batch: other.batches[0] ?? 1, replicas };
        const moved = withStage(configuration, stage, start);
        if (!isFeasible(moved)) continue;
        return [{ configuration: local(problem, moved, stage, isFeasible), stage, saving: 0 }];
      }
      return [];
    });
  });
}

/** A replica fewer if that works, else a larger batch, until neither does. */
function local(
  problem: ProvisioningProblem,
  start: Configuration,
  stage: number,
  isFeasible: (one: Configuration) => boolean,
): Configuration {
  let configuration = start;
  for (;;) {
    const one = configuration[stage];
    if (one === undefined) return configuration;
    const batch = nextBatch(hardwareOf(problem, stage, one).batches, one.batch);
    const tries = [
      ...(one.replicas > 1 ? [{ ...one, replicas: one.replicas - 1 }] : []),
      ...(batch === undefined ? [] : [{ ...one, batch }]),
    ].map((next) => withStage(configuration, stage, next));
    const next = tries.find(isFeasible);
    if (next === undefined) return configuration;
    configuration = next;
  }
}

function nextBatch(sizes: readonly number[], batch: number): number | undefined {
  const doubled = sizes.filter((size) => size > batch && size <= 2 * batch);
  return doubled.at(-1) ?? sizes.find((size) => size > batch);
}

function withStage(
  configuration: Configuration,
  stage: number,
  one: TaskConfiguration,
): Configuration {
  return configuration.map((other, index) => (index === stage ? one : other));
}

function compareCost(problem: ProvisioningProblem, a: Configuration, b: Configuration): number {
  return excessOf(problem, a) - excessOf(problem, b) || costOf(problem, a) - costOf(problem, b);
}

function percentileMs(
  problem: ProvisioningProblem,
  configuration: Configuration,
  trace: RequestTrace,
  sloMs: number,
): number {
  const estimate = new FeedForward(problem, trace, sloMs);
  for (const [stage, one] of configuration.entries()) {
    estimate.prepare(stage);
    estimate.serve(stage, one, Number.POSITIVE_INFINITY);
  }
  return estimate.percentileMs();
}
