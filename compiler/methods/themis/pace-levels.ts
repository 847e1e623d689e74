/** Plans for machines that are slower than profiled. */
import {
  type ScalePlan,
  type Slo,
  type ThemisLevel,
  type ThemisPaceLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { ThemisFrame } from "../../model/frames.ts";
import { pacedFrame } from "./planning-frame.ts";
import { themis } from "./solve/themis.ts";
import type { ScaledLoad } from "./solve/transitions.ts";

/** Paces that plans are made for; those between them follow plans for the next load. */
const PACES = [1.3, 1.75, 2.5];
/** Ratio of the loads of two pace levels, as a machine as profiled would have to carry them. */
const STEP = 1.1;

/** A level for a slower machine, and the same as if it were as profiled. */
interface PacedPlan {
  readonly level: ThemisPaceLevel;
  readonly profiled: ScaledLoad;
}

/**
 * Plans beyond the highest level: a machine of pace ξ has to carry a load times ξ, and to answer
 * within the SLO over ξ. A level is left out where the next one has the same plan and keeps the
 * ceiling as it does; the first that the pools cannot carry is the last.
 * @param frame as planners see it.
 */
export function paceLevelsOf(frame: ThemisFrame, levels: readonly ThemisLevel[]): PacedPlan[] {
  const top = levels.at(-1);
  if (top === undefined) return [];
  const scalers = PACES.map((pace) => ({ pace, scaler: themis.open(pacedFrame(frame, pace)) }));
  const found: PacedPlan[] = [];
  const mostQps = top.loadQps * Math.max(...PACES);
  for (let qps = top.loadQps * STEP; qps <= mostQps; qps *= STEP) {
    // The fastest machine that has to carry so much at a load of the levels.
    const paced = scalers.find(({ pace }) => qps / pace <= top.loadQps);
    if (paced === undefined || !themis.isServable(pacedFrame(frame, paced.pace))) break;
    const { loadQps, capacityQps, steady, solve } = paced.scaler.scaleLevel(qps / paced.pace);
    const before = found.at(-1);
    if (before !== undefined && isLike(before.level, steady, frame.slo)) found.pop();
    const level = { pace: paced.pace, loadQps, capacityQps, steady };
    found.push({ level, profiled: { loadQps: loadQps * paced.pace, steady, solve } });
    if (capacityQps < loadQps) break;
  }
  return found;
}

function isLike({ steady }: ThemisPaceLevel, other: ScalePlan, slo: Slo): boolean {
  const keeps = ({ expected }: ScalePlan) => expected.violationRate <= violationCeiling(slo);
  const isSamePlan = JSON.stringify(steady.stages) === JSON.stringify(other.stages);
  return isSamePlan && keeps(steady) === keeps(other);
}
