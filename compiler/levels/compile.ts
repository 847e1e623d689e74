/** Compiles an application and its profiles to a policy bundle, from top to bottom. */
import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { CompilerMethod, OpenedModels, Settle, SolvedLevel } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { bucketMistakes, bucketModelMistakes } from "../model/buckets.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { ModelFiles } from "../model/model-files.ts";
import { stateMistakes, stateUseMistakes } from "../model/model-state.ts";
import type { AskedBranches, FoundBranch } from "../model/root-branches.ts";
import type { LevelRequest } from "../processes/level-request.ts";
import type { Application } from "../spec/application.ts";
import { conflict, type Mistake } from "../spec/document/mistakes.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import { type ChosenLevels, chooseLevels, type Placement } from "./adaptive-levels.ts";
import { type KeptLevels, keepsMore, keptLevels } from "./kept-levels.ts";
import { type PaceSolver, withPaces } from "./paces.ts";
import {
  decidedApplication,
  ofDecisions,
  pathMistakes,
  plannedApplication,
  servingPlanOf,
} from "./serving-plan.ts";

type MoveRequest = LevelRequest & { readonly kind: "move" };
type Solving = Promise<readonly SolvedLevel[]>;
export type OnSolved = (solved: SolvedLevel) => void;

interface DividedSearch {
  /** Undefined if one machine searches the level. */
  readonly asked: (loadQps: number) => AskedBranches | undefined;
  readonly onBranch: (loadQps: number, branch: FoundBranch) => void;
}

/** Solves the levels of one frame. */
export interface LevelSolver extends PaceSolver {
  /**
   * Solves every load, in any order; the result is in the order of `loadsQps`.
   * @param round from 1, if loads are found in rounds.
   * @param onSolved called for each solved level.
   * @param divided if several machines search one level.
   */
  solve(
    loadsQps: readonly number[],
    round?: number,
    onSolved?: OnSolved,
    divided?: DividedSearch,
  ): Solving;
  /** Solves the loads between main levels, starting from these, in the order of the requests. */
  move(requests: readonly MoveRequest[]): Solving;
  /** Brings a level closer to its neighbour. */
  readonly settle: Settle;
  /** Stops its workers. */
  close(): Promise<void>;
}

export interface CompileOptions {
  /** Name and version of the compiler, for the provenance. */
  readonly compiler: string;
  readonly models: ModelFiles;
  /** Models that the method makes files from; null if it makes none. */
  readonly opened: OpenedModels | null;
  readonly openLevelSolver: (frame: BundleFrame, method: CompilerMethod) => LevelSolver;
}

export interface Compiled {
  readonly bundle: Bundle;
  /** Wall time per level, ms, in the order of the bundle's levels. */
  readonly solveMs: readonly number[];
  /** How levels were placed; null if the application lists the loads. */
  readonly placement: Placement | null;
}

/**
 * Compiles with the smallest serving-path margin whose simulated promises keep the ceiling at every
 * level that carries its load; otherwise with the margin that keeps it at the most levels. Methods
 * whose levels have their own margins choose them themselves.
 * @throws InputError if the application asks for what its method cannot do.
 */
export async function compile(
  loaded: LoadedApplication,
  options: CompileOptions,
): Promise<Compiled> {
  const method = await methodOf(loaded.application.policy);
  refuseUnfit(loaded, options, method);
  let best: Tried | null = null;
  for (const planned of plannedApplications(loaded, method)) {
    const tried = await solved({ ...loaded, application: planned }, options, method);
    if (best !== null && keepsMore(best.kept, tried.kept)) break;
    if (best === null || keepsMore(tried.kept, best.kept)) best = tried;
    if (tried.kept.kept === tried.kept.carried) break;
  }
  if (best === null) throw new RangeError("no margin was tried");
  return best.compiled;
}

