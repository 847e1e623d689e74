/** Marks for the loads where the step of the plans changes, and where their capacity ends. */
import * as Plot from "@observablehq/plot";
import type { LokiBundle, LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import { loadAxis, upright } from "../../../report/kit/load-axis.ts";

/** Loads between which plans go from the hardware step to the accuracy step. */
interface StepChange {
  readonly lastHardwareQps: number;
  readonly firstAccuracyQps: number;
}

/** Null if all levels have the same step. */
export function stepChangeOf({ levels }: LokiBundle): StepChange | null {
  const lastHardware = levels.findLast(({ plan }) => plan.step === "hardware");
  const firstAccuracy = levels.find(({ plan }) => plan.step === "accuracy");
  if (lastHardware === undefined || firstAccuracy === undefined) return null;
  if (firstAccuracy.loadQps < lastHardware.loadQps) return null;
  return { lastHardwareQps: lastHardware.loadQps, firstAccuracyQps: firstAccuracy.loadQps };
}

export function capacityOf({ levels }: LokiBundle): number {
  return levels[0]?.capacityQps ?? 0;
}

/** Share of the requests that a level rejects because no plan carries them. */
export function shedShare({ feasible, loadQps, capacityQps }: LokiLevel): number {
  return feasible ? 0 : 1 - capacityQps / loadQps;
}

/**
 * Marks the loads beyond the capacity, and names the line before them.
 * @param frameAnchor where nothing else is drawn.
 */
export function capacityMarks(
  bundle: LokiBundle,
  frameAnchor: "top" | "bottom" = "top",
): Plot.Markish[] {
  const capacityQps = capacityOf(bundle);
  const [, end = 0] = [...(loadAxis(bundle).domain ?? [])] as number[];
  if (capacityQps >= end) return [];
  const beyond = bundle.levels.some(({ feasible }) => !feasible);
  return [
    Plot.rect(beyond ? [capacityQps] : [], {
      x1: () => capacityQps,
      x2: () => end,
      fill: "var(--limit)",
      fillOpacity: 0.09,
    }),
    Plot.ruleX([capacityQps], { stroke: "currentColor", strokeOpacity: 0.5 }),
    upright("capacity", capacityQps, frameAnchor, -9),
    ...(beyond ? [upright("shed", capacityQps, "bottom", 9)] : []),
  ];
}

/**
 * Marks the gap between the last level of the one step and the first of the other.
 * @param middle accuracies above it are drawn in the upper half, and their names below.
 */
export function stepMarks(bundle: LokiBundle, middle: number): Plot.Markish[] {
  const change = stepChangeOf(bundle);
  if (change === null) return [];
  const { lastHardwareQps, firstAccuracyQps } = change;
  const first = bundle.levels.find(({ plan }) => plan.step === "accuracy");
  const isLow = first !== undefined && first.plan.accuracy < middle;
  return [
    Plot.rect([change], {
      x1: "lastHardwareQps",
      x2: "firstAccuracyQps",
      fill: "currentColor",
      fillOpacity: 0.1,
    }),
    upright("hardware step", lastHardwareQps, "bottom", -8),
    upright("accuracy step", firstAccuracyQps, isLow ? "top" : "bottom", 9),
  ];
}
