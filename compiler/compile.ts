/** Application and profiles in, policy bundle out: the pipeline from top to bottom. */
import type { Bundle, Level } from "../runtime/bundle/schema.ts";
import { siblingMistakes } from "./model-siblings.ts";
import { solverOrMistake } from "./solvers/registry.ts";
import type { BundleFrame, ModelFiles } from "./solvers/solver.ts";
import type { LoadedApplication } from "./spec/load-application.ts";
import type { Mistake } from "./spec/mistakes.ts";

/** A level and how long it took, which is reported but not part of the reproducible bundle. */
export interface SolvedLevel {
  readonly level: Level;
  readonly ms: number;
}

/** Solves every load, in any order; the result is in the order of `loadsQps`. */
export type SolveLevels = (
  frame: BundleFrame,
  loadsQps: readonly number[],
) => Promise<readonly SolvedLevel[]>;

export interface CompileOptions {
  /** Name and version, for the provenance. */
  readonly compiler: string;
  readonly models: ModelFiles;
  readonly solveLevels: SolveLevels;
}

export interface Compiled {
  readonly bundle: Bundle;
  /** Wall time per level, ms, in the order of the bundle's levels. */
  readonly solveMs: readonly number[];
}

/** @throws InputError if the application asks for what its method cannot do. */
export async function compile(
  { application, inputs, fail, refuse }: LoadedApplication,
  options: CompileOptions,
): Promise<Compiled> {
  const solver = solverOrMistake(application);
  if ("code" in solver) return fail(solver);
  refuse(solver.mistakes(application));
  refuse(siblingMistakes(application, options.models));
  const { loads } = application;
  if (loads.kind === "adaptive") return fail(ADAPTIVE_LOADS);
  const frame = solver.frame(application, options.models);
  const solved = await options.solveLevels(frame, loads.qps);
  const bundle: Bundle = {
    ...frame,
    levels: solved.map(({ level }) => level),
    provenance: { compiler: options.compiler, inputs },
  };
  return { bundle, solveMs: solved.map(({ ms }) => ms) };
}

const ADAPTIVE_LOADS: Mistake = {
  code: "INPUT_UNSUPPORTED",
  path: ["workload", "loads", "maxAccuracyStep"],
  message: "this version cannot place levels by itself yet; allowed: a list, or {from, to, step}",
};
