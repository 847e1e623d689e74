/** Figure of the workers, one square each: ready, starting, or not available. */
import type { LiveApplication } from "../live.ts";
import { label } from "./chart.ts";
import { variantStyles } from "./colours.ts";
import { drawn } from "./dom.ts";
import { Figure, WIDTH } from "./figure.ts";
import type { Drawn } from "./load-figures.ts";
import { counted } from "./numbers.ts";

const SQUARE = 15;
const GAP = 4;
const ROW = 38;
/** Squares per line; further ones are shown as a number. */
const MAX_SQUARES = 19;

interface Row {
  readonly name: string;
  readonly groups: readonly Group[];
}

interface Group {
  readonly count: number;
  readonly style: string;
  readonly word: string;
}

export function workerFigure(): Drawn {
  const figure = new Figure(
    "Workers",
    "One square each: filled if the worker takes work, empty if not.",
  );
  return {
    figure,
    update: (application) => {
      const rows = rowsOf(application);
      figure.height = ROW * Math.max(1, rows.length) + 6;
      figure.show(
        rows.flatMap((row, place) => rowMarks(row, ROW * place)),
        rows.map(({ name, groups }) => `${name}: ${wordsOf(groups)}.`).join(" "),
      );
    },
  };
}

function rowsOf(application: LiveApplication): Row[] {
  const { variants, workers, places } = application;
  if (places !== null) {
    const idle = Math.max(0, places.ready - places.busy);
    const groups = [
      { count: places.busy, style: "busy", word: "busy" },
      { count: idle, style: "idle", word: "free" },
      { count: places.count - places.ready, style: "away", word: "not running" },
    ];
    return [{ name: "execution places", groups }];
  }
  const count = workers.count ?? 0;
  const ready = workers.ready ?? 0;
  const styles = variantStyles(variants);
  const planned = variants.flatMap(({ task, name, assigned, ready: up, cores }, index) => {
    if (assigned === null || assigned === 0) return [];
    const held = up ?? 0;
    const each = cores === null ? "" : `, ${counted(cores, "core")} each`;
    const groups = [
      { count: held, style: styles[index] ?? "", word: "ready" },
      { count: assigned - held, style: "away", word: "starting" },
    ];
    return [{ name: `${task === name ? task : `${task}: ${name}`}${each}`, groups }];
  });
  const isPlanned = variants.some(({ assigned }) => assigned !== null);
  if (!isPlanned) {
    const groups = [
      { count: ready, style: "busy", word: "ready" },
      { count: count - ready, style: "away", word: "not ready" },
    ];
    return [{ name: "workers", groups }];
  }
  const assigned = variants.reduce((sum, one) => sum + (one.assigned ?? 0), 0);
  const spare = { count: count - assigned, style: "away", word: "not used by the plan" };
  return spare.count > 0 ? [...planned, { name: "spare", groups: [spare] }] : planned;
}

function rowMarks({ name, groups }: Row, top: number): SVGElement[] {
  const marks: SVGElement[] = [label(0, top + 12, `${name}: ${wordsOf(groups)}`, "start")];
  let place = 0;
  for (const { count, style } of groups) {
    for (let one = 0; one < count && place < MAX_SQUARES; one++) {
      const x = place * (SQUARE + GAP) + 1;
      const box = { x, y: top + 18, width: SQUARE, height: SQUARE, rx: 3 };
      marks.push(drawn("rect", { class: `square ${style}`, ...box }));
      place++;
    }
  }
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total > place) marks.push(label(WIDTH, top + 30, `+${total - place}`, "end"));
  return marks;
}

function wordsOf(groups: readonly Group[]): string {
  const texts = groups
    .filter(({ count }) => count > 0)
    .map(({ count, word }) => `${count} ${word}`);
  return texts.length === 0 ? "none" : texts.join(", ");
}
