/** Costs and misses of a day by the minute, for each way to follow it. */
import * as Plot from "@observablehq/plot";
import { type InferlineBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { captionedFigure } from "../../../report/captioned-figure.ts";
import { drawFigure } from "../../../report/figure.ts";
import { figureGrid } from "../../../report/figure-grid.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { limitMarks } from "../../../report/kit/load-axis.ts";
import { percentTick } from "../../../report/load-marks.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";
import { type DayRun, inferlineOverDay } from "../simulate/over-day.ts";

/** A way to follow a day. */
export interface NamedDayRun extends DayRun {
  readonly name: string;
}

/** Strokes of the ways, in their order, repeated if there are more. */
const STROKES = [
  { strokeWidth: 2.2, strokeDasharray: "none" },
  { strokeWidth: 1.2, strokeDasharray: "7 3" },
  { strokeWidth: 1.2, strokeDasharray: "2 3" },
  { strokeWidth: 1.2, strokeDasharray: "9 2 2 2" },
  { strokeWidth: 1.2, strokeDasharray: "1 5" },
] as const;

/**
 * @param given simulations of a day; without any, the plans are simulated over a day from the
 * lowest load to the highest. Null without either.
 */
export function daySection(bundle: InferlineBundle, given: readonly NamedDayRun[]): Markup | null {
  if (given.length > 0) {
    return dayBody(bundle, given, "As recorded by simulate --json.");
  }
  const drawn = inferlineOverDay(bundle, null);
  if (drawn === null) return null;
  const { of, followed, peak, planned, plannedCostPerHour } = drawn;
  const runs = [
    { name: `tuner ${bundle.policy.tuner}`, ...followed },
    { name: "the plan of the highest load", ...peak },
  ];
  const known = {
    name: "each minute's plan, known in advance",
    costPerHour: plannedCostPerHour,
    minutes: planned.map((costPerHour) => ({ costPerHour })),
  };
  return dayBody(bundle, runs, `A synthetic day: ${of}.`, known);
}

/** Curve with a cost by the minute; without misses if nothing was served by it. */
interface Curve {
  readonly name: string;
  readonly costPerHour: number;
  readonly minutes: readonly { readonly costPerHour: number }[];
}

function dayBody(
  bundle: InferlineBundle,
  runs: readonly NamedDayRun[],
  about: string,
  known?: Curve,
): Markup {
  const curves: readonly Curve[] = known === undefined ? runs : [...runs, known];
  const ceiling = violationCeiling(bundle.slo);
  const rows = runs.map(({ name, costPerHour, violationRate, worstMinuteViolationRate }) =>
    tableRow([
      name,
      decimalText(costPerHour, 3),
      limited(violationRate > ceiling, ratioText(violationRate)),
      ratioText(worstMinuteViolationRate),
    ]),
  );
  const plan =
    known === undefined
      ? []
      : [tableRow([known.name, decimalText(known.costPerHour, 3), "–", "–"])];
  return html`<p>${about}</p>${keyOf(curves)}${figureGrid([
    captionedFigure(
      "Cost",
      drawDayCost(curves),
      "Cost of all replicas per hour, minute by minute.",
    ),
    captionedFigure(
      "Misses",
      drawDayMisses(runs, ceiling),
      "Share of the requests of each minute that are late.",
    ),
  ])}<div class="scroll"><table class="words">
<thead>${headRow(["followed by", "cost/h", "late", "worst minute"])}</thead>
<tbody>${[...rows, ...plan]}</tbody></table></div>`;
}

function keyOf(curves: readonly Curve[]): Markup {
  const items = curves.map(({ name }, index) => {
    const { strokeWidth, strokeDasharray } = strokeOf(index);
    return html`<li><svg viewBox="0 0 26 10" aria-hidden="true"><path d="M0 5h26"
stroke="currentColor" stroke-width="${strokeWidth}"
stroke-dasharray="${strokeDasharray}"/></svg>${name}</li>\n`;
  });
  return html`<ul class="key">${items}</ul>`;
}

function strokeOf(index: number): (typeof STROKES)[number] {
  return STROKES[index % STROKES.length] ?? STROKES[0];
}

function drawDayCost(curves: readonly Curve[]): Markup {
  const most = Math.max(...curves.flatMap(({ minutes }) => minutes.map((one) => one.costPerHour)));
  const text = {
    id: "day-cost",
    title: "Cost over the day",
    description: curves
      .map(({ name, costPerHour }) => `${name}: ${decimalText(costPerHour, 3)} an hour`)
      .join(", "),
  };
  return drawFigure(text, {
    x: { label: "minute" },
    y: { domain: [0, most * 1.08], label: "cost per hour", ticks: 6, grid: true },
    marks: curves.map(({ minutes }, index) =>
      Plot.line(minutes, {
        x: (_: unknown, minute: number) => minute,
        y: "costPerHour",
        curve: "step",
        stroke: "currentColor",
        ...strokeOf(index),
      }),
    ),
  });
}

function drawDayMisses(runs: readonly NamedDayRun[], ceiling: number): Markup {
  const worst = Math.max(ceiling, ...runs.map((run) => run.worstMinuteViolationRate));
  const text = {
    id: "day-misses",
    title: "Requests that miss the SLO over the day",
    description: runs
      .map(
        ({ name, violationRate, worstMinuteViolationRate }) =>
          `${name}: ${ratioText(violationRate)}, ` +
          `${ratioText(worstMinuteViolationRate)} in the worst minute`,
      )
      .join("; "),
  };
  return drawFigure(text, {
    marginLeft: 60,
    x: { label: "minute" },
    y: { domain: [0, worst * 1.08], label: "late", tickFormat: percentTick, grid: true },
    marks: [
      ...limitMarks("ceiling", ceiling),
      ...runs.map(({ minutes }, index) =>
        Plot.line(minutes, {
          x: (_: unknown, minute: number) => minute,
          y: ({ requests, violations }: (typeof minutes)[number]) =>
            requests === 0 ? 0 : violations / requests,
          curve: "step",
          stroke: "currentColor",
          ...strokeOf(index),
        }),
      ),
    ],
  });
}
