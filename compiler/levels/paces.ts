/** Levels for machines slower than their profile, and the promises of all levels. */
import {
  type Bundle,
  type Level,
  type PaceFigures,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { CompilerMethod } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import { PACES } from "../model/paced-times.ts";
import type { LevelRequest } from "../processes/level-request.ts";

/** Highest pace to search for headroom. */
const MOST_PACE = 4;
/** Headroom is a multiple of 1 / STEPS. */
const STEPS = 20;

/** Solves levels for slower machines, and computes their promises. */
export interface PaceSolver {
  /** Returns a bundle's levels for slower machines, in the order of the paces. */
  solvePaced(bundle: Bundle, paces: readonly number[]): Promise<readonly object[]>;
  /** Returns the levels of a newly solved bundle with their promises. */
  promise(bundle: Bundle): Promise<readonly Level[]>;
}

/** Adds the levels for slower machines that the method wants, and all promises. */
export async function withPaces(
  bundle: Bundle,
  { paces }: CompilerMethod,
  solver: PaceSolver,
): Promise<Bundle> {
  const paced = paces?.with(bundle, await solver.solvePaced(bundle, PACES)) ?? bundle;
  return { ...paced, levels: await solver.promise(paced) } as Bundle;
}

/** Returns a level with its promises at its load, as profiled and on slower machines. */
export function promisedLevel(
  frame: BundleFrame,
  {
    bundle,
    level,
    isSolved,
  }: Pick<LevelRequest & { kind: "promise" }, "bundle" | "level" | "isSolved">,
  { paces, worstViolationRate, promised, promisesAlone }: CompilerMethod,
): Level {
  const solved = bundle.levels[level];
  if (solved === undefined) throw new RangeError("level index out of range");
  const own = isSolved && promisesAlone ? solved : promised(frame, bundle, level);
  if (paces === null) return own;
  const ceiling = violationCeiling(bundle.slo);
  const at = (pace: number) => paces.promised(bundle, level, pace);
  const byPace = PACES.map(at);
  const isKept = worstViolationRate(own) <= ceiling;
  return paces.promising(own, { headroom: isKept ? headroomOf(byPace, ceiling, at) : 0, byPace });
}

/** Returns the largest pace that keeps the ceiling, below the first pace that breaks it. */
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
