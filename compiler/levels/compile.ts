/** Application and profiles in, policy bundle out: the pipeline from top to bottom. */
import type { AccordionLevel, Bundle, Level, ThemisLevel } from "../../runtime/bundle/schema.ts";
import { placedLevel } from "../methods/accordion/placed-level.ts";
import { type SettleLevel, settleLevels } from "../methods/loki/settled-levels.ts";
import { classedTableAt, hasClasses } from "../methods/ramsis/classed-level.ts";
import { inheritLevels } from "../methods/ramsis/inherited-levels.ts";
import { SOLVERS } from "../methods/registry.ts";
import type { AccordionFrame, BundleFrame, ThemisFrame } from "../methods/solver.ts";
import type { ModelFiles } from "../model/model-files.ts";
import type { Application } from "../spec/application.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import type { Mistake } from "../spec/mistakes.ts";
import { type Placement, placeLevels, type SolvedLevel } from "./adaptive-levels.ts";
import { feedMistakes } from "./model-feeds.ts";
import { siblingMistakes } from "./model-siblings.ts";

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
  /** Layers that models can be cut into, by the path the application gives; of models that are to be cut. */
  readonly layerCounts: ReadonlyMap<string, number>;
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
  const solver = SOLVERS[application.policy.method];
  refuse(solver.mistakes(application));
  refuse(modelMistakes(application, options));
  const { loads } = application;
  const frame: BundleFrame = solver.frame(application, options.models);
  const provenance = { compiler: options.compiler, inputs };
  if (frame.method === "themis" || frame.method === "accordion") {
    if (loads.kind !== "list") throw new TypeError("the method refuses levels placed by accuracy");
    return frame.method === "themis"
      ? compileScaling(frame, loads.qps, provenance, options)
      : compilePlaces(frame, loads.qps, provenance, options);
  }
  const placed = await withSolver(options.openLevelSolver(frame), async (levels) => {
    const found =
      loads.kind === "adaptive"
        ? await placeLevels(loads, (loadsQps, round) => levels.solve(loadsQps, round))
        : { levels: await levels.solve(loads.qps), placement: null };
    if ("code" in found) return found;
    if (frame.method === "ramsis" && frame.policy.balancer === "pooled") {
      const inherit = hasClasses(frame) ? { withTableOf: classedTableAt } : SOLVERS.ramsis;
      return { ...found, levels: inheritLevels(frame, found.levels, inherit) };
    }
    if (frame.method !== "loki") return found;
    return { ...found, levels: await settleLevels(frame, found.levels, levels.settle) };
  });
  if ("code" in placed) return fail(placed);
  const levels = placed.levels.map(({ level }) => level);
  const bundle = bundleOf(frame, levels, provenance);
  return { bundle, solveMs: placed.levels.map(({ ms }) => ms), placement: placed.placement };
}

/** What of the model files does not fit each other, or their profiles. */
function* modelMistakes(
  application: Application,
  { models, layerCounts }: CompileOptions,
): Generator<Mistake> {
  if (application.policy.method === "accordion") {
    // Clients name the model, so models need not be alike.
    yield* SOLVERS.accordion.layerCountMistakes(application, layerCounts);
    return;
  }
  yield* siblingMistakes(application, models);
  yield* feedMistakes(application, models);
}

/** Pipelines that hold for all loads, and what comes of them at each. */
async function compilePlaces(
  frame: AccordionFrame,
  loadsQps: readonly number[],
  provenance: Bundle["provenance"],
  { solveInTurn }: CompileOptions,
): Promise<Compiled> {
  const solved = await solveInTurn(loadsQps, (qps): AccordionLevel => placedLevel(frame, qps));
  const levels = solved.map(({ level }) => level);
  const bundle = { ...frame, levels, provenance };
  return { bundle, solveMs: solved.map(({ ms }) => ms), placement: null };
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
  frame: Exclude<BundleFrame, ThemisFrame | AccordionFrame>,
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
