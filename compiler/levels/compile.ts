/** Application and profiles in, policy bundle out: the pipeline from top to bottom. */
import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { CompilerMethod, OpenedModels, Settle, SolvedLevel } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { ModelFiles } from "../model/model-files.ts";
import { stateMistakes, stateUseMistakes } from "../model/model-state.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import { type ChosenLevels, chooseLevels, type GapOf, type Placement } from "./adaptive-levels.ts";
import { type KeptLevels, keepsMore, keptLevels } from "./kept-levels.ts";
import {
  decidedApplication,
  ofDecisions,
  pathMistakes,
  plannedApplication,
  type ServingPlan,
  servingPlanOf,
} from "./serving-plan.ts";

/** Solves the levels of one frame. */
export interface LevelSolver {
  /**
   * Solves every load, in any order; the result is in the order of `loadsQps`.
   * @param round where loads are found in rounds, from 1.
   */
  solve(loadsQps: readonly number[], round?: number): Promise<readonly SolvedLevel[]>;
  /** Brings a level closer to its neighbour. */
  readonly settle: Settle;
  /** Ends what it has started. */
  close(): Promise<void>;
}

export interface CompileOptions {
  /** Name and version, for the provenance. */
  readonly compiler: string;
  readonly models: ModelFiles;
  /** Models that files are to be made of, where the method does so. */
  readonly opened: OpenedModels | null;
  readonly openLevelSolver: (frame: BundleFrame, method: CompilerMethod) => LevelSolver;
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
  loaded: LoadedApplication,
  options: CompileOptions,
): Promise<Compiled> {
  const { application, refuse } = loaded;
  const method = await methodOf(application.policy);
  refuse(method.mistakes(application));
  refuse(stateUseMistakes(application, method));
  const { models, opened } = options;
  const fit = [...method.modelMistakes(application, models), ...(opened?.mistakes() ?? [])];
  refuse([...fit, ...stateMistakes(application, models)]);
  const plan = servingPlanOf(application);
  if (plan === null) return (await solved(loaded, options, method)).compiled;
  refuse(pathMistakes(application, plan));
  return plannedWith(plan, loaded, options, method);
}

/**
 * With the smallest margin for the way through the server whose simulated promises keep the ceiling
 * at all levels that carry their load; else with that which keeps it at the most.
 */
async function plannedWith(
  { marginsMs, stretch }: ServingPlan,
  loaded: LoadedApplication,
  options: CompileOptions,
  method: CompilerMethod,
): Promise<Compiled> {
  const { application, refuse } = loaded;
  let best: Tried | null = null;
  for (const marginMs of marginsMs) {
    const mistakes = [...method.mistakes(decidedApplication(application, marginMs))];
    if (mistakes.length > 0 && best !== null) break;
    refuse(mistakes.map((mistake) => ofDecisions(mistake, marginMs)));
    const planned = plannedApplication(application, marginMs, stretch);
    const tried = await solved({ ...loaded, application: planned }, options, method);
    if (best !== null && keepsMore(best.kept, tried.kept)) break;
    if (best === null || keepsMore(tried.kept, best.kept)) best = tried;
    if (tried.kept.kept === tried.kept.carried) break;
  }
  if (best === null) throw new RangeError("a margin is tried");
  return best.compiled;
}

interface Tried {
  readonly compiled: Compiled;
  readonly kept: KeptLevels;
}

async function solved(
  { application, inputs, fail }: LoadedApplication,
  { compiler, models, openLevelSolver }: CompileOptions,
  method: CompilerMethod,
): Promise<Tried> {
  const { loads } = application;
  const frame = method.frame(application, models);
  // Methods that do not choose accuracies have refused to place levels by them.
  const gapOf: GapOf = (a, b) => method.gapOf?.(a, b) ?? { accuracy: 0, otherSteps: 0 };
  const found = await withSolver(openLevelSolver(frame, method), async (solver) => {
    const placed =
      loads.kind === "adaptive"
        ? await chooseLevels(loads, gapOf, (loadsQps, round) => solver.solve(loadsQps, round))
        : { levels: await solver.solve(loads.qps), placement: null };
    return "code" in placed ? placed : { ...placed, levels: await finished(placed, solver) };
  });
  if ("code" in found) return fail(found);
  const levels = found.levels.map(({ level }) => level);
  const compiled = {
    bundle: method.bundle(frame, levels, { compiler, inputs }),
    solveMs: found.levels.map(({ ms }) => ms),
    placement: found.placement,
  };
  const ceiling = violationCeiling(application.slo);
  return { compiled, kept: keptLevels(levels, ceiling, method.worstViolationRate) };

  function finished({ levels }: Pick<ChosenLevels, "levels">, { settle }: LevelSolver) {
    return method.afterLevels?.(frame, levels, settle) ?? levels;
  }
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
