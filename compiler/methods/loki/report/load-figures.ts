/** Figures over the load: accuracy, violations and latency. */
import * as Plot from "@observablehq/plot";
import {
  type LokiBundle,
  type LokiLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { levelLine, limitMarks, loadAxis, pointsOf } from "../../../report/kit/load-axis.ts";
import { rateScale, rings } from "../../../report/kit/plan-figures.ts";
import { endLabels, LABEL_GAP, percentTick } from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { msText, NEGLIGIBLE_RATIO, ratioText } from "../../../report/number-text.ts";
import { capacityMarks, stepMarks } from "./plan-marks.ts";

const PER_REQUEST_STYLE = { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 };

/** Planned accuracy, and the result of a simulation. */
export function drawAccuracy(bundle: LokiBundle): Markup {
  const planned = pointsOf(bundle.levels, ({ plan }) => plan.accuracy);
  const satisfied = pointsOf(bundle.levels, ({ expected }) => expected.accuracyPerSatisfied);
  const perRequest = pointsOf(bundle.levels, ({ expected }) => expected.accuracyPerQuery);
  const values = [...planned, ...satisfied, ...perRequest].map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max(0.1 * (high - low), 0.002);
  const text = {
    id: "accuracy",
    title: "Accuracy against load",
    description:
      `Planned accuracy goes from ${ratioText(planned[0]?.value ?? null)} at the lowest load ` +
      `to ${ratioText(planned.at(-1)?.value ?? null)} at the highest.`,
  };
  return drawFigure(text, {
    x: loadAxis(bundle),
    y: {
      domain: [Math.max(0, low - margin), Math.min(1, high + margin)],
      label: "accuracy",
      tickFormat: percentTick,
      ticks: 6,
      grid: true,
    },
    marks: [
      ...stepMarks(bundle, (low + high) / 2),
      ...capacityMarks(bundle),
      Plot.line(perRequest, { x: "loadQps", y: "value", ...PER_REQUEST_STYLE }),
      ...levelLine(planned, 2.4),
      rings(satisfied),
    ],
  });
}

export function drawViolations(bundle: LokiBundle): Markup {
  const ceiling = violationCeiling(bundle.slo);
  const floor = smallestRate(bundle.levels, ceiling);
  const shown = (rate: number): number => Math.max(rate, floor);
  const points = pointsOf(bundle.levels, ({ expected }) => shown(expected.violationRate));
  const worst = Math.max(...bundle.levels.map(({ expected }) => expected.violationRate));
  const text = {
    id: "violations",
    title: "Violations against load",
    description:
      `At most ${ratioText(worst)} of the requests of a level miss the deadline in its ` +
      `simulation; ${ratioText(ceiling)} are allowed.`,
  };
  return drawFigure(text, {
    ...rateScale(floor, "requests that miss the deadline"),
    x: loadAxis(bundle),
    marks: [
      ...capacityMarks(bundle),
      ...limitMarks("ceiling", shown(ceiling)),
      ...levelLine(points, 2),
    ],
  });
}

/** A power of ten below the ceiling that the longest simulation can distinguish from 0. */
function smallestRate(levels: readonly LokiLevel[], ceiling: number): number {
  const requests = levels.map(({ loadQps, expected }) => (loadQps * expected.durationMs) / 1000);
  const resolution = 1 / Math.max(10, ...requests);
  const rates = levels.flatMap(({ expected: { violationRate } }) =>
    violationRate > 0 ? [violationRate] : [],
  );
  const least = Math.min(resolution, ceiling > 0 ? ceiling / 2 : resolution, ...rates);
  return 10 ** Math.max(Math.log10(NEGLIGIBLE_RATIO), Math.floor(Math.log10(least)));
}

export function drawLatency(bundle: LokiBundle): Markup {
  const { latencyMs: sloMs } = bundle.slo;
  const lines = [
    {
      name: "p50",
      strokeWidth: 1.2,
      points: pointsOf(bundle.levels, (one) => one.expected.latencyMsP50),
    },
    {
      name: "p99",
      strokeWidth: 2.2,
      points: pointsOf(bundle.levels, (one) => one.expected.latencyMsP99),
    },
  ];
  const worst = Math.max(...bundle.levels.map(({ expected }) => expected.latencyMsP99));
  const highest = Math.max(sloMs, worst);
  const text = {
    id: "latency",
    title: "Latency against load",
    description:
      `The 99th percentile is at most ${msText(worst)}; ` + `the deadline is ${msText(sloMs)}.`,
  };
  return drawFigure(text, {
    marginRight: 30,
    x: loadAxis(bundle),
    y: { domain: [0, highest * 1.08], label: "latency, ms", ticks: 6, grid: true },
    marks: [
      ...capacityMarks(bundle, "bottom"),
      ...limitMarks("deadline", sloMs),
      ...lines.flatMap(({ points, strokeWidth }) => levelLine(points, strokeWidth)),
      Plot.text(endLabels(lines, LABEL_GAP * highest), {
        x: "loadQps",
        y: "value",
        text: "name",
        dx: 6,
        textAnchor: "start",
      }),
    ],
  });
}
