/** RAMSIS as a method of the compiler: which variant a worker runs its queued queries on. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type {
  ActionValues,
  NoActionValues,
  RamsisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import { levelAt } from "stratagem-runtime/internal/core/level-choice";
import { kindTables } from "stratagem-runtime/internal/methods/ramsis/describe/inspect";
import { hopWarnings } from "../../model/hop-warnings.ts";
import { mainLoads } from "../../model/main-loads.ts";
import type { CompilerMethodOf } from "../method.ts";
import { refuseTraces } from "../table-options.ts";
import { SINGLE_BASELINES, singleBaselineNamed } from "./baselines.ts";
import { batchFacts } from "./batch-facts.ts";
import { ramsisPaces } from "./paces.ts";
import { inheritLevels, movedLevel, plannedLevel } from "./planned-level.ts";
import { onOwnAxes, planningFrame, planOfLevel } from "./planning-frame.ts";
import { promised, worstViolationRate } from "./promise.ts";
import { ramsisGap, ramsisPromises } from "./promises.ts";
import { isSampled } from "./simulate/promised-times.ts";
import { levelProblem } from "./solve/level-problem.ts";
import { ramsis } from "./solve/ramsis.ts";
import { bucketWarnings, tableWarnings } from "./warnings.ts";

export const ramsisMethod: CompilerMethodOf<"ramsis"> = {
  name: "ramsis",
  keepsState: true,

  mistakes: ramsis.mistakes,
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
    return { level: plannedLevel(frame, loadQps) };
  },
  searched(frame, loadsQps) {
    const { isPooled, isDivided } = levelProblem(frame);
    return isPooled && !isDivided ? mainLoads(loadsQps) : new Set(loadsQps);
  },
  moved: movedLevel,
  marginByLevel: true,
  afterLevels(frame, solved) {
    return levelProblem(frame).isPooled ? inheritLevels(frame, solved) : solved;
  },
  gapOf: ramsisGap,

  paces: ramsisPaces,
  promises: ramsisPromises,
  worstViolationRate: ({ expected }) => worstViolationRate(expected),
  stated: ({ expected }) => expected,
  promised(frame, { levels }, index) {
    const level = levelAt(levels, index);
    return { ...level, expected: promised(levelProblem(frame), level) };
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
    ...hopWarnings(application, true),
  ],
  tablesAround: (bundle) => ({ before: [], after: kindTables(bundle) }),
  async report(bundle, asked) {
    refuseTraces(asked, "decision tables");
    const { reportRamsis } = await import("./report-command.ts");
    return reportRamsis(bundle, asked);
  },
};

/** @param level index of the level that decides. */
function actionValuesOf(
  { levels, provenance: _, ...frame }: RamsisBundle,
  level: number,
  queued: number,
  slackMs: number,
): ActionValues | NoActionValues {
  const decides = levelAt(levels, level);
  const plan = planOfLevel(frame, decides);
  const planned = planningFrame(frame, decides.loadQps, plan);
  const moreMs = plan.marginMs - (frame.cluster.serving?.marginMs ?? 0);
  return ramsis.actionValues(planned, onOwnAxes(frame, planned, decides), queued, slackMs - moreMs);
}
