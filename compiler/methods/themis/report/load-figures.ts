/** Figures over the load: cores, violations and latency. */
import * as Plot from "@observablehq/plot";
import {
  type ScalePlan,
  type ThemisBundle,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { chosenText } from "stratagem-runtime/internal/methods/themis/describe/plan-view";
import { drawFigure } from "../../../report/figure.ts";
import { beyondMarks, drawLatencies, mostMs } from "../../../report/kit/latency-figure.ts";
import { levelLine, limitMarks, loadAxis, pointsOf } from "../../../report/kit/load-axis.ts";
import {
  type LevelBar,
  rangeOf,
  rateScale,
  rings,
  stackedBars,
} from "../../../report/kit/plan-figures.ts";
import { floorOf } from "../../../report/kit/rate-floor.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import type { Point } from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";

/** Strokes of the kinds of plan, in figures and in the key. */
export const KIND_STROKES = {
  horizontal: { strokeWidth: 1.4, strokeDasharray: "7 3" },
  vertical: { strokeWidth: 1.4, strokeDasharray: "2 3" },
  joint: { strokeWidth: 2.4, strokeDasharray: "none" },
} as const;

const coresOf = (plan: ScalePlan | null): number => plan?.cores ?? Number.NaN;

/** Cores of each kind of plan; a line ends at loads without a plan of its kind. */
export function drawCores(bundle: ThemisBundle): Markup {
  const { levels } = bundle;
  const horizontal = pointsOf(levels, (level) => coresOf(level.horizontal));
  const vertical = pointsOf(levels, (level) => coresOf(level.vertical));
  const joint = pointsOf(levels, (level) => coresOf(level.joint));
  const followed = pointsOf(levels, ({ steady }) => steady.cores);
  const counts = [...horizontal, ...vertical, ...joint, ...followed].map(({ value }) => value);
  const most = Math.max(...counts.filter((count) => !Number.isNaN(count)));
  const text = {
    id: "cores",
    title: "Cores against load",
    description:
      `The plan that is followed takes ${decimalText(followed[0]?.value ?? 0)} cores at the ` +
      `lowest load and ${decimalText(followed.at(-1)?.value ?? 0)} at the highest.`,
  };
  const line = (points: readonly Point[], style: object): Plot.Markish =>
    Plot.line(points, { x: "loadQps", y: "value", stroke: "currentColor", ...style });
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: { domain: [0, most * 1.08], label: "cores of all instances", grid: true, ticks: 6 },
    marks: [
      ...beyondMarks(bundle, "bottom"),
      line(horizontal, KIND_STROKES.horizontal),
      line(vertical, KIND_STROKES.vertical),
      line(joint, KIND_STROKES.joint),
      rings(followed, {
        r: 4,
        title: ({ loadQps, value }: Point) =>
          `${decimalText(value)} cores at ${decimalText(loadQps, 2)} requests/s`,
      }),
    ],
  });
}

/** One bar per level of the followed plan, stacked by task in the order of the tasks. */
export function drawTaskCores(bundle: ThemisBundle, keys: readonly PipelineVariantKey[]): Markup {
  const bars = coreBars(bundle, keys);
  const most = Math.max(...bundle.levels.map(({ steady }) => steady.cores));
  const ranges = bundle.tasks.map(({ name }, task) => `${name} has ${coreRange(bundle, task)}`);
  const text = {
    id: "stage-cores",
    title: "Cores by task at every load",
    description: `${ranges.join(", ")}.`,
  };
  const stacked = stackedBars(bundle.levels, bars, most, "cores of all instances");
  return drawFigure(text, { ...stacked.options, marks: stacked.marks });
}

function coreBars(
  { levels, tasks, cluster }: ThemisBundle,
  keys: readonly PipelineVariantKey[],
): LevelBar[] {
  return levels.flatMap(({ loadQps, feasible, steady }) =>
    steady.stages.flatMap((stage, task) => {
      const { cores, instances, batch } = stage;
      const key = keys[task];
      if (key === undefined) return [];
      const chosen = chosenText(tasks[task]?.variants ?? [], stage, cluster.pools);
      const title =
        `${key.taskName}: ${chosen}${instances} × ${cores} cores, batches of ${batch}, at ` +
        `${decimalText(loadQps, 2)} requests/s`;
      return [{ loadQps, key, value: cores * instances, feasible, title }];
    }),
  );
}

function coreRange({ levels }: ThemisBundle, task: number): string {
  const counts = levels.map(({ steady }) => {
    const { cores = 0, instances = 0 } = steady.stages[task] ?? {};
    return cores * instances;
  });
  return `${rangeOf(counts)} cores`;
}

/** The longest path by the model, and the 99th percentile of the simulation. */
export function drawLatency(bundle: ThemisBundle): Markup {
  const stated = pointsOf(bundle.levels, ({ steady }) => steady.latencyMs);
  const simulated = pointsOf(bundle.levels, ({ steady }) => steady.expected.latencyMsP99);
  return drawLatencies(bundle, {
    stated,
    simulated,
    label: "latency, ms",
    title: "Latency against load",
    description:
      `The longest path takes at most ${mostMs(stated)} by the model; the 99th percentile is ` +
      `at most ${mostMs(simulated)} in the simulation`,
  });
}

/** Violations of the followed plan, with fixed instances. */
export function drawViolations(bundle: ThemisBundle): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const rates = bundle.levels.map(({ steady }) => steady.expected.violationRate);
  const floor = floorOf(rates, ceiling);
  const shown = (rate: number): number => Math.max(rate, floor);
  const points = pointsOf(bundle.levels, ({ steady }) => shown(steady.expected.violationRate));
  const text = {
    id: "violations",
    title: "Requests that miss the SLO against load",
    description:
      `At most ${ratioText(Math.max(...rates))} of the requests of a level miss the SLO in ` +
      `its simulation; ${ratioText(ceiling)} may.`,
  };
  return drawFigure(text, {
    ...rateScale(floor, "requests that miss the SLO"),
    x: loadAxis(bundle),
    marks: [
      ...beyondMarks(bundle, "top"),
      ...limitMarks("ceiling", shown(ceiling)),
      ...levelLine(points, 2),
    ],
  });
}
