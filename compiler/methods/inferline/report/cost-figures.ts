/** Figures over the load: cost, replicas and latency. */
import * as Plot from "@observablehq/plot";
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { beyondMarks, drawLatencies, mostMs } from "../../../report/kit/latency-figure.ts";
import { levelLine, loadAxis, pointsOf } from "../../../report/kit/load-axis.ts";
import { type LevelBar, rangeOf, rings, stackedBars } from "../../../report/kit/plan-figures.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText } from "../../../report/number-text.ts";
import { keyOf } from "./hardware-keys.ts";

const GREEDY_STYLE = { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 };
const BOUND_STYLE = { stroke: "currentColor", strokeDasharray: "7 3", strokeWidth: 1 };
export function replicasOf({ plan }: InferlineLevel): number {
  return plan.stages.reduce((sum, { replicas }) => sum + replicas, 0);
}

/**
 * Cost of the plans, of the greedy ones, the proven lower bound, and the cost of tuned replicas in
 * a simulation.
 */
export function drawCost(bundle: InferlineBundle): Markup {
  const planned = pointsOf(bundle.levels, ({ plan }) => plan.costPerHour);
  const carried = bundle.levels.filter(({ feasible }) => feasible);
  const greedy = pointsOf(bundle.levels, ({ solve }) => solve.greedyCostPerHour ?? Number.NaN);
  const bound = pointsOf(carried, ({ plan, solve }) => plan.costPerHour * (1 - solve.provenGap));
  const tuned = pointsOf(bundle.levels, ({ expected }) => expected.costPerHour);
  const costs = [...planned, ...greedy, ...tuned].map(({ value }) => value);
  const highest = Math.max(...costs.filter((cost) => !Number.isNaN(cost)));
  const text = {
    id: "cost",
    title: "Cost against load",
    description:
      `Plans cost from ${decimalText(planned[0]?.value ?? 0, 3)} an hour at the lowest load ` +
      `to ${decimalText(planned.at(-1)?.value ?? 0, 3)} at the highest.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: { domain: [0, highest * 1.08], label: "cost per hour", ticks: 6, grid: true },
    marks: [
      ...beyondMarks(bundle, "bottom"),
      Plot.line(greedy, { x: "loadQps", y: "value", ...GREEDY_STYLE }),
      Plot.line(bound, { x: "loadQps", y: "value", ...BOUND_STYLE }),
      ...levelLine(planned, 2.4),
      rings(tuned),
    ],
  });
}

/** One bar per level, stacked by task in the order of the tasks. */
export function drawReplicas(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  const bars = replicaBars(bundle, keys);
  const most = Math.max(...bundle.levels.map(replicasOf));
  const replicasAt = (task: number) =>
    bundle.levels.map(({ plan }) => plan.stages[task]?.replicas ?? 0);
  const text = {
    id: "replicas",
    title: "Replicas by task and hardware at every load",
    description: bundle.tasks
      .map(({ name }, task) => `${name} has ${rangeOf(replicasAt(task))} replicas`)
      .join(", ")
      .concat("."),
  };
  const stacked = stackedBars(bundle.levels, bars, most, "replicas");
  return drawFigure(text, { ...stacked.options, marks: stacked.marks });
}

function replicaBars(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): LevelBar[] {
  return bundle.levels.flatMap(({ loadQps, feasible, plan }) =>
    plan.stages.flatMap(({ pool, replicas }, task) => {
      const key = keyOf(keys, task, pool);
      if (key === undefined) return [];
      const title =
        `${key.taskName} on ${key.name}: ${replicas} replicas at ` +
        `${decimalText(loadQps, 2)} requests/s`;
      return [{ loadQps, key, value: replicas, feasible, title }];
    }),
  );
}

/** 99th percentiles: by the estimator on the sample, and in a simulation with the tuner. */
export function drawLatency(bundle: InferlineBundle): Markup {
  const stated = pointsOf(bundle.levels, ({ sample }) => sample.estimate.p99Ms);
  const simulated = pointsOf(bundle.levels, ({ expected }) => expected.latencyMsP99);
  return drawLatencies(bundle, {
    stated,
    simulated,
    label: "99th percentile, ms",
    title: "99th percentile of the latency against load",
    description:
      `It is at most ${mostMs(stated)} by the estimator and ${mostMs(simulated)} in the ` +
      "simulation",
  });
}
