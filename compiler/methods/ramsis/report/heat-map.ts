/**
 * An action table as a picture: waiting queries upwards, slack to the right, the variant as colour
 * and letter.
 */
import type * as Plot from "@observablehq/plot";
import {
  GIVE_UP,
  NO_ACTION,
  type RamsisBundle,
  type Table,
} from "stratagem-runtime/internal/bundle/schema";
import { rowLengths } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { type DrawMarkup, drawFigure, type FigureText, roundTo } from "../../../report/figure.ts";
import { escapeText, type Markup } from "../../../report/markup.ts";
import { msText } from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import { type Rectangle, rectanglesByValue, roomiestRectangle } from "./regions.ts";

/**
 * Above this number of rows, a square-root scale magnifies short queues, which are the common ones.
 */
const MAX_LINEAR_ROWS = 20;
/** Height of a letter, in units of the figure. */
const LETTER_SIZE = 12;

/** Positions of cells. */
interface Geometry {
  /** Left edge of a column; the number of columns gives the right edge of the last. */
  readonly x: (column: number) => number;
  /** Lower edge of a row; the number of rows gives the upper edge of the last. */
  readonly y: (row: number) => number;
}

type Task = RamsisBundle["tasks"][number];

/** @param table `actionByState` of a level or its mixture. */
export function drawHeatMap(
  text: FigureText,
  bundle: RamsisBundle,
  table: Table,
  keys: readonly VariantKey[],
): Markup {
  const { slackMs, maxQueue } = bundle.decisionSpace;
  const columnEdges = columnEdgesMs(slackMs);
  const rowCount = maxQueue + 1;
  // A row extends to the next row's queue length.
  const rowEdges = [...Array.from(rowLengths(bundle.decisionSpace)), rowCount + 1];
  const type = rowCount > MAX_LINEAR_ROWS ? "sqrt" : "linear";
  const drawCells: DrawMarkup = (scales) => {
    const geometry = {
      x: (column: number) => Number(scales.x?.(columnEdges[column])),
      y: (row: number) => Number(scales.y?.((rowEdges[row] ?? 1) - 0.5)),
    };
    return `<g class="cells">${cellsMarkup(bundle, table, keys, geometry)}</g>`;
  };
  const options: Plot.PlotOptions = {
    height: 300,
    x: { domain: [0, columnEdges.at(-1) ?? 1], label: "slack of the oldest query, ms", ticks: 6 },
    y: {
      type,
      domain: [0.5, rowCount + 0.5],
      label: `queries waiting${type === "sqrt" ? " (square-root scale)" : ""}`,
      ticks: queueTicks(rowCount),
      tickFormat: (queued: number) => (queued === rowCount ? `≥${queued}` : String(queued)),
    },
  };
  return drawFigure(text, options, drawCells);
}

/**
 * Columns cover the time up to the next one; the last is the SLO itself and drawn as wide as the
 * one before it.
 */
function columnEdgesMs({ data }: Table): number[] {
  const last = data.at(-1) ?? 0;
  return [...data, last + (last - (data.at(-2) ?? 0))];
}

/** Queue lengths to label: few, round, and the last one, which stands for a full queue. */
function queueTicks(rowCount: number): number[] {
  const fractions = rowCount > MAX_LINEAR_ROWS ? [0.03, 0.12, 0.3, 0.6] : [0.25, 0.5, 0.75];
  const between = fractions.map((fraction) => {
    const value = rowCount * fraction;
    const unit = value > 200 ? 50 : value > 20 ? 10 : value > 8 ? 4 : 1;
    return Math.round(value / unit) * unit;
  });
  return [...new Set([1, ...between.filter((value) => value > 1 && value < rowCount), rowCount])];
}

function cellsMarkup(
  bundle: RamsisBundle,
  { data }: Table,
  keys: readonly VariantKey[],
  geometry: Geometry,
): string {
  const columnCount = bundle.decisionSpace.slackMs.data.length;
  const actions = bundle.decisionSpace.actions.data;
  const regions = [...rectanglesByValue(data, columnCount)].sort(([a], [b]) => a - b);
  const groups = new Map<number, string[]>();
  for (const [action, rectangles] of regions) {
    const variant = variantOf(action, actions);
    const outlines = rectangles.map((one) => outline(one, geometry)).join("");
    const title = titleOf(bundle.tasks[0], keys, variant, actions[2 * action + 1] ?? 0);
    const path = `<path d="${outlines}"><title>${title}</title></path>`;
    groups.set(variant, [...(groups.get(variant) ?? []), path]);
  }
  const variantByCell = Uint16Array.from(data, (action) => variantOf(action, actions));
  return [...groups]
    .map(([variant, paths]) => {
      const fill = keys[variant]?.color ?? (variant === GIVE_UP ? "var(--line)" : "var(--wait)");
      const letter = letterMarkup(variantByCell, columnCount, variant, keys, geometry);
      return `<g fill="${fill}">${paths.join("")}</g>${letter}`;
    })
    .join("");
}

/** The variant of an action; special values stand for themselves. */
function variantOf(action: number, actions: ArrayLike<number>): number {
  const isNone = action === NO_ACTION || action === GIVE_UP;
  return isNone ? action : (actions[2 * action] ?? NO_ACTION);
}

function outline({ top, bottom, left, right }: Rectangle, { x, y }: Geometry): string {
  const [x0, x1, y0, y1] = [x(left), x(right), y(bottom), y(top)].map((edge) => roundTo(edge, 1));
  if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return "";
  return `M${x0} ${y0}H${x1}V${y1}H${x0}z`;
}

function titleOf(
  task: Task | undefined,
  keys: readonly VariantKey[],
  variant: number,
  batch: number,
): string {
  const key = keys[variant];
  if (variant === GIVE_UP) return "drop the earliest query";
  if (task === undefined || key === undefined) return "wait for more queries";
  const { data, shape } = task.serviceTimes.decisionMs;
  const serviceMs = data[variant * (shape[1] ?? 0) + batch - 1] ?? Number.NaN;
  return escapeText(`${key.letter} ${key.name}, batch of ${batch}: ${msText(serviceMs)}`);
}

/** The letter of a variant in its roomiest rectangle, if it is large enough. */
function letterMarkup(
  variantByCell: Uint16Array,
  columnCount: number,
  variant: number,
  keys: readonly VariantKey[],
  { x, y }: Geometry,
): string {
  const width = (left: number, right: number): number => x(right) - x(left);
  const height = (top: number, bottom: number): number => y(top) - y(bottom);
  const room = roomiestRectangle(variantByCell, columnCount, variant, width, height);
  if (room === null) return "";
  if (Math.min(width(room.left, room.right), height(room.top, room.bottom)) < LETTER_SIZE)
    return "";
  const centerX = roundTo((x(room.left) + x(room.right)) / 2, 1);
  const centerY = roundTo((y(room.top) + y(room.bottom)) / 2, 1);
  const label = keys[variant]?.letter ?? (variant === GIVE_UP ? "give up" : "wait");
  return `<text x="${centerX}" y="${centerY}" dy="0.35em" class="letter">${label}</text>`;
}
