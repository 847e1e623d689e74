/** Cuts of a model for each number of places: stages as bars of their time, and a table. */
import * as Plot from "@observablehq/plot";
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { tableRow } from "../../../report/table-row.ts";
import { type Depth, fastestOf, pipelinesOf } from "./depths.ts";
import { spread } from "./spread.ts";

/**
 * If there are more shapes, each number of places is shown by its fastest shape and its fastest of
 * several pools; if that is still too many, some are left out.
 */
const MAX_ROWS = 16;
const ROW_HEIGHT = 24;
const ROW_DIGIT_WIDTH = 5.8;
const FRAME_WIDTH = 282;
const DIGIT_WIDTH = 5.6;

interface StageBar {
  readonly row: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly label: string;
  readonly isHeaviest: boolean;
  readonly isMeasured: boolean;
  readonly title: string;
}

/** Returns the pipelines to show of a model. */
export function shownDepths(bundle: AccordionBundle, model: MalleableVariant): Depth[] {
  const all = pipelinesOf(bundle, model);
  if (all.length <= MAX_ROWS) return all;
  const mixed = fastestOf(all.filter(({ counts }) => counts.filter(Boolean).length > 1));
  const fastest = new Set([...fastestOf(all), ...mixed]);
  return spread(
    all.filter((depth) => fastest.has(depth)),
    MAX_ROWS,
  );
}

/** Draws a row for each number of places. Null if the profile has no layers. */
export function drawCuts(
  bundle: AccordionBundle,
  model: MalleableVariant,
  key: PipelineVariantKey,
): Markup | null {
  if (model.layerCount === 0) return null;
  const depths = shownDepths(bundle, model);
  const mostMs = Math.max(...depths.map(({ pipeline }) => sumOf(pipeline.stageMs)));
  const bars = depths.flatMap((depth) => barsOf(bundle, depth, mostMs));
  const rows = depths.map(rowName);
  const deepest = depths.at(-1);
  const steps = depths.map(({ pipeline }, at) => ({
    row: rows[at] ?? "",
    endMs: sumOf(pipeline.stageMs),
    text: `${decimalText(pipeline.stepMs, pipeline.stepMs < 10 ? 2 : 1)}`,
  }));
  const text = {
    id: `cuts-${key.variant}`,
    title: `Stages of ${model.name} by number of places`,
    description:
      `The whole of its ${counted(model.layerCount, "layer")} takes ` +
      `${msText(depths[0]?.pipeline.stepMs ?? 0)} an instance; on ` +
      `${counted(deepest?.places ?? 1, "place")} an instance comes every ` +
      `${msText(deepest?.pipeline.stepMs ?? 0)}.`,
  };
  return drawFigure(text, {
    height: 64 + ROW_HEIGHT * rows.length,
    marginLeft: 14 + ROW_DIGIT_WIDTH * Math.max(5, ...rows.map(({ length }) => length)),
    marginRight: 54,
    x: { domain: [0, mostMs], label: "time of one instance, ms", ticks: 5 },
    y: { type: "band", domain: rows, label: null, padding: 0.16, tickSize: 0 },
    marks: [
      ...[true, false].map((isMeasured) =>
        stageRects(
          bars.filter((bar) => bar.isMeasured === isMeasured),
          key.color,
          isMeasured ? "none" : "3 2",
        ),
      ),
      ...labelsOf(bars),
      Plot.text(steps, {
        frameAnchor: "right",
        y: "row",
        dx: 6,
        textAnchor: "start",
        text: "text",
      }),
      Plot.text(["places"], { frameAnchor: "top-left", dx: -6, dy: -16, textAnchor: "end" }),
      Plot.text(["every, ms"], { frameAnchor: "top-right", dx: 50, dy: -16, textAnchor: "end" }),
    ],
  });
}

function stageRects(bars: readonly StageBar[], color: string, dash: string): Plot.Markish {
  return Plot.rect(bars, {
    x1: "fromMs",
    x2: "toMs",
    y: "row",
    fill: color,
    fillOpacity: (bar: StageBar) => (bar.isHeaviest ? 1 : 0.28),
    stroke: "currentColor",
    strokeWidth: (bar: StageBar) => (bar.isHeaviest ? 1.8 : 0.8),
    strokeDasharray: dash,
    insetLeft: 0.5,
    insetRight: 0.5,
    title: "title",
  });
}