/** @throws InputError if the application asks for what its method cannot do. */
export function refuseUnfit(
  { application, refuse }: LoadedApplication,
  { models, opened }: Pick<CompileOptions, "models" | "opened">,
  method: CompilerMethod,
): void {
  refuse(application.tasks.flatMap((task, index) => [...bucketMistakes(task, ["tasks", index])]));
  refuse(method.mistakes(application));
  refuse(dayMistakes(application, method));
  refuse(stateUseMistakes(application, method));
  refuse(bucketModelMistakes(application, models));
  const fit = [...method.modelMistakes(application, models), ...(opened?.mistakes() ?? [])];
  refuse([...fit, ...stateMistakes(application, models)]);
}

function* dayMistakes(
  { day }: Application,
  { name, costsOverDay }: CompilerMethod,
): Generator<Mistake> {
  if (day === undefined || costsOverDay) return;
  const message = `plans of method ${name} have no cost over a day; leave it out`;
  yield conflict(["workload", "day"], message);
}

/**
 * Yields the application as planned, in the order of the attempts: one for each serving-path
 * margin, only the least margin if levels have their own margins, or the application itself.
 * @throws InputError
 */
export function* plannedApplications(
  { application, refuse }: LoadedApplication,
  method: CompilerMethod,
): Generator<Application> {
  const plan = servingPlanOf(application, method.marginByLevel);
  if (plan === null) {
    yield application;
    return;
  }
  refuse(pathMistakes(application, plan));
  for (const [tried, marginMs] of plan.marginsMs.entries()) {
    const mistakes = [...method.mistakes(decidedApplication(application, marginMs))];
    if (mistakes.length > 0 && tried > 0) return;
    refuse(mistakes.map((mistake) => ofDecisions(mistake, marginMs)));
    yield plannedApplication(application, marginMs, plan.stretch);
  }
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
  const found = await withSolver(openLevelSolver(frame, method), async (solver) => {
    const placed =
      loads.kind === "adaptive"
        ? await chooseLevels(loads, method.gapOf, (loadsQps, round) =>
            solver.solve(loadsQps, round),
          )
        : {
            levels: await solvedList(loads.qps, method.searched(frame, loads.qps), solver),
            placement: null,
          };
    if ("code" in placed) return placed;
    const levels = await finished(placed, solver);
    const own = levels.map(({ level }) => level);
    const bundle = method.bundle(frame, own, { compiler, inputs });
    return { ...placed, levels, bundle: await withPaces(bundle, method, solver) };
  });
  if ("code" in found) return fail(found);
  const { bundle } = found;
  const compiled = {
    bundle,
    solveMs: found.levels.map(({ ms }) => ms),
    placement: found.placement,
  };
  const ceiling = violationCeiling(application.slo);
  return { compiled, kept: keptLevels(bundle.levels, ceiling, method.worstViolationRate) };

  function finished({ levels }: Pick<ChosenLevels, "levels">, { settle }: LevelSolver) {
    return method.afterLevels(frame, levels, settle);
  }
}

/** Solves the main levels first, then those between them. */
async function solvedList(
  loadsQps: readonly number[],
  searched: ReadonlySet<number>,
  solver: LevelSolver,
): Promise<readonly SolvedLevel[]> {
  const isMain = (loadQps: number) => searched.has(loadQps);
  const main = await solver.solve(loadsQps.filter(isMain));
  const requests = loadsQps
    .filter((qps) => !isMain(qps))
    .map((loadQps) => {
      const above = main.find(({ level }) => level.loadQps > loadQps);
      const below = main.findLast(({ level }) => level.loadQps < loadQps);
      const around = [above, below].flatMap((one) => one?.level ?? []);
      return { kind: "move", loadQps, around } as const;
    });
  const moved = requests.length === 0 ? [] : await solver.move(requests);
  return [...main, ...moved].sort((a, b) => a.level.loadQps - b.level.loadQps);
}

export async function withSolver<T>(
  solver: LevelSolver,
  work: (solver: LevelSolver) => Promise<T>,
): Promise<T> {
  try {
    return await work(solver);
  } finally {
    await solver.close();
  }
}
