/** Common marks of the figures over the load of an Accordion bundle. */
import * as Plot from "@observablehq/plot";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { loadAxis, upright } from "../../../report/kit/load-axis.ts";
import { decimalText } from "../../../report/number-text.ts";

export function queryAxis(bundle: Pick<AccordionBundle, "levels">): Plot.ScaleOptions {
  const axis = loadAxis(bundle);
  return {
    ...axis,
    tickFormat: (load: number) => decimalText(load, 3),
    label: axis.type === "log" ? "load, queries/s, logarithmic" : "load, queries/s",
  };
}

/** Marks the loads above capacity, if levels come near it. */
export function capacityMarks(bundle: Pick<AccordionBundle, "levels">): Plot.Markish[] {
  const capacityQps = bundle.levels[0]?.capacityQps ?? Number.POSITIVE_INFINITY;
  const [, end = 0] = [...(loadAxis(bundle).domain ?? [])] as number[];
  if (capacityQps >= end) return [];
  return [
    Plot.rect([capacityQps], {
      x1: () => capacityQps,
      x2: () => end,
      fill: "var(--limit)",
      fillOpacity: 0.09,
    }),
    Plot.ruleX([capacityQps], { stroke: "currentColor", strokeOpacity: 0.5 }),
    upright("capacity", capacityQps, "bottom", -9),
  ];
}
