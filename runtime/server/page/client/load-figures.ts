/** The figures of lines: load against levels, accuracy, violations, latency, queue and slack. */
import type { LiveApplication } from "../live.ts";
import { axes, type Line, lines, type Point, rules, type Scale, timeOf } from "./chart.ts";
import { Figure, type KeyEntry } from "./figure.ts";
import { countText, decimalText, msText, ratioText } from "./numbers.ts";
import type { Moment } from "./trends.ts";

/** Lines of levels that a figure has room for. */
const MAX_LEVEL_LINES = 12;
/** More of them are not named. */
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

export function loadFigure(): Drawn {
  const figure = new Figure(
    "Load against levels",
    "Each thin line is the load of a level; the level that decides is the lowest that carries it.",
  );
  const series: Series[] = [
    { name: "load, rows/s", style: "own", of: ({ loadQps }) => loadQps },
    { name: "level that decides", style: "promise", of: ({ levelQps }) => levelQps },
  ];
  return {
    figure,
    update: (application, moments) => {
      const most = 1.12 * mostOf(moments, series, 1);
      const scale = scaleOf(moments, 0, most);
      const shown = application.levels.filter(({ loadQps }) => loadQps <= most);
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
        `The load is ${decimalText(last?.loadQps ?? null)} rows a second; the level for ` +
          `${decimalText(last?.levelQps ?? null)} decides.`,
      );
    },
  };
}

export function accuracyFigure(): Drawn {
  const figure = new Figure(
    "Accuracy, measured and promised",
    "Mean stated accuracy of the variants that answered rows in time, over ten seconds.",
  );
  const series: Series[] = [
    { name: "measured", style: "own", of: ({ measures }) => measures.accuracy },
    { name: "promised", style: "promise", of: ({ promisedAccuracy }) => promisedAccuracy },
  ];
  return {
    figure,
    update: (_, moments) => {
      const values = valuesOf(moments, series);
      const [least, most] = [Math.min(1, ...values), Math.max(0, ...values)];
      const room = Math.max(0.005, 0.15 * (most - least));
      const scale = scaleOf(moments, Math.max(0, least - room), Math.min(1, most + room));
      figure.key(keyOf(series));
      figure.show(marksOf(series, moments, scale, ratioText), saidOf(series, moments, ratioText));
    },
  };
}

export function violationFigure(): Drawn {
  const figure = new Figure(
    "Late or dropped, measured and promised",
    "Share of the rows that were late or dropped, over ten seconds; promised is the most.",
  );
  const series: Series[] = [
    { name: "measured", style: "own", of: ({ measures }) => measures.violationRate },
    { name: "promised", style: "promise", of: (moment) => moment.promisedViolationRate },
  ];
  return {
    figure,
    update: ({ slo }, moments) => {
      const limit = slo.maxViolationRate;
      const scale = scaleOf(moments, 0, 1.15 * mostOf(moments, series, limit));
      figure.key([...keyOf(series), { name: `limit ${ratioText(limit)}`, style: "limit" }]);
      figure.show(
        [...rules([{ value: limit, style: "limit" }], scale)].concat(
          marksOf(series, moments, scale, ratioText),
        ),
        `${saidOf(series, moments, ratioText)} The limit is ${ratioText(limit)}.`,
      );
    },
  };
}

export function latencyFigure(): Drawn {
  const figure = new Figure(
    "Latency of answered requests",
    "Arrival to answer, over ten seconds; quantiles are read from a histogram.",
  );
  return {
    figure,
    update: ({ slo, latency }, moments) => {
      const hasQuantiles = latency !== null;
      const series: Series[] = hasQuantiles
        ? [
            { name: "99 % within", style: "own", of: ({ measures }) => measures.p99Ms },
            { name: "half within", style: "second", of: ({ measures }) => measures.p50Ms },
          ]
        : [{ name: "mean", style: "own", of: ({ measures }) => measures.meanMs }];
      const limit = slo.latencyMs;
      const scale = scaleOf(moments, 0, 1.15 * mostOf(moments, series, limit));
      figure.key([...keyOf(series), { name: `SLO ${msText(limit)}`, style: "limit" }]);
      figure.show(
        [...rules([{ value: limit, style: "limit" }], scale)].concat(
          marksOf(series, moments, scale, msText),
        ),
        `${saidOf(series, moments, msText)} The SLO is ${msText(limit)}.`,
      );
    },
  };
}

export function queueFigure(): Drawn {
  const figure = new Figure("Waiting or running", "What was accepted and has no answer yet.");
  const series: Series[] = [
    { name: "waiting or running", style: "own", of: ({ pending }) => pending },
  ];
  return {
    figure,
    update: (_, moments) => {
      const scale = scaleOf(moments, 0, 1.15 * mostOf(moments, series, 4));
      figure.show(marksOf(series, moments, scale, countText), saidOf(series, moments, countText));
    },
  };
}

export function slackFigure(): Drawn {
  const figure = new Figure(
    "Slack when a batch starts",
    "Time to its earliest deadline, over ten seconds; below 0 the deadline has passed.",
  );
  const series: Series[] = [
    { name: "half have at most", style: "own", of: ({ measures }) => measures.slackP50Ms },
    { name: "a tenth has at most", style: "second", of: ({ measures }) => measures.slackP10Ms },
  ];
  return {
    figure,
    update: ({ slo }, moments) => {
      const values = valuesOf(moments, series);
      const scale = scaleOf(
        moments,
        Math.min(0, ...values),
        1.05 * Math.max(slo.latencyMs, ...values),
      );
      figure.key(keyOf(series));
      figure.show(marksOf(series, moments, scale, msText), saidOf(series, moments, msText));
    },
  };
}

function marksOf(
  series: readonly Series[],
  moments: readonly Moment[],
  scale: Scale,
  textOf: (value: number) => string,
): SVGElement[] {
  return [...axes(scale, textOf), ...linesOf(series, moments, scale)];
}

function linesOf(
  series: readonly Series[],
  moments: readonly Moment[],
  scale: Scale,
): SVGElement[] {
  const all = series.map(({ style, of }): Line => ({ style, points: pointsOf(moments, of) }));
  // What was measured lies on top.
  return lines(all.reverse(), scale);
}

function pointsOf(moments: readonly Moment[], of: Series["of"]): Point[] {
  return moments.map((moment) => ({ atMs: moment.atMs, value: of(moment) }));
}

function keyOf(series: readonly Series[]): KeyEntry[] {
  return series.map(({ name, style }) => ({ name, style }));
}

function saidOf(
  series: readonly Series[],
  moments: readonly Moment[],
  textOf: (value: number | null) => string,
): string {
  const last = moments.at(-1);
  const said = series.map(({ name, of }) => {
    return `${name}: ${textOf(last === undefined ? null : of(last))}`;
  });
  return `Now ${said.join(", ")}.`;
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
