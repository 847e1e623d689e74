/**
 * Figures over the load: violations, latency, places and queries, under the bundle's scheduler and
 * the others.
 */
import * as Plot from "@observablehq/plot";
import {
  type AccordionBundle,
  type SchedulerName,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { drawFigure, type FigureText } from "../../../report/figure.ts";
import { levelLine, limitMarks, pointsOf } from "../../../report/kit/load-axis.ts";
import { floorOf } from "../../../report/kit/rate-floor.ts";
import { endLabels, type Point, percentTick } from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText, msText, ratioText } from "../../../report/number-text.ts";
import type { AccordionSimulationResult } from "../simulate/simulate.ts";
import { capacityMarks, queryAxis } from "./query-axis.ts";
import { schedulerLine } from "./scheduler-marks.ts";
import { SCHEDULERS, type ScheduledRun } from "./simulated-schedulers.ts";

/** A bundle, and the simulations of its levels. */
export interface LoadEvidence {
  readonly bundle: AccordionBundle;
  readonly runs: readonly ScheduledRun[];
}

interface Curve {
  readonly scheduler: SchedulerName;
  readonly points: readonly Point[];
}

/**
 * Late or dropped queries as a share of all: stated for the bundle's scheduler, simulated for the
 * others.
 */
export function drawViolations(evidence: LoadEvidence): Markup {
  const { bundle } = evidence;
  const own = pointsOf(bundle.levels, ({ expected }) => expected.violationRate);
  const dropped = pointsOf(bundle.levels, ({ expected }) => expected.droppedRate);
  const others = otherCurves(evidence, ({ violationRate }) => violationRate);
  const scale = rateScale(bundle, [...own, ...others.flatMap(({ points }) => points)]);
  const ceiling = violationCeiling(bundle.slo);
  const text = {
    id: "violations",
    title: "Queries that miss the SLO against load",
    description:
      `At most ${ratioText(mostOf(own))} of the queries of a level miss the SLO under ` +
      `${bundle.policy.scheduler}; ${ratioText(ceiling)} may. ` +
      `${othersText(others, ratioText)}`,
  };
  return drawFigure(text, {
    ...scale.options,
    x: queryAxis(bundle),
    marks: [
      ...capacityMarks(bundle),
      ...limitMarks("ceiling", scale.shown(ceiling)),
      ...others.flatMap(({ scheduler, points }) =>
        schedulerLine(scheduler, scale.on(points), false),
      ),
      Plot.line(scale.on(dropped), {
        x: "loadQps",
        y: "value",
        stroke: "currentColor",
        strokeWidth: 1,
        strokeOpacity: 0.6,
      }),
      ...schedulerLine(bundle.policy.scheduler, scale.on(own), true),
    ],
  });
}

/** Violations under the bundle's scheduler, by requested priority. */
export function drawPriorities({ bundle, runs }: LoadEvidence): Markup {
  const own = runs.filter(({ scheduler }) => scheduler === bundle.policy.scheduler);
  const lines = (["high", "low"] as const).map((name) => ({
    name,
    points: own.map(({ loadQps, result }) => ({
      loadQps,
      value: result.byPriority[name].violationRate,
    })),
  }));
  const scale = rateScale(
    bundle,
    lines.flatMap(({ points }) => points),
  );
  const [high, low] = lines.map(({ points }) => mostOf(points));
  const text = {
    id: "priorities",
    title: "Queries of high and of low priority that miss the SLO against load",
    description:
      `At most ${ratioText(high ?? 0)} of those of high priority and ${ratioText(low ?? 0)} ` +
      "of those of low priority miss the SLO.",
  };
  return drawFigure(text, {
    ...scale.options,
    x: queryAxis(bundle),
    marginRight: 34,
    marks: [
      ...capacityMarks(bundle),
      ...limitMarks("ceiling", scale.shown(violationCeiling(bundle.slo))),
      ...lines.flatMap(({ name, points }) => [
        Plot.line(scale.on(points), {
          x: "loadQps",
          y: "value",
          stroke: "currentColor",
          strokeWidth: name === "high" ? 2.4 : 1.4,
        }),
        Plot.dot(scale.on(points), {
          x: "loadQps",
          y: "value",
          r: 3,
          stroke: "currentColor",
          fill: name === "high" ? "currentColor" : "var(--page)",
        }),
      ]),
      Plot.text(apart(lines.map((line) => ({ ...line, points: scale.on(line.points) }))), {
        x: "loadQps",
        y: "value",
        text: "name",
        dx: 7,
        textAnchor: "start",
      }),
    ],
  });
}

