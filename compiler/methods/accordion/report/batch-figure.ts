/** Time of a query by batch for each number of places, and the number of places a batch needs. */
import * as Plot from "@observablehq/plot";
import type { AccordionBundle, MalleableVariant } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { limitMarks } from "../../../report/kit/load-axis.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { wholeAxis } from "../../../report/kit/whole-axis.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, msText } from "../../../report/number-text.ts";
import { fewestPlaces, largestBatch, leastLatencies } from "./depths.ts";

/** Maximum number of lines. */
const MAX_LINES = 8;
/** Points of a line. */
const MAX_POINTS = 65;
/** Largest drawn time, relative to the SLO. */
const TOP_OF_SLO = 1.5;
/** If the SLO exceeds all times by this factor, its line is left out. */
const FAR_BELOW_SLO = 4;
/** Minimum distance of labels, as a fraction of the time axis. */
const LABEL_GAP = 0.062;

interface BatchPoint {
  readonly places: number;
  readonly batch: number;
  readonly ms: number;
}

/** Draws a line for each number of places, with a ring at the largest batch that meets the SLO. */
export function drawBatches(
  bundle: AccordionBundle,
  model: MalleableVariant,
  key: PipelineVariantKey,
): Markup {
  const { latencyMs: sloMs } = bundle.slo;
  const all = leastLatencies(bundle, model);
  const lines = someOf(all);
  const frame = frameOf(all, sloMs);
  const points = lines.flatMap(({ places, latencyMs }) => pointsOf(places, latencyMs, frame));
  const ranges = fewestPlaces(bundle, model);
  const shownPlaces = new Set(lines.map(({ places }) => places));
  const rings = all.flatMap(({ places, latencyMs }): BatchPoint[] => {
    const batch = latencyMs.findLastIndex((ms) => ms <= sloMs) + 1;
    if (batch === 0 || batch > frame.maxBatch || !shownPlaces.has(places)) return [];
    return [{ places, batch, ms: latencyMs[batch - 1] ?? Number.NaN }];
  });
  const most = largestBatch(ranges);
  const each = ranges.map(
    ({ places, from, to }) => `${counted(places, "place")} for ${rangeText(from, to)}`,
  );
  const text = {
    id: `batches-${key.variant}`,
    title: `Time of a query of ${model.name} against its batch`,
    description:
      most === 0
        ? `No batch meets the SLO of ${msText(sloMs)}.`
        : `Within the SLO of ${msText(sloMs)}, ${each.join(", ")} instances.`,
  };
  return drawFigure(text, {
    marginLeft: 56,
    marginRight: 34,
    marginTop: 34,
    x: {
      domain: [1, Math.max(2, frame.maxBatch)],
      label: "instances of the query",
      ...wholeAxis(1, Math.max(2, frame.maxBatch)),
    },
    y: {
      domain: [0, frame.topMs],
      label: "time, ms",
      ticks: 5,
      grid: true,
      tickFormat: (ms: number) => decimalText(ms, 1),
    },
    marks: [
      ...sloMarks(sloMs, frame.topMs),
      Plot.line(points, {
        x: "batch",
        y: "ms",
        z: "places",
        stroke: key.color,
        strokeWidth: 1.8,
      }),
      Plot.dot(rings, {
        x: "batch",
        y: "ms",
        r: 3.2,
        stroke: "currentColor",
        fill: "var(--page)",
        title: ({ places, batch, ms }: BatchPoint) =>
          `${counted(places, "place")}: up to ${counted(batch, "instance")}, ${msText(ms)}`,
      }),
      ...endNames(points, frame),
    ],
  });
}

/** Draws the SLO, or marks its direction beyond the frame. */
function sloMarks(sloMs: number, topMs: number): Plot.Markish[] {
  if (sloMs <= topMs) return limitMarks("SLO", sloMs);
  return [
    Plot.text([`↑ SLO ${msText(sloMs)}`], {
      frameAnchor: "top-left",
      dx: 4,
      dy: 5,
      fill: "var(--limit)",
    }),
  ];
}

interface BatchFrame {
  readonly maxBatch: number;
  readonly topMs: number;
}

/** Limits the frame to times near the SLO, which decide how many places a query needs. */
function frameOf(
  lines: readonly { readonly latencyMs: Float64Array }[],
  sloMs: number,
): BatchFrame {
  const slowest = lines[0]?.latencyMs ?? new Float64Array(1);
  const firstMs = slowest[0] ?? sloMs;
  const highestMs = slowest.at(-1) ?? sloMs;
  // An SLO far above all times would press the lines onto the axis.
  if (highestMs < sloMs / FAR_BELOW_SLO) {
    return { maxBatch: slowest.length, topMs: highestMs * 1.08 };
  }
  // If not even one instance meets the SLO, the first batches are shown all the same.
  const topMs = Math.max(sloMs * 1.08, Math.min(highestMs, TOP_OF_SLO * Math.max(sloMs, firstMs)));
  const within = Math.max(
    ...lines.map(({ latencyMs }) => latencyMs.findLastIndex((ms) => ms <= topMs) + 1),
  );
  return { maxBatch: Math.min(slowest.length, within + 1), topMs };
}

