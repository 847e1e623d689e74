import { type InferlineBundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { drawFigure } from "../../../report/figure.ts";
import { beyondMarks } from "../../../report/kit/latency-figure.ts";
import { levelLine, limitMarks, loadAxis } from "../../../report/kit/load-axis.ts";
import { rateScale, rings } from "../../../report/kit/plan-figures.ts";
import { floorOf } from "../../../report/kit/rate-floor.ts";
import type { Markup } from "../../../report/markup.ts";
import { ratioText } from "../../../report/number-text.ts";

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
  const text = {
    id: "misses",
    title: "Requests that miss the SLO against load",
    description:
      `At most ${ratioText(Math.max(...rates))} of the requests of a level miss the SLO; ` +
      `${ratioText(ceiling)} may.`,
  };
  return drawFigure(text, {
    ...rateScale(floor, "requests that miss the SLO"),
    x: loadAxis(bundle),
    marks: [
      ...beyondMarks(bundle, "top"),
      ...limitMarks("ceiling", shown(ceiling)),
      ...levelLine(heldOut, 2),
      rings(simulated),
    ],
  });
}
