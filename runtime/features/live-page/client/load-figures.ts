/** Line figures: load and levels, accuracy, violations, latency, queue and slack. */
import type { LiveApplication } from "../live.ts";
import { axes, type Line, lines, type Point, rules, type Scale, timeOf } from "./chart.ts";
import { Figure, type KeyEntry } from "./figure.ts";
import { countText, decimalText, loadText, msText, ratioText } from "./numbers.ts";
import type { Moment } from "./trends.ts";

/** Limit of the level lines in a figure. */
const MAX_LEVEL_LINES = 12;
/** Maximum number of levels with a label. */
const MAX_LABELS = 5;

export interface Drawn {
  readonly figure: Figure;
  update(application: LiveApplication, moments: readonly Moment[]): void;
}

interface Series {
  readonly name: string;
  readonly style: string;
  readonly of: (moment: Moment) => number | null;
}

/** A chart whose axis starts at 0 by default. */
interface LineFigure {
  readonly heading: string;
  readonly caption: string;
  readonly series: readonly Series[];
  readonly textOf: (value: number | null) => string;
  /** Upper limit with its name. */
  readonly limit?: (application: LiveApplication) => readonly [value: number, name: string];
  readonly extent?: (
    values: readonly number[],
    application: LiveApplication,
  ) => readonly [least: number, most: number];
}

export function loadFigure(): Drawn {
  const figure = new Figure(
    "Load against levels",
    "Each thin line is the load of a level; the lowest level that carries the load decides.",
  );
  const series: Series[] = [
    { name: "load", style: "own", of: ({ loadQps }) => loadQps },
    { name: "level that decides", style: "promise", of: ({ levelQps }) => levelQps },
  ];
  return {
    figure,
    update: (application, moments) => {
      const most = 1.12 * mostOf(moments, series, 1);
      const scale = scaleOf(moments, 0, most);
      // Levels for slower machines have the loads of others.
      const shown = application.levels.filter(({ loadQps, pace }) => pace === 1 && loadQps <= most);
      const every = Math.ceil(shown.length / MAX_LEVEL_LINES);
      const levels = shown
        .filter((_, place) => place % every === 0)
        .map(({ index, loadQps }) => {
          const text = shown.length > MAX_LABELS ? "" : `level ${index + 1}`;
          return { value: loadQps, style: "level", text };
        });
      figure.key([...keyOf(series), { name: "levels", style: "level" }]);
      const last = moments.at(-1);
      figure.show(
        [...axes(scale, decimalText), ...rules(levels, scale), ...linesOf(series, moments, scale)],
        `The load is ${loadText(last?.loadQps ?? null, application)}; the level for ` +
          `${loadText(last?.levelQps ?? null, application)} decides.`,
      );
    },
  };
}

export function accuracyFigure(): Drawn {
  return lineFigure({
    heading: "Accuracy, measured and promised",
    caption: "Mean stated accuracy of the variants that answered rows in time, over ten seconds.",
    series: [
      { name: "measured", style: "own", of: ({ measures }) => measures.accuracy },
      { name: "promised", style: "promise", of: ({ promisedAccuracy }) => promisedAccuracy },
    ],
    textOf: ratioText,
    extent: (values) => {
      const [least, most] = [Math.min(1, ...values), Math.max(0, ...values)];
      const room = Math.max(0.005, 0.15 * (most - least));
      return [Math.max(0, least - room), Math.min(1, most + room)];
    },
  });
}

export function violationFigure(): Drawn {
  return lineFigure({
    heading: "Late or dropped, measured and promised",
    caption: "Share of late or dropped rows, over ten seconds; the promise is an upper bound.",
    series: [
      { name: "measured", style: "own", of: ({ measures }) => measures.violationRate },
      { name: "promised", style: "promise", of: (moment) => moment.promisedViolationRate },
    ],
    textOf: ratioText,
    limit: ({ slo }) => [slo.maxViolationRate, "limit"],
  });
}

export function latencyFigure(): Drawn {
  return lineFigure({
    heading: "Latency of answered requests",
    caption: "Arrival to answer, over ten seconds; quantiles are read from a histogram.",
    series: [
      { name: "99th percentile", style: "own", of: ({ measures }) => measures.p99Ms },
      { name: "median", style: "second", of: ({ measures }) => measures.p50Ms },
    ],
    textOf: msText,
    limit: ({ slo }) => [slo.latencyMs, "SLO"],
  });
}

export function queueFigure(): Drawn {
  return lineFigure({
    heading: "Waiting or running",
    caption: "Accepted and not yet answered.",
    series: [{ name: "waiting or running", style: "own", of: ({ pending }) => pending }],
    textOf: countText,
    extent: (values) => [0, 1.15 * Math.max(4, ...values)],
  });
}

export function slackFigure(): Drawn {
  return lineFigure({
    heading: "Slack when a batch starts",
    caption: "Time to the batch's earliest deadline, over ten seconds; negative if it has passed.",
    series: [
      { name: "median", style: "own", of: ({ measures }) => measures.slackP50Ms },
      { name: "10th percentile", style: "second", of: ({ measures }) => measures.slackP10Ms },
    ],
    textOf: msText,
    extent: (values, { slo }) => {
      return [Math.min(0, ...values), 1.05 * Math.max(slo.latencyMs, ...values)];
    },
  });
}

function lineFigure({ heading, caption, series, textOf, limit, extent }: LineFigure): Drawn {
  const figure = new Figure(heading, caption);
  return {
    figure,
    update: (application, moments) => {
      const [value, name] = limit?.(application) ?? [0, ""];
      const isLimited = name !== "";
      const values = valuesOf(moments, series);
      const [least, most] = extent?.(values, application) ?? [0, 1.15 * Math.max(value, ...values)];
      const scale = scaleOf(moments, least, most);
      const limits = isLimited ? [{ name: `${name} ${textOf(value)}`, style: "limit", value }] : [];
      figure.key([...keyOf(series), ...limits]);
      figure.show(
        [...rules(limits, scale), ...axes(scale, textOf), ...linesOf(series, moments, scale)],
        [describedOf(series, moments, textOf), ...limits.map((one) => `The ${one.name}.`)].join(
          " ",
        ),
      );
    },
  };
}

function linesOf(
  series: readonly Series[],
  moments: readonly Moment[],
  scale: Scale,
): SVGElement[] {
  const all = series.map(({ style, of }): Line => ({ style, points: pointsOf(moments, of) }));
  // Draws the measured lines on top.
  return lines(all.reverse(), scale);
}

function pointsOf(moments: readonly Moment[], of: Series["of"]): Point[] {
  return moments.map((moment) => ({ atMs: moment.atMs, value: of(moment) }));
}

function keyOf(series: readonly Series[]): KeyEntry[] {
  return series.map(({ name, style }) => ({ name, style }));
}

function describedOf(
  series: readonly Series[],
  moments: readonly Moment[],
  textOf: (value: number | null) => string,
): string {
  const last = moments.at(-1);
  const texts = series.map(({ name, of }) => {
    return `${name}: ${textOf(last === undefined ? null : of(last))}`;
  });
  return `Now ${texts.join(", ")}.`;
}

function valuesOf(moments: readonly Moment[], series: readonly Series[]): number[] {
  return series.flatMap(({ of }) => moments.flatMap((moment) => of(moment) ?? []));
}

function mostOf(moments: readonly Moment[], series: readonly Series[], atLeast: number): number {
  return Math.max(atLeast, ...valuesOf(moments, series));
}

function scaleOf(moments: readonly Moment[], least: number, most: number): Scale {
  return { ...timeOf(moments), least, most };
}
