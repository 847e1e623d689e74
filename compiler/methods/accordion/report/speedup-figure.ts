/** Speed-up by number of places, against a linear speed-up. */
import * as Plot from "@observablehq/plot";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import type { PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { wholeAxis } from "../../../report/kit/whole-axis.ts";
import { LABEL_GAP } from "../../../report/load-marks.ts";
import type { Markup } from "../../../report/markup.ts";
import { counted, decimalText } from "../../../report/number-text.ts";
import { depthsOf } from "./depths.ts";

interface SpeedupPoint {
  readonly key: PipelineVariantKey;
  readonly places: number;
  readonly speedup: number;
  readonly isMeasured: boolean;
}

/**
 * A line for each model: filled dots are measured or given, hollow ones added up or interpolated.
 */
export function drawSpeedups(bundle: AccordionBundle, keys: readonly PipelineVariantKey[]): Markup {
  const models = bundle.tasks.flatMap(({ variants }) => variants);
  const lines = models.flatMap((model, index) => {
    const key = keys[index];
    if (key === undefined) return [];
    const points = depthsOf(bundle, model).map(({ places, pipeline }): SpeedupPoint => {
      return { key, places, speedup: pipeline.speedup, isMeasured: pipeline.isMeasured };
    });
    return [points];
  });
  const points = lines.flat();
  const mostPlaces = Math.max(2, ...points.map(({ places }) => places));
  const most = Math.max(2, ...points.map(({ speedup }) => speedup));
  const top = Math.max(most * 1.05, Math.min(mostPlaces, most * 1.3));
  const ends = lines.flatMap((line) => line.at(-1) ?? []);
  const endText = ({ key, places, speedup }: (typeof ends)[number]): string =>
    `${key.name}: ${decimalText(speedup, 2)} times as fast on ${counted(places, "place")}`;
  const text = {
    id: "speedups",
    title: "Speed-up of the models by number of places",
    description: `${ends.map(endText).join("; ")}.`,
  };
  return drawFigure(text, {
    marginRight: 26,
    x: {
      domain: [0.8, mostPlaces + 0.2],
      label: "places of one query",
      ...wholeAxis(1, mostPlaces),
    },
    y: { domain: [0, top], label: "speed-up", grid: true, ticks: 5 },
    marks: [
      Plot.line(
        [
          [1, 1],
          [mostPlaces, mostPlaces],
        ],
        { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2, clip: true },
      ),
      Plot.line(points, {
        x: "places",
        y: "speedup",
        z: (point: SpeedupPoint) => point.key.variant,
        stroke: (point: SpeedupPoint) => point.key.color,
        strokeWidth: 1.8,
      }),
      Plot.dot(points, {
        x: "places",
        y: "speedup",
        r: 3.2,
        stroke: (point: SpeedupPoint) => point.key.color,
        strokeWidth: 1.4,
        fill: (point: SpeedupPoint) => (point.isMeasured ? point.key.color : "var(--page)"),
        title: ({ key, places, speedup }: SpeedupPoint) =>
          `${key.name}: ${decimalText(speedup, 2)} times as fast on ${counted(places, "place")}`,
      }),
      ...letters(ends, top),
    ],
  });
}

/** Letters of the models at the ends of their lines, moved apart if they would overlap. */
function letters(ends: readonly SpeedupPoint[], top: number): Plot.Markish[] {
  const aboveByPlaces = new Map<number, number>();
  const labels = [...ends]
    .sort((a, b) => b.speedup - a.speedup)
    .map((end) => {
      const above = aboveByPlaces.get(end.places) ?? Number.POSITIVE_INFINITY;
      const speedup = Math.min(end.speedup, above - LABEL_GAP * top);
      aboveByPlaces.set(end.places, speedup);
      return { ...end, speedup };
    });
  return [
    Plot.text(labels, {
      x: "places",
      y: "speedup",
      text: (point: SpeedupPoint) => point.key.letter,
      dx: 8,
      textAnchor: "start",
      fontWeight: "bold",
    }),
  ];
}