/** Places names at the ends of lines on a logarithmic axis, at least a share of it apart. */
function apart(
  lines: readonly { readonly name: string; readonly points: readonly Point[] }[],
): (Point & { readonly name: string })[] {
  const logs = lines.map(({ name, points }) => ({
    name,
    points: points.slice(-1).map(({ loadQps, value }) => ({ loadQps, value: Math.log10(value) })),
  }));
  return endLabels(logs, 0.2).map((label) => ({ ...label, value: 10 ** label.value }));
}

/**
 * Median and 99th percentile as the bundle states them, and the 99th of the other schedulers, on a
 * logarithmic scale.
 */
export function drawLatency(evidence: LoadEvidence): Markup {
  const { bundle } = evidence;
  const { latencyMs: sloMs } = bundle.slo;
  const p50 = pointsOf(bundle.levels, ({ expected }) => expected.latencyMsP50 || Number.NaN);
  const p99 = pointsOf(bundle.levels, ({ expected }) => expected.latencyMsP99 || Number.NaN);
  const others = otherCurves(evidence, ({ latencyMs }) => latencyMs?.p99 ?? Number.NaN);
  const all = [...p50, ...p99, ...others.flatMap(({ points }) => points)]
    .map(({ value }) => value)
    .filter((ms) => ms > 0);
  const [from, to] = [Math.min(sloMs, ...all) * 0.8, Math.max(sloMs, ...all) * 1.25];
  const text = {
    id: "latency",
    title: "Latency against load",
    description:
      `Under ${bundle.policy.scheduler} the median is at most ${msText(mostOf(p50))} and the ` +
      `99th percentile ${msText(mostOf(p99))}; the SLO is ${msText(sloMs)}. The 99th ` +
      `percentile of the others: ${othersText(others, msText)}`,
  };
  return drawFigure(text, {
    marginLeft: 58,
    marginRight: 30,
    x: queryAxis(bundle),
    y: {
      type: "log",
      domain: [from, to],
      label: "latency, ms",
      grid: true,
      ticks: roundTicks(from, to),
      tickFormat: (ms: number) => decimalText(ms, 1),
    },
    marks: [
      ...capacityMarks(bundle),
      ...limitMarks("SLO", sloMs),
      ...others.flatMap(({ scheduler, points }) => schedulerLine(scheduler, points, false)),
      ...schedulerLine(bundle.policy.scheduler, p99, true),
      ...levelLine(p50, 1.2),
      Plot.text(
        [
          { name: "p99", points: p99.slice(-1) },
          { name: "p50", points: p50.slice(-1) },
        ].flatMap(({ name, points }) => points.map((point) => ({ ...point, name }))),
        { x: "loadQps", y: "value", text: "name", dx: 7, textAnchor: "start" },
      ),
    ],
  });
}

/** Share of the places that run queries. */
export function drawOccupancy(evidence: LoadEvidence): Markup {
  const own = pointsOf(evidence.bundle.levels, ({ expected }) => expected.occupancy);
  const others = otherCurves(evidence, ({ occupancy }) => occupancy);
  const text = {
    id: "occupancy",
    title: "Places that are busy against load",
    description:
      `Under ${evidence.bundle.policy.scheduler} from ${ratioText(own[0]?.value ?? 0)} at ` +
      `the lowest load to ${ratioText(own.at(-1)?.value ?? 0)} at the highest.`,
  };
  return drawCompared(text, evidence, own, others, {
    domain: [0, 1],
    label: "places that are busy",
    ticks: 5,
    tickFormat: percentTick,
  });
}

