/** What load does to cost, to replicas and to latency. */
import * as Plot from "@observablehq/plot";
import type { InferlineBundle, InferlineLevel, Level } from "../../../runtime/bundle/schema.ts";
import { drawFigure } from "../figure.ts";
import type { Point } from "../load-marks.ts";
import type { Markup } from "../markup.ts";
import { decimalText, msText } from "../number-text.ts";
import { keyOf } from "./hardware-keys.ts";
import {
  levelBand,
  levelLine,
  limitMarks,
  loadAxis,
  pointsOf,
  thinned,
  upright,
} from "./load-axis.ts";
import { MAX_LETTERED, wholeAxis } from "./server-figures.ts";
import type { PipelineVariantKey } from "./variant-keys.ts";

const GREEDY_STYLE = { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 };
const BOUND_STYLE = { stroke: "currentColor", strokeDasharray: "7 3", strokeWidth: 1 };
/** Latencies further above the SLO than that are drawn at the edge of the frame. */
const TOP_OF_SLO = 1.5;

export function replicasOf({ plan }: InferlineLevel): number {
  return plan.stages.reduce((sum, { replicas }) => sum + replicas, 0);
}

/** What the plans cost, the greedy ones beside them, what is proven of them, and what tuned replicas come to in a simulation. */
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
    description: `Plans cost from ${decimalText(planned[0]?.value ?? 0, 3)} an hour at the lowest load to ${decimalText(planned.at(-1)?.value ?? 0, 3)} at the highest.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: { domain: [0, highest * 1.08], label: "cost per hour", ticks: 6, grid: true },
    marks: [
      ...beyondMarks(bundle, "bottom"),
      Plot.line(greedy, { x: "loadQps", y: "value", ...GREEDY_STYLE }),
      Plot.line(bound, { x: "loadQps", y: "value", ...BOUND_STYLE }),
      ...levelLine(planned, 2.4),
      Plot.dot(thinned(tuned), {
        x: "loadQps",
        y: "value",
        r: 5,
        stroke: "currentColor",
        strokeWidth: 1.1,
      }),
    ],
  });
}

interface ReplicaBar {
  readonly loadQps: number;
  readonly key: PipelineVariantKey;
  readonly replicas: number;
  readonly feasible: boolean;
}

/** One bar per level, stacked by stage in the order of the tasks. */
export function drawReplicas(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  const bars = replicaBars(bundle, keys);
  const most = Math.max(...bundle.levels.map(replicasOf));
  const loads = bundle.levels.map(({ loadQps }) => loadQps);
  const isLettered = loads.length <= MAX_LETTERED;
  const text = {
    id: "replicas",
    title: "Replicas by stage and hardware at every load",
    description: bundle.tasks
      .map(({ name }, task) => `${name} has ${replicaRange(bundle, task)} replicas`)
      .join(", ")
      .concat("."),
  };
  return drawFigure(text, {
    x: levelBand(loads, "load, requests/s"),
    y: { domain: [0, most * 1.09], label: "replicas", ...wholeAxis(0, most) },
    marks: [
      Plot.barY(bars, {
        x: "loadQps",
        y: "replicas",
        fill: (bar: ReplicaBar) => bar.key.color,
        fillOpacity: (bar: ReplicaBar) => (bar.feasible ? 1 : 0.5),
        stroke: "var(--page)",
        strokeWidth: isLettered ? 0.8 : 0,
        title: (bar: ReplicaBar) =>
          `${bar.key.taskName} on ${bar.key.name}: ${bar.replicas} replicas at ${decimalText(bar.loadQps, 2)} requests/s`,
      }),
      Plot.text(
        isLettered ? bars : [],
        Plot.stackY({
          x: "loadQps",
          y: "replicas",
          text: (bar: ReplicaBar) => (bar.replicas > 0.045 * most ? bar.key.letter : ""),
          fill: "white",
          stroke: "#0009",
          strokeWidth: 2.5,
          fontWeight: "bold",
        }),
      ),
    ],
  });
}

function replicaBars(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): ReplicaBar[] {
  return bundle.levels.flatMap(({ loadQps, feasible, plan }) =>
    plan.stages.flatMap(({ pool, replicas }, task) => {
      const key = keyOf(keys, task, pool);
      return key === undefined ? [] : [{ loadQps, key, replicas, feasible }];
    }),
  );
}

function replicaRange({ levels }: InferlineBundle, task: number): string {
  const counts = levels.map(({ plan }) => plan.stages[task]?.replicas ?? 0);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? String(most) : `${least} to ${most}`;
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
    description: `It is at most ${mostMs(stated)} by the estimator and ${mostMs(simulated)} in the simulation`,
  });
}

export interface Latencies {
  readonly stated: readonly Point[];
  readonly simulated: readonly Point[];
  /** Of the axis. */
  readonly label: string;
  readonly title: string;
  /** Without the SLO, which ends it. */
  readonly description: string;
}

/** What is stated as a line, what a simulation gives as rings, and at the edge what is far above the SLO. */
export function drawLatencies(
  bundle: Pick<InferlineBundle, "slo"> & Parameters<typeof beyondMarks>[0],
  { stated, simulated, label, title, description }: Latencies,
): Markup {
  const { latencyMs: sloMs } = bundle.slo;
  const all = [...stated, ...simulated];
  const top = Math.min(Math.max(sloMs, ...all.map(({ value }) => value)), TOP_OF_SLO * sloMs);
  const beyond = all.filter(({ value }) => value > top);
  const text = {
    id: "latency",
    title,
    description: `${description}; the SLO is ${msText(sloMs)}.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: { domain: [0, top * 1.08], label, ticks: 6, grid: true },
    marks: [
      ...beyondMarks(bundle, "bottom"),
      ...limitMarks("SLO", sloMs),
      ...levelLine(within(stated, top), 2.2),
      Plot.dot(thinned(within(simulated, top)), {
        x: "loadQps",
        y: "value",
        r: 5,
        stroke: "currentColor",
        strokeWidth: 1.1,
      }),
      Plot.dot(thinned(beyond), {
        x: "loadQps",
        y: () => top,
        symbol: "triangle",
        r: 4.5,
        fill: "var(--limit)",
        title: ({ value }: Point) => msText(value),
      }),
    ],
  });
}

export function mostMs(points: readonly Point[]): string {
  return msText(Math.max(...points.map(({ value }) => value)));
}

function within(points: readonly Point[], top: number): Point[] {
  return points.map((point) => (point.value <= top ? point : { ...point, value: Number.NaN }));
}

/** The loads that the pools have no plan for. */
export function beyondMarks(
  bundle: {
    readonly levels: readonly Pick<Level, "loadQps" | "feasible" | "capacityQps">[];
  },
  frameAnchor: "top" | "bottom",
): Plot.Markish[] {
  const { levels } = bundle;
  const lastFeasible = levels.findLast(({ feasible }) => feasible)?.loadQps ?? 0;
  const first = levels.find(({ loadQps, feasible }) => !feasible && loadQps > lastFeasible);
  if (first === undefined) return [];
  const fromQps = Math.max(first.capacityQps, lastFeasible);
  const [start = 0, end = 0] = [...(loadAxis(bundle).domain ?? [])] as number[];
  const at = Math.max(start, fromQps);
  return [
    Plot.rect([at], {
      x1: () => at,
      x2: () => end,
      fill: "var(--limit)",
      fillOpacity: 0.09,
    }),
    ...(at > start ? [Plot.ruleX([at], { stroke: "currentColor", strokeOpacity: 0.5 })] : []),
    upright("beyond the pools", at, frameAnchor, 9),
  ];
}
