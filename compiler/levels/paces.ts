/** Levels and promises for machines that are slower than their profile. */
import {
  type Bundle,
  type PaceFigures,
  type PacePromises,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { CompilerMethod } from "../methods/method.ts";
import { PACES } from "../model/paced-times.ts";

/** The highest pace that headroom is looked for. */
const MOST_PACE = 4;
/** Headroom is a multiple of one over this. */
const STEPS = 20;

/** Solves levels for slower machines, and says what is promised there. */
export interface PaceSolver {
  /** Levels of a bundle for machines that are slower, in the order of the paces. */
  solvePaced(bundle: Bundle, paces: readonly number[]): Promise<readonly object[]>;
  /** Returns the promises of each level of a bundle on slower machines. */
  promisePaces(bundle: Bundle): Promise<readonly PacePromises[]>;
}

/** The bundle with the levels that its method wants for slower machines, and its promises there. */
export async function withPaces(
  bundle: Bundle,
  { paces }: CompilerMethod,
  solver: PaceSolver,
): Promise<Bundle> {
  if (paces === undefined) return bundle;
  const paced = paces.with(bundle, await solver.solvePaced(bundle, PACES));
  return paces.promising(paced, await solver.promisePaces(paced));
}

/** Returns the promises of one level on slower machines. @param level its index. */
export function pacePromises(
  bundle: Bundle,
  { paces, worstViolationRate }: CompilerMethod,
  level: number,
): PacePromises {
  if (paces === undefined) throw new TypeError("the method promises at other paces");
  const ceiling = violationCeiling(bundle.slo);
  const at = (pace: number) => paces.promised(bundle, level, pace);
  const byPace = PACES.map(at);
  const own = bundle.levels[level];
  const isKept = own !== undefined && worstViolationRate(own) <= ceiling;
  return { headroom: isKept ? headroomOf(byPace, ceiling, at) : 0, byPace };
}

/** The largest pace that keeps the ceiling, below the first one that was found to break it. */
function headroomOf(
  byPace: readonly PaceFigures[],
  ceiling: number,
  at: (pace: number) => PaceFigures,
): number {
  const isKept = ({ violationRate }: PaceFigures): boolean => violationRate <= ceiling;
  let low = 1;
  let high = MOST_PACE;
  for (const figures of byPace) {
    if (!isKept(figures)) {
      high = figures.pace;
      break;
    }
    low = figures.pace;
  }
  if (high === MOST_PACE && isKept(at(MOST_PACE))) return MOST_PACE;
  while (high - low > 2 / STEPS) {
    const pace = Math.round(((low + high) / 2) * STEPS) / STEPS;
    if (isKept(at(pace))) low = pace;
    else high = pace;
  }
  return low;
}
