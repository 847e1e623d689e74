/** Application and profiles in, policy bundle out: the pipeline from top to bottom. */
import type { Bundle } from "../runtime/bundle/schema.ts";
import { type Placement, placeLevels, type SolvedLevel } from "./adaptive-levels.ts";
import { siblingMistakes } from "./model-siblings.ts";
import { solverOrMistake } from "./solvers/registry.ts";
import type { BundleFrame, ModelFiles } from "./solvers/solver.ts";
import type { LoadedApplication } from "./spec/load-application.ts";

/** Solves the levels of one frame. */
export interface LevelSolver {
  /** Solves every load, in any order; the result is in the order of `loadsQps`. @param round where loads are found in rounds, from 1. */
  solve(loadsQps: readonly number[], round?: number): Promise<readonly SolvedLevel[]>;
  /** Ends what it has started. */
  close(): Promise<void>;
}

export interface CompileOptions {
  /** Name and version, for the provenance. */
  readonly compiler: string;
  readonly models: ModelFiles;
  readonly openLevelSolver: (frame: BundleFrame) => LevelSolver;
}

export interface Compiled {
  readonly bundle: Bundle;
  /** Wall time per level, ms, in the order of the bundle's levels. */
  readonly solveMs: readonly number[];
  /** How levels were placed, null if the application lists their loads. */
  readonly placement: Placement | null;
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
  const frame = solver.frame(application, options.models);
  const placed = await withSolver(options.openLevelSolver(frame), async (levels) =>
    loads.kind === "adaptive"
      ? placeLevels(loads, (loadsQps, round) => levels.solve(loadsQps, round))
      : { levels: await levels.solve(loads.qps), placement: null },
  );
  if ("code" in placed) return fail(placed);
  const bundle: Bundle = {
    ...frame,
    levels: placed.levels.map(({ level }) => level),
    provenance: { compiler: options.compiler, inputs },
  };
  return { bundle, solveMs: placed.levels.map(({ ms }) => ms), placement: placed.placement };
}

async function withSolver<T>(
  solver: LevelSolver,
  work: (solver: LevelSolver) => Promise<T>,
): Promise<T> {
  try {
    return await work(solver);
  } finally {
    await solver.close();
  }
}