/** Number of times that a running query gets other places. */
export function drawChanges(evidence: LoadEvidence): Markup {
  const own = pointsOf(evidence.bundle.levels, ({ expected }) => expected.reconfigurations);
  const text = {
    id: "changes",
    title: "Changes of places of a running query against load",
    description:
      `From ${decimalText(own[0]?.value ?? 0, 3)} a query at the lowest load to ` +
      `${decimalText(own.at(-1)?.value ?? 0, 3)} at the highest.`,
  };
  return drawCompared(text, evidence, own, [], {
    domain: [0, mostOf(own) * 1.08 || 1],
    label: "changes a query",
    ticks: 5,
    tickFormat: (count: number) => decimalText(count, 3),
  });
}

/** Queries that run at a time. */
export function drawActive(evidence: LoadEvidence): Markup {
  const own = pointsOf(evidence.bundle.levels, ({ expected }) => expected.activeQueries);
  const others = otherCurves(evidence, ({ activeQueries }) => activeQueries.mean);
  const most = mostOf([...own, ...others.flatMap(({ points }) => points)]);
  const text = {
    id: "active",
    title: "Queries that run at a time against load",
    description:
      `Under ${evidence.bundle.policy.scheduler} from ${decimalText(own[0]?.value ?? 0, 2)} ` +
      `at the lowest load to ${decimalText(own.at(-1)?.value ?? 0, 2)} at the highest, in ` +
      "the mean.",
  };
  return drawCompared(text, evidence, own, others, {
    domain: [0, most * 1.08 || 1],
    label: "active queries, mean",
    ticks: 5,
    tickFormat: (count: number) => decimalText(count, 2),
  });
}

function drawCompared(
  text: FigureText,
  { bundle }: LoadEvidence,
  own: readonly Point[],
  others: readonly Curve[],
  y: Plot.ScaleOptions,
): Markup {
  return drawFigure(text, {
    height: 220,
    x: queryAxis(bundle),
    y: { ...y, grid: true },
    marks: [
      ...capacityMarks(bundle),
      ...others.flatMap(({ scheduler, points }) => schedulerLine(scheduler, points, false)),
      ...schedulerLine(bundle.policy.scheduler, own, true),
    ],
  });
}

/** Curves of the schedulers that the bundle does not follow. */
function otherCurves(
  { bundle, runs }: LoadEvidence,
  read: (result: AccordionSimulationResult) => number,
): Curve[] {
  return SCHEDULERS.filter((scheduler) => scheduler !== bundle.policy.scheduler).map(
    (scheduler) => ({
      scheduler,
      points: runs
        .filter((run) => run.scheduler === scheduler)
        .map(({ loadQps, result }) => ({ loadQps, value: read(result) })),
    }),
  );
}

function othersText(others: readonly Curve[], format: (value: number) => string): string {
  const texts = others
    .filter(({ points }) => points.length > 0)
    .map(({ scheduler, points }) => `${scheduler} at most ${format(mostOf(points))}`);
  return texts.length === 0 ? "" : `${texts.join(", ")}.`;
}

function mostOf(points: readonly Point[]): number {
  return Math.max(0, ...points.map(({ value }) => value).filter((value) => value > 0));
}

/** A logarithmic axis of rates, whose lowest line also stands for 0. */
function rateScale(bundle: AccordionBundle, points: readonly Point[]) {
  const rates = points.map(({ value }) => value);
  const floor = floorOf(rates, violationCeiling(bundle.slo));
  const shown = (rate: number): number => Math.max(rate, floor);
  const decades = Math.round(-Math.log10(floor));
  return {
    shown,
    on: (some: readonly Point[]): Point[] =>
      some.map((point) => ({ ...point, value: shown(point.value) })),
    options: {
      marginLeft: 66,
      y: {
        type: "log" as const,
        domain: [floor, 1],
        label: "queries that miss the SLO",
        ticks: Array.from({ length: decades + 1 }, (_, power) => 10 ** -power),
        tickFormat: (rate: number) =>
          `${rate <= floor * 1.5 ? "≤" : ""}${decimalText(100 * rate, 4)}%`,
        grid: true,
      },
    },
  };
}

/** Returns 1, 2 and 5 times the powers of ten, or only the powers if there are many. */
function roundTicks(from: number, to: number): number[] {
  const steps = to / from < 100 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    ticks.push(...steps.map((step) => step * 10 ** power));
  }
  return ticks.filter((tick) => tick >= from && tick <= to);
}
