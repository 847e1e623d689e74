/** What load does to requests that miss the SLO. */
import * as Plot from "@observablehq/plot";
import { type InferlineBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { beyondMarks } from "../../../report/kit/latency-figure.ts";
import { levelLine, limitMarks, loadAxis, thinned } from "../../../report/kit/load-axis.ts";
import { floorOf } from "../../../report/kit/rate-floor.ts";
import type { Markup } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";

/** Held-out traces with the plan alone, and the simulation with the tuner. */
export function drawMisses(bundle: InferlineBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rates = levels.flatMap(({ expected }) => [
    expected.heldOut.missRate,
    expected.violationRate,
  ]);
  const floor = floorOf(rates, ceiling);
  const shown = (rate: number): number => Math.max(rate, floor);
  const heldOut = levels.map(({ loadQps, expected: { heldOut: one } }) => ({
    loadQps,
    value: one.traces === 0 ? Number.NaN : shown(one.missRate),
  }));
  const simulated = levels.map(({ loadQps, expected }) => ({
    loadQps,
    value: shown(expected.violationRate),
  }));
  const decades = Math.round(-Math.log10(floor));
  const text = {
    id: "misses",
    title: "Requests that miss the SLO against load",
    description:
      `At most ${ratioText(Math.max(...rates))} of the requests of a level miss the SLO; ` +
      `${ratioText(ceiling)} may.`,
  };
  return drawFigure(text, {
    marginLeft: 66,
    x: loadAxis(bundle),
    y: {
      type: "log",
      domain: [floor, 1],
      label: "requests that miss the SLO",
      ticks: Array.from({ length: decades + 1 }, (_, power) => 10 ** -power),
      tickFormat: (rate: number) =>
        `${rate <= floor * 1.5 ? "≤" : ""}${decimalText(100 * rate, 4)}%`,
      grid: true,
    },
    marks: [
      ...beyondMarks(bundle, "top"),
      ...limitMarks("ceiling", shown(ceiling)),
      ...levelLine(heldOut, 2),
      Plot.dot(thinned(simulated), {
        x: "loadQps",
        y: "value",
        r: 5,
        stroke: "currentColor",
        strokeWidth: 1.1,
      }),
    ],
  });
}
