/** Application and profiles in, policy bundle out: the pipeline from top to bottom. */
import type { Bundle, Level, ThemisLevel } from "../runtime/bundle/schema.ts";
import { type Placement, placeLevels, type SolvedLevel } from "./adaptive-levels.ts";
import { feedMistakes } from "./model-feeds.ts";
import { siblingMistakes } from "./model-siblings.ts";
import { type SettleLevel, settleLevels } from "./settled-levels.ts";
import { methodOrMistake, SOLVERS } from "./solvers/registry.ts";
import type { BundleFrame, ModelFiles, ThemisFrame } from "./solvers/solver.ts";
import type { LoadedApplication } from "./spec/load-application.ts";

/** Solves the levels of one frame. */
export interface LevelSolver {
  /** Solves every load, in any order; the result is in the order of `loadsQps`. @param round where loads are found in rounds, from 1. */
  solve(loadsQps: readonly number[], round?: number): Promise<readonly SolvedLevel[]>;
  /** Brings a level closer to its neighbour. */
  readonly settle: SettleLevel;
  /** Ends what it has started. */
  close(): Promise<void>;
}

export interface CompileOptions {
  /** Name and version, for the provenance. */
  readonly compiler: string;
  readonly models: ModelFiles;
  readonly openLevelSolver: (frame: BundleFrame) => LevelSolver;
  /** Solves loads one after the other where they are so quick that nothing else pays. */
  readonly solveInTurn: <L extends Level>(
    loadsQps: readonly number[],
    solve: (loadQps: number) => L,
  ) => Promise<readonly { readonly level: L; readonly ms: number }[]>;
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
  const method = methodOrMistake(application);
  if (typeof method !== "string") return fail(method);
  const solver = SOLVERS[method];
  refuse(solver.mistakes(application));
  refuse(siblingMistakes(application, options.models));
  refuse(feedMistakes(application, options.models));
  const { loads } = application;
  const frame: BundleFrame = solver.frame(application, options.models);
  if (frame.method === "themis") {
    if (loads.kind !== "list") throw new TypeError("themis refuses levels placed by accuracy");
    return compileScaling(frame, loads.qps, { compiler: options.compiler, inputs }, options);
  }
  const placed = await withSolver(options.openLevelSolver(frame), async (levels) => {
    const found =
      loads.kind === "adaptive"
        ? await placeLevels(loads, (loadsQps, round) => levels.solve(loadsQps, round))
        : { levels: await levels.solve(loads.qps), placement: null };
    if ("code" in found || frame.method !== "loki") return found;
    return { ...found, levels: await settleLevels(frame, found.levels, levels.settle) };
  });
  if ("code" in placed) return fail(placed);
  const levels = placed.levels.map(({ level }) => level);
  const bundle = bundleOf(frame, levels, { compiler: options.compiler, inputs });
  return { bundle, solveMs: placed.levels.map(({ ms }) => ms), placement: placed.placement };
}

/** Plans, and the ways from one to another. */
async function compileScaling(
  frame: ThemisFrame,
  loadsQps: readonly number[],
  provenance: Bundle["provenance"],
  { solveInTurn }: CompileOptions,
): Promise<Compiled> {
  const scaler = SOLVERS.themis.open(frame);
  const solved = await solveInTurn(loadsQps, (loadQps): ThemisLevel => scaler.scaleLevel(loadQps));
  const levels = solved.map(({ level }) => level);
  const bundle = { ...frame, transitions: scaler.transitions(levels), levels, provenance };
  return { bundle, solveMs: solved.map(({ ms }) => ms), placement: null };
}

function bundleOf(
  frame: Exclude<BundleFrame, ThemisFrame>,
  levels: readonly Level[],
  provenance: Bundle["provenance"],
): Bundle {
  // What only the compiler needs stays here.
  const { recorded: _, ...shared } = { recorded: null, ...frame };
  // The levels are those of the frame's method.
  return { ...shared, levels, provenance } as Bundle;
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
