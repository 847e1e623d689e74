/**
 * The latency model of every stage: its curves, the measurements, and the error of the fit point by
 * point.
 */
import * as Plot from "@observablehq/plot";
import type {
  LatencyFit,
  ScaledTask,
  ScaledVariant,
  ThemisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import {
  type FittedPoint,
  fitError,
  fittedPoints,
} from "stratagem-runtime/internal/methods/themis/describe/latency-fit-view";
import {
  chosenText,
  latencyAt,
} from "stratagem-runtime/internal/methods/themis/describe/plan-view";
import { drawFigure } from "../../../report/figure.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { wholeAxis } from "../../../report/kit/whole-axis.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";

export function fitSection(bundle: ThemisBundle, keys: readonly PipelineVariantKey[]): Markup {
  const parts = bundle.tasks.flatMap((task, index) =>
    task.variants.map((variant, position) => {
      const own = { name: nameOf(bundle, task, variant), id: idOf(index, position), variant };
      return html`<div>${drawLatencyCurves(own, keys[index])}${errorTable(own)}</div>\n`;
    }),
  );
  return html`<p>Lines are what plans are made with, one for each batch; circles are what was
measured.</p><div class="figures">${parts}</div>`;
}

interface NamedVariant {
  readonly name: string;
  /** Prefix of element ids on the page. */
  readonly id: string;
  readonly variant: ScaledVariant;
}

/** A task by its name and, if there are several, its variant and pool. */
function nameOf({ cluster }: ThemisBundle, task: ScaledTask, variant: ScaledVariant): string {
  if (task.variants.length === 1) return task.name;
  const chosen = { variant: task.variants.indexOf(variant) };
  return `${task.name} ${chosenText(task.variants, chosen, cluster.pools)}`.trim();
}

function idOf(task: number, position: number): string {
  return position === 0 ? `${task}` : `${task}-${position}`;
}

/** Coefficients of each stage's model, and the quality of their fit. */
export function coefficientTable(
  bundle: ThemisBundle,
  keys: readonly PipelineVariantKey[],
): Markup {
  const all = bundle.tasks.flatMap((task, index) =>
    task.variants.map((variant) => ({ index, variant, name: nameOf(bundle, task, variant) })),
  );
  const rows = all.map(({ index, variant, name }) => {
    const points = fittedPoints(variant.latency);
    const error = fitError(points);
    return tableRow([
      html`<td>${chip(keys[index])} ${name}</td>`,
      variant.name,
      coefficientCells(variant.latency.fit),
      points.length === 0 ? "–" : decimalText(points.length),
      ratioText(error?.mean ?? null),
      ratioText(error?.worst ?? null),
    ]);
  });
  return html`<p>A batch of b queries on c cores takes l(b, c) = γ b / c + ε / c + δ b + η ms,
unless it was measured on every number of cores.</p><div class="scroll"><table class="words"
id="fit-table">
<thead>${headRow([
    "task",
    "model",
    "γ",
    "ε",
    "δ",
    "η",
    "points",
    "mean error",
    "worst error",
  ])}</thead>
<tbody>${rows}</tbody></table></div>`;
}

function coefficientCells(fit: LatencyFit | null): Markup {
  const coefficients =
    fit === null ? [null, null, null, null] : [fit.gamma, fit.epsilon, fit.delta, fit.eta];
  return html`${coefficients.map(
    (value) => html`<td>${value === null ? "–" : decimalText(value, 3)}</td>`,
  )}`;
}

interface CurvePoint {
  readonly cores: number;
  readonly batch: number;
  readonly ms: number;
}

/** Latency by cores, a line for each batch that was measured, or for powers of two. */
function drawLatencyCurves(
  { name, id, variant: { latency } }: NamedVariant,
  key: PipelineVariantKey | undefined,
): Markup {
  const [maxCores = 0, maxBatch = 0] = latency.ms.shape;
  const points = fittedPoints(latency);
  const batches = batchesOf(points, maxBatch);
  const curve = batches.flatMap((batch) =>
    Array.from({ length: maxCores }, (_, core): CurvePoint => {
      return { cores: core + 1, batch, ms: latencyAt(latency, batch, core + 1) };
    }),
  );
  const shown = points.filter(({ batch }) => batches.includes(batch));
  const most = Math.max(...curve.map(({ ms }) => ms), ...shown.map(({ measuredMs }) => measuredMs));
  const ends = curve.filter(({ cores }) => cores === maxCores);
  const text = {
    id: `curve-${id}`,
    title: `Latency of ${name} by cores`,
    description:
      `One query takes ${msText(latencyAt(latency, 1, 1))} on one core and ` +
      `${msText(latencyAt(latency, 1, maxCores))} on ${counted(maxCores, "core")}.`,
  };
  const color = key?.color ?? "currentColor";
  const drawing = drawFigure(text, {
    marginRight: 36,
    height: 220,
    x: { domain: [0.7, Math.max(maxCores, 2)], label: "cores", ...wholeAxis(1, maxCores) },
    y: { domain: [0, most * 1.05], label: "ms a batch", ticks: 5, grid: true },
    marks: [
      Plot.line(curve, { x: "cores", y: "ms", z: "batch", stroke: color, strokeWidth: 1.8 }),
      Plot.dot(shown, {
        x: "cores",
        y: "measuredMs",
        r: 3.2,
        stroke: "currentColor",
        strokeWidth: 1.2,
        title: (point: FittedPoint) =>
          `batch ${point.batch} on ${counted(point.cores, "core")}: ` +
          `${msText(point.measuredMs)} ` +
          `measured${point.fittedMs === null ? "" : `, ${msText(point.fittedMs)} fitted`}`,
      }),
      Plot.text(clearOf(ends, 0.075 * most), {
        x: "cores",
        y: "ms",
        text: ({ batch }: CurvePoint) => `b ${batch}`,
        dx: 7,
        textAnchor: "start",
      }),
    ],
  });
  return html`<figure><h3>${chip(key)} ${name}</h3>${drawing}</figure>`;
}

/** At most five, so that lines stay distinct. */
function batchesOf(points: readonly FittedPoint[], maxBatch: number): number[] {
  const measured = [...new Set(points.map(({ batch }) => batch))].sort((a, b) => a - b);
  const isPower = (batch: number): boolean => Number.isInteger(Math.log2(batch));
  const all =
    measured.length > 0 ? measured : Array.from({ length: maxBatch }, (_, index) => index + 1);
  const some = all.length <= 5 ? all : all.filter(isPower);
  return some.length === 0 ? all.slice(0, 5) : some.slice(-5);
}

/** Labels from the highest down, moved so that they do not overlap. */
function clearOf(ends: readonly CurvePoint[], gapMs: number): CurvePoint[] {
  let aboveMs = Number.POSITIVE_INFINITY;
  return [...ends]
    .sort((a, b) => b.ms - a.ms)
    .map((end) => {
      aboveMs = Math.min(end.ms, aboveMs - gapMs);
      return { ...end, ms: aboveMs };
    });
}

/** Largest error first. */
function errorTable({ name, id, variant: { latency } }: NamedVariant): Markup {
  const points = fittedPoints(latency);
  if (points.length === 0) {
    return html`<p class="note">The coefficients were given: there are no measurements to compare
them with.</p>`;
  }
  if (latency.fit === null) {
    return html`<p class="note">Measured
on ${counted(new Set(points.map(({ cores }) => cores)).size, "number")} of cores, without a
fit.</p>`;
  }
  const rows = [...points]
    .sort((a, b) => Math.abs(b.error ?? 0) - Math.abs(a.error ?? 0))
    .map(({ batch, cores, measuredMs, fittedMs, error }) =>
      tableRow([
        batch,
        cores,
        decimalText(measuredMs, 2),
        fittedMs === null ? "–" : decimalText(fittedMs, 2),
        signedText(error),
      ]),
    );
  return html`<details class="errors" id="errors-${id}"><summary>Error of the fit
at ${counted(points.length, "point")}</summary>
<div class="scroll"><table aria-label="fit of ${name}"><thead>${headRow([
    "batch",
    "cores",
    "measured, ms",
    "fitted, ms",
    "error",
  ])}</thead>
<tbody>${rows}</tbody></table></div></details>`;
}

function signedText(error: number | null): string {
  if (error === null) return "–";
  return `${error > 0 ? "+" : error < 0 ? "−" : ""}${decimalText(100 * Math.abs(error), 2)}%`;
}
