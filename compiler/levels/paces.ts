/** Levels for machines that are slower than their profile, and what all levels promise. */
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

/** The highest pace that headroom is looked for. */
const MOST_PACE = 4;
/** Headroom is a multiple of one over this. */
const STEPS = 20;

/** Solves levels for slower machines, and says what is promised there. */
export interface PaceSolver {
  /** Levels of a bundle for machines that are slower, in the order of the paces. */
  solvePaced(bundle: Bundle, paces: readonly number[]): Promise<readonly object[]>;
  /** Returns the levels of a bundle that was just solved with what they promise. */
  promise(bundle: Bundle): Promise<readonly Level[]>;
}

/** The bundle with the levels that its method wants for slower machines, and all promises. */
export async function withPaces(
  bundle: Bundle,
  { paces }: CompilerMethod,
  solver: PaceSolver,
): Promise<Bundle> {
  const paced = paces?.with(bundle, await solver.solvePaced(bundle, PACES)) ?? bundle;
  return { ...paced, levels: await solver.promise(paced) } as Bundle;
}

/** A level with what it promises at its load, as profiled and on slower machines. */
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
  if (solved === undefined) throw new RangeError("a level is named by its index");
  const own = isSolved && promisesAlone ? solved : promised(frame, bundle, level);
  if (paces === null) return own;
  const ceiling = violationCeiling(bundle.slo);
  const at = (pace: number) => paces.promised(bundle, level, pace);
  const byPace = PACES.map(at);
  const isKept = worstViolationRate(own) <= ceiling;
  return paces.promising(own, { headroom: isKept ? headroomOf(byPace, ceiling, at) : 0, byPace });
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