/** Marks the heaviest stage with an outline; labels on light bars are dark. */
function labelsOf(bars: readonly StageBar[]): Plot.Markish[] {
  const middle = (bar: StageBar): number => (bar.fromMs + bar.toMs) / 2;
  const channels = { x: middle, y: "row", text: "label", fontSize: 10, pointerEvents: "none" };
  return [
    Plot.text(
      bars.filter(({ isHeaviest }) => !isHeaviest),
      { ...channels, fill: "currentColor" } as Plot.TextOptions,
    ),
    Plot.text(
      bars.filter(({ isHeaviest }) => isHeaviest),
      {
        ...channels,
        fill: "white",
        stroke: "#000b",
        strokeWidth: 2.5,
        fontWeight: "bold",
      } as Plot.TextOptions,
    ),
  ];
}

function barsOf(bundle: AccordionBundle, depth: Depth, mostMs: number): StageBar[] {
  const { cut, stageMs, pools, isMeasured } = depth.pipeline;
  const heaviest = stageMs.indexOf(Math.max(...stageMs));
  let fromMs = 0;
  let from = 0;
  return stageMs.map((ms, stage) => {
    const to = from + (cut[stage] ?? 0);
    const pool = bundle.cluster.pools[pools[stage] ?? 0]?.name ?? "";
    const place = bundle.cluster.pools.length > 1 ? ` on a place of ${pool}` : "";
    const bar = {
      row: rowName(depth),
      fromMs,
      toMs: fromMs + ms,
      label: fitting(`${from}–${to}`, (FRAME_WIDTH * ms) / mostMs),
      isHeaviest: stage === heaviest,
      isMeasured,
      title:
        `layers ${from} to ${to - 1}${place}: ${msText(ms)}, ` +
        `${isMeasured ? "measured" : "added up"}`,
    };
    fromMs += ms;
    from = to;
    return bar;
  });
}

function fitting(label: string, widthPx: number): string {
  return label.length * DIGIT_WIDTH + 4 <= widthPx ? label : "";
}

/** Places of each pool. */
function rowName({ counts }: Pick<Depth, "counts">): string {
  return counts.join(" + ");
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Table of the cuts, or of what the profile states if it has no layers. */
export function cutTable(bundle: AccordionBundle, model: MalleableVariant): Markup {
  const depths = shownDepths(bundle, model);
  const hasLayers = model.layerCount > 0;
  const isMixed = bundle.cluster.pools.length > 1;
  const rows = depths.map((depth) => {
    const { pipeline, places } = depth;
    const { stageMs, stepMs, speedup, isMeasured } = pipeline;
    const cutCells = hasLayers
      ? html`<td>${decimalText(Math.max(...stageMs), 2)}</td>
<td>${decimalText(depth.latencyMs[0] ?? 0, 2)}</td>`
      : html`<td>${decimalText(depth.latencyMs[0] ?? 0, 2)}</td>`;
    const cutCell = html`<td class="cut">${cutText(bundle, pipeline)}</td>`;
    return tableRow([
      rowName(depth),
      decimalText(stepMs, 2),
      decimalText(speedup, 2),
      isMixed ? "–" : ratioText(speedup / places),
      cutCells,
      originText(hasLayers, isMeasured),
      ...(hasLayers ? [cutCell] : []),
    ]);
  });
  const heads = hasLayers
    ? html`<th>heaviest stage, ms</th><th>one instance, ms</th><th>stages</th><th class="cut">layers
of each stage</th>`
    : html`<th>one instance, ms</th><th>source</th>`;
  return html`<div class="scroll" role="region" aria-label="pipelines of ${model.name}"
tabindex="0"><table class="pipelines"><thead><tr><th>places</th><th>an instance every, ms</th>
<th>speed-up</th><th>of ideal</th>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** Layers of each stage and, with several pools, the pool of its place. */
function cutText({ cluster }: AccordionBundle, { cut, pools }: Depth["pipeline"]): string {
  if (cluster.pools.length === 1) return cut.join(" + ");
  return cut
    .map((layers, stage) => `${layers} ${cluster.pools[pools[stage] ?? 0]?.name ?? ""}`)
    .join(" + ");
}

function originText(hasLayers: boolean, isMeasured: boolean): string {
  if (hasLayers) return isMeasured ? "measured" : "added up";
  return isMeasured ? "given" : "interpolated";
}
