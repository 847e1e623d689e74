/** RAMSIS as a method of the compiler: which variant a worker runs its queued queries on. */

import type { Expected, RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import { bucketTable, classTable } from "stratagem-runtime/internal/methods/ramsis/tell/inspect";
import { bucketModelMistakes } from "../../model/buckets.ts";
import type { RamsisFrame } from "../../model/frames.ts";
import { mainLoads } from "../../model/main-loads.ts";
import { modelFitMistakes } from "../../model/model-fit.ts";
import { wayWarnings } from "../../model/way-warnings.ts";
import type { CompilerMethodOf } from "../method.ts";
import { refuseTraces } from "../table-options.ts";
import { actionValuesOf } from "./action-values.ts";
import { SINGLE_BASELINES, singleBaselineNamed } from "./baselines.ts";
import { batchFacts } from "./batch-facts.ts";
import { boundExpectation, boundLevel, boundTableAt } from "./bound-level.ts";
import {
  bucketedExpectation,
  bucketedLevel,
  bucketedTableAt,
  hasBuckets,
} from "./bucketed-level.ts";
import { classedExpectation, classedLevel, classedTableAt, hasClasses } from "./classed-level.ts";
import { inheritLevels } from "./inherited-levels.ts";
import { ramsisGap } from "./level-gap.ts";
import { ramsisPaces } from "./paces.ts";
import { type LevelKind, movedLevel, plannedLevel } from "./planned-level.ts";
import { ramsisPromises } from "./promises.ts";
import { hasPath, servedExpectation, servedTableAt } from "./served-level.ts";
import { isSampled } from "./simulate/promised-times.ts";
import { isPooled, ramsis } from "./solve/ramsis.ts";
import { bucketWarnings, tableWarnings } from "./warnings.ts";

/** How levels of a frame are solved, and what tables promise at a load. */
function kindOf(frame: RamsisFrame): LevelKind {
  const solve = hasBuckets(frame)
    ? bucketedLevel
    : hasClasses(frame)
      ? classedLevel
      : isPooled(frame)
        ? ramsis.solvePooledTables
        : boundLevel;
  if (hasPath(frame)) return { solve, withTableOf: servedTableAt };
  if (hasBuckets(frame)) return { solve, withTableOf: bucketedTableAt };
  if (hasClasses(frame)) return { solve, withTableOf: classedTableAt };
  return { solve, withTableOf: isPooled(frame) ? ramsis.withTableOf : boundTableAt };
}

/** Whether all workers share one queue of one kind of query. */
function isAlone(frame: RamsisFrame): boolean {
  return isPooled(frame) && !hasBuckets(frame) && !hasClasses(frame);
}

export const ramsisMethod: CompilerMethodOf<"ramsis"> = {
  name: "ramsis",
  keepsState: true,

  mistakes: ramsis.mistakes,
  *modelMistakes(application, models) {
    yield* bucketModelMistakes(application, models);
    yield* modelFitMistakes(application, models, "every edge");
  },
  withSolver(policy, solver) {
    if (solver === "value-iteration") return policy;
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: expected value-iteration for method ramsis, got ${solver}`,
    );
  },
  frame: ramsis.frame,

  isQuick: false,
  solveLevel(frame, loadQps) {
    return { level: plannedLevel(frame, loadQps, kindOf(frame)) };
  },
  searched: (frame, loadsQps) => (isAlone(frame) ? mainLoads(loadsQps) : new Set(loadsQps)),
  moved: (frame, loadQps, around) => movedLevel(frame, loadQps, around, kindOf(frame)),
  marginByLevel: true,
  afterLevels(frame, solved) {
    return isPooled(frame) ? inheritLevels(frame, solved, kindOf(frame)) : solved;
  },
  gapOf: ramsisGap,

  paces: ramsisPaces((frame, loadQps) => {
    const { p50Ms, p95Ms } = frame.slo;
    const hasTargets = p50Ms !== undefined || p95Ms !== undefined;
    const isBound = !(isPooled(frame) || hasBuckets(frame) || hasClasses(frame));
    // Latencies of a level whose queries are bound to workers take a simulation.
    if (isBound && !hasTargets) return ramsis.solveLevel(frame, loadQps);
    const { solve, withTableOf } = kindOf(frame);
    const level = solve(frame, loadQps);
    return "expected" in level ? level : withTableOf(frame, loadQps, level);
  }),
  promises: ramsisPromises,
  worstViolationRate({ expected: { violationRate, byClass = {} } }) {
    const rates = Object.values(byClass).map((one) => one.violationRate);
    return Math.max(violationRate, ...rates);
  },
  stated: ({ expected }) => expected,
  promised(frame, { levels }, index) {
    const level = levelAt(levels, index);
    return { ...level, expected: expectationOf(frame, level) };
  },
  promisesAlone: true,
  actionValues: actionValuesOf,
  batchFacts,

  baselines: {
    of: null,
    isOfPipelines: false,
    names: SINGLE_BASELINES,
    tunable: true,
    has: (text, tuned) => singleBaselineNamed(text, tuned) !== null,
  },
  hasServiceTimeQuantiles: ({ tasks, buckets = [] }) =>
    [...tasks, ...buckets].every(({ serviceTimes }) => serviceTimes.quantiles !== null),
  promisesQuantiles: isSampled,
  async simulate(bundle, asked, watch) {
    const { simulateTablesCommand } = await import("./simulate-command.ts");
    return simulateTablesCommand(bundle, asked, watch);
  },

  warnings: (bundle, application) => [
    ...bucketWarnings(bundle, application),
    ...tableWarnings(bundle),
    ...wayWarnings(application, true),
  ],
  tablesAround: (bundle) => ({
    before: [],
    after: [
      ...(bundle.slo.classes ? [classTable(bundle)] : []),
      ...(bundle.buckets ? [bucketTable(bundle)] : []),
    ],
  }),
  async report(bundle, asked) {
    refuseTraces(asked, "decision tables");
    const { reportRamsis } = await import("./report-command.ts");
    return reportRamsis(bundle, asked);
  },
};

function expectationOf(frame: RamsisFrame, level: RamsisLevel): Expected {
  if (hasPath(frame)) return servedExpectation(frame, level);
  if (hasBuckets(frame)) return bucketedExpectation(frame, level);
  if (hasClasses(frame)) return classedExpectation(frame, level);
  return isPooled(frame) ? ramsis.expectedOf(frame, level) : boundExpectation(frame, level);
}