/** Points of a line until it leaves the frame. */
function pointsOf(
  places: number,
  latencyMs: Float64Array,
  { maxBatch, topMs }: BatchFrame,
): BatchPoint[] {
  const last = Math.min(maxBatch, latencyMs.findLastIndex((ms) => ms <= topMs) + 1);
  const step = Math.max(1, Math.ceil(last / MAX_POINTS));
  const points: BatchPoint[] = [];
  for (let batch = 1; batch <= last; batch += step) {
    points.push({ places, batch, ms: latencyMs[batch - 1] ?? Number.NaN });
  }
  const end = { places, batch: last, ms: latencyMs[last - 1] ?? Number.NaN };
  if (last > 0 && points.at(-1)?.batch !== last) points.push(end);
  const next = latencyMs[last] ?? Number.NaN;
  if (last === 0 || last >= maxBatch || Number.isNaN(next)) return points;
  // Times are linear between two batches: the line continues to the edge.
  const share = (topMs - end.ms) / (next - end.ms);
  return [...points, { places, batch: last + share, ms: topMs }];
}

/**
 * Labels the lines with their numbers of places at their ends: above those that leave at the top,
 * beside the others.
 */
function endNames(points: readonly BatchPoint[], { topMs, maxBatch }: BatchFrame): Plot.Markish[] {
  const ends = [...new Set(points.map(({ places }) => places))].flatMap(
    (places) => points.findLast((point) => point.places === places) ?? [],
  );
  const atTop = ends.filter(({ ms }) => ms >= topMs);
  const beside = ends.filter(({ ms }) => ms < topMs);
  return [
    Plot.text(
      gathered(atTop, ({ batch }) => batch, LABEL_GAP * maxBatch),
      { x: "at", y: () => topMs, text: "text", dy: -7, fontWeight: "bold" },
    ),
    Plot.text(
      gathered(beside, ({ ms }) => ms, LABEL_GAP * topMs),
      {
        x: () => Math.max(2, maxBatch),
        y: "at",
        text: "text",
        dx: 6,
        textAnchor: "start",
        fontWeight: "bold",
      },
    ),
  ];
}

/**
 * Merges labels that would overlap.
 * @param gap minimum distance of labels.
 */
function gathered(
  ends: readonly BatchPoint[],
  read: (end: BatchPoint) => number,
  gap: number,
): { readonly at: number; readonly text: string }[] {
  const groups: BatchPoint[][] = [];
  for (const end of [...ends].sort((a, b) => read(a) - read(b))) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    if (group === undefined || first === undefined || read(end) - read(first) >= gap) {
      groups.push([end]);
    } else group.push(end);
  }
  return groups.map((group) => {
    const places = group.map((end) => end.places).sort((a, b) => a - b);
    const at = group.reduce((sum, end) => sum + read(end), 0) / group.length;
    return { at, text: rangeText(places[0] ?? 0, places.at(-1) ?? 0) };
  });
}

/** Returns the first and the last line, and powers of two between them. */
function someOf<Line extends { readonly places: number }>(lines: readonly Line[]): Line[] {
  if (lines.length <= MAX_LINES) return [...lines];
  return lines.filter(
    ({ places }, at) => at === 0 || at === lines.length - 1 || Number.isInteger(Math.log2(places)),
  );
}

/**
 * A row for each number of places, a column for each model: the batches that need this many to meet
 * the SLO.
 */
export function needTable(bundle: AccordionBundle, keys: readonly PipelineVariantKey[]): Markup {
  const models = bundle.tasks.flatMap(({ variants }) => variants);
  const needs = models.map((model) => fewestPlaces(bundle, model));
  const places = [...new Set(needs.flatMap((ranges) => ranges.map((range) => range.places)))].sort(
    (a, b) => a - b,
  );
  const { maxBatch } = bundle.policy;
  const rows = places.map((count) => {
    const cells = needs.map((ranges) => {
      const range = ranges.find((one) => one.places === count);
      return html`<td>${range === undefined ? "–" : rangeText(range.from, range.to)}</td>`;
    });
    return html`<tr><td>${count}</td>${cells}</tr>\n`;
  });
  const beyond = needs.map((ranges) => {
    const most = largestBatch(ranges);
    return most >= maxBatch
      ? html`<td>–</td>`
      : html`<td class="over">${rangeText(most + 1, maxBatch)}</td>`;
  });
  const heads = models.map((model, index) => html`<th>${chip(keys[index])} ${model.name}</th>`);
  return html`<div class="scroll" role="region" aria-label="fewest places" tabindex="0"><table
id="need-table"><thead><tr><th>places</th>${heads}</tr></thead>
<tbody>${rows}<tr><td>too slow on any</td>${beyond}</tr></tbody></table></div>`;
}

function rangeText(from: number, to: number): string {
  return from === to ? String(from) : `${from}–${to}`;
}
