/** The exact solver of Themis on a problem that has its load. */
import { ExactScaler } from "../../compiler/methods/themis/solve/exact.ts";
import type {
  NoScalingPlan,
  ScalingPlan,
  ScalingProblem,
} from "../../compiler/methods/themis/solve/problem.ts";
import {
  paperOptions,
  type ScalingMode,
  type TaskOptionsOf,
} from "../../compiler/methods/themis/solve/task-options.ts";

/** Solves one problem once. */
export function solveExactly(
  problem: ScalingProblem,
  mode: ScalingMode,
  optionsOf: TaskOptionsOf = paperOptions,
): ScalingPlan | NoScalingPlan {
  return new ExactScaler(problem, optionsOf).solve(problem.loadQps, mode);
}
