/** Draws the tasks as a graph with the share of queries on each edge. */
import type { InferlineBundle, StageTask } from "stratagem-runtime/internal/bundle/schema";
import { FIGURE_WIDTH, roundTo } from "../figure.ts";
import { escapeText, Markup } from "../markup.ts";
import { decimalText, listText, ratioText } from "../number-text.ts";
import { layersOf, type Place, type Route, SOURCE } from "./layers.ts";

/** Pipeline of tasks of any method. */
export interface StagePipeline extends Pick<InferlineBundle, "entryBranch"> {
  readonly tasks: readonly Pick<StageTask, "name" | "edges" | "branch">[];
}

const BOX_WIDTH = 116;
const BOX_HEIGHT = 38;
const PLACE_WIDTH = BOX_WIDTH + 14;
const ROW_HEIGHT = 88;
const ARROW = 5;
/** Most letters of a name at its drawn size. */
const MAX_LETTERS = 15;

/** Draws a figure with the necessary width, which scrolls on narrower pages. */
export function drawTaskGraph(bundle: StagePipeline, caption: string): Markup {
  const { tasks } = bundle;
  const layers = layersOf(tasks);
  const width = Math.max(FIGURE_WIDTH, layers.mostPlaces * PLACE_WIDTH);
  const height = (layers.rowCount - 1) * ROW_HEIGHT + BOX_HEIGHT + 4;
  const point = ({ row, across }: Place) => ({ x: across * width, y: 2 + row * ROW_HEIGHT });
  const routes = layers.routes.map((route) => routeMarkup(bundle, route, point)).join("");
  const boxes = [...layers.placeByTask]
    .map(([task, place]) => boxMarkup(bundle, task, point(place)))
    .join("");
  const drawing =
    `<svg class="figure" viewBox="0 0 ${width} ${height}" ` +
    `style="min-width:${Math.round(0.85 * width)}px" font-size="12" role="img" ` +
    `aria-labelledby="stages-title stages-desc"><title id="stages-title">Tasks of the ` +
    `pipeline</title><desc id="stages-desc">${escapeText(descriptionOf(bundle))}</desc><g ` +
    `fill="currentColor">${routes}${boxes}</g></svg>`;
  return new Markup(
    `<figure style="flex:0 1 ${width}px"><div ` +
      `class="scroll">${drawing}</div><figcaption>${escapeText(caption)}</figcaption></figure>`,
  );
}

type PointOf = (place: Place) => { readonly x: number; readonly y: number };

/** Draws a curve from box to box with its share at the end. */
function routeMarkup(bundle: StagePipeline, route: Route, point: PointOf): string {
  const points = route.places.map(point);
  const last = points.length - 1;
  let path = "";
  let label = { x: 0, y: 0 };
  for (const [index, { x, y }] of points.entries()) {
    const before = points[index - 1];
    if (before === undefined) {
      path = `M${roundTo(x, 1)} ${roundTo(y + BOX_HEIGHT, 1)}`;
      continue;
    }
    const top = index === last ? y - ARROW : y;
    const from = before.y + BOX_HEIGHT;
    const middle = (from + top) / 2;
    path += `C${curve([before.x, middle, x, middle, x, top])}`;
    // An edge that passes a row goes straight through it.
    if (index < last) path += `V${roundTo(y + BOX_HEIGHT, 1)}`;
    label = { x: (before.x + x) / 2, y: middle };
  }
  const end = points[last] ?? { x: 0, y: 0 };
  const [left, right, base] = [end.x - ARROW, end.x + ARROW, end.y - ARROW - 1];
  const arrow = `M${curve([left, base, right, base, end.x, end.y])}Z`;
  const dash = branchOf(bundle, route.source) === "exclusive" ? ` stroke-dasharray="5 3"` : "";
  return (
    `<path d="${path}" fill="none" stroke="currentColor" stroke-opacity=".55" ` +
    `stroke-width="1.5"${dash}/><path d="${arrow}" fill-opacity=".7"/><text ` +
    `x="${roundTo(label.x, 1)}" y="${roundTo(label.y + 4, 1)}" text-anchor="middle" ` +
    `font-size="11" stroke="var(--page)" stroke-width="5" ` +
    `paint-order="stroke">${escapeText(routeText(bundle, route))}</text>`
  );
}

function curve(coordinates: readonly number[]): string {
  return coordinates.map((value) => roundTo(value, 1)).join(" ");
}

function boxMarkup(
  { tasks }: StagePipeline,
  task: number,
  { x, y }: { readonly x: number; readonly y: number },
): string {
  const isSource = task === SOURCE;
  const name = isSource ? "requests" : (tasks[task]?.name ?? "");
  const shown = name.length > MAX_LETTERS ? `${name.slice(0, MAX_LETTERS - 1)}…` : name;
  const isJoin = (tasks[task]?.edges.length ?? 0) > 1;
  const radius = isSource ? BOX_HEIGHT / 2 : 8;
  const text = (line: string, dy: number, attributes: string): string =>
    `<text x="${roundTo(x, 1)}" y="${roundTo(y + dy, 1)}" ` +
    `text-anchor="middle"${attributes}>${escapeText(line)}</text>`;
  const weight = isSource ? "" : ` font-weight="600"`;
  const join = isJoin ? text("join", 31, ` font-size="10" fill-opacity=".75"`) : "";
  return (
    `<g><title>${escapeText(name)}</title><rect x="${roundTo(x - BOX_WIDTH / 2, 1)}" ` +
    `y="${roundTo(y, 1)}" width="${BOX_WIDTH}" height="${BOX_HEIGHT}" rx="${radius}" ` +
    `fill="var(--panel)" stroke="var(--line)" ` +
    `stroke-width="1.5"/>${text(shown, isJoin ? 17 : 24, weight)}${join}</g>`
  );
}

/** Formats the share, and how the rows of an edge are multiplied or joined. */
function routeText({ tasks }: StagePipeline, { source, target, share }: Route): string {
  const edge = tasks[target]?.edges.find(({ parent }) => (parent ?? SOURCE) === source);
  return `${ratioText(share)}${edge === undefined ? "" : rowsText(edge)}`;
}

function rowsText({ fanout, gather }: StageTask["edges"][number]): string {
  if (fanout !== undefined) return ` × ${decimalText(fanout, 3)}`;
  if (gather === undefined) return "";
  return gather === "all" ? ", all as one" : `, ${gather} as one`;
}

function branchOf({ tasks, entryBranch }: StagePipeline, source: number) {
  return source === SOURCE ? entryBranch : tasks[source]?.branch;
}

function descriptionOf({ tasks }: StagePipeline): string {
  return tasks
    .map(({ name, edges }) => {
      const sources = edges.map(
        ({ parent, share, ...rows }) =>
          `${ratioText(share)} of ` +
          `${parent === null ? "the requests" : (tasks[parent]?.name ?? "")}` +
          rowsText({ parent, share, ...rows }),
      );
      return `${name} gets ${listText(sources)}.`;
    })
    .join(" ");
}
