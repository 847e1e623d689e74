/** Checks a RAMSIS bundle so that no lookup of the runtime leaves a table. */
import type { RamsisBundle, RamsisOptions } from "../../../bundle/schema.ts";
import { checkLevelMargin, checkMargin, checkSlackOf } from "../../../bundle/serving-semantics.ts";
import { checkSeats, checkWorkers } from "../../../bundle/size-semantics.ts";
import { checkState } from "../../../bundle/state-semantics.ts";
import {
  batchByActionOf,
  checkActions,
  checkAscending,
  checkFeasible,
  checkModel,
  checkRows,
  checkServiceTimes,
  checkShape,
  checkTable,
  checkUnique,
  refuse,
  type TableRule,
} from "../../../bundle/table-semantics.ts";
import { checkBucketLevel, checkBuckets, checkBucketTables } from "./bucket-semantics.ts";
import { checkClasses, checkClassLevel, checkClassTables } from "./class-semantics.ts";

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkRamsisSemantics(bundle: RamsisBundle): void {
  const { tasks, policy, decisionSpace, levels, slo } = bundle;
  const workers = checkWorkers(bundle.cluster);
  checkMargin(bundle.cluster, bundle.slo);
  for (const [index, { variants, serviceTimes }] of tasks.entries()) {
    const path = `tasks[${index}]`;
    checkUnique(variants, `${path}.variants`);
    for (const [variant, { model }] of variants.entries()) {
      const at = `${path}.variants[${variant}].model`;
      checkModel(model, at, true);
      const state = model?.state;
      if (model === null || state === undefined) continue;
      // Requests of a sequence may have any size, but its state has one size.
      if (model.buckets !== undefined) refuse(`${at}.buckets`, "some", "none beside state");
      // A variant cannot continue a sequence of another variant.
      if (variants.length > 1) refuse(`${at}.state`, "some", "none where a task has variants");
      checkState(model, state, `${at}.state`);
    }
    checkServiceTimes(serviceTimes, variants.length, `${path}.serviceTimes`);
    checkActions(decisionSpace.actions, serviceTimes, "decisionSpace.actions");
    checkSeats(workers, serviceTimes.decisionMs.shape[1] ?? 0, "batches");
  }
  if (policy.balancer !== "pooled" && policy.maxQueue !== decisionSpace.maxQueue) {
    refuse("decisionSpace.maxQueue", decisionSpace.maxQueue, `${policy.maxQueue}, policy.maxQueue`);
  }
  if (policy.balancer !== "pooled") checkSeats(workers, policy.maxQueue + 1, "queues");
  const { slackMs, queued } = decisionSpace;
  if (queued !== undefined) checkRows(queued, decisionSpace.maxQueue, "decisionSpace.queued");
  if (policy.discretization.kind === "fixed" && policy.balancer !== "pooled") {
    checkShape(slackMs, [policy.discretization.steps + 1], "decisionSpace.slackMs");
  }
  checkSlackOf(slackMs, bundle.cluster, slo.latencyMs, ["decisionSpace", "slo.latencyMs"]);
  checkClasses(bundle);
  checkBuckets(bundle);
  const rule = tableRuleOf(policy);
  const batchByAction = batchByActionOf(decisionSpace.actions);
  checkAscending(levels);
  for (const [index, level] of levels.entries()) {
    const path = `levels[${index}]`;
    checkFeasible(level, slo, path);
    checkLevelMargin(level, bundle, path);
    checkTable(level.actionByState, decisionSpace, batchByAction, rule, `${path}.actionByState`);
    checkClassLevel(bundle, level, { batchByAction, rule, path });
    checkBucketLevel(bundle, level, { batchByAction, rule, path });
    if (level.mixture === null) continue;
    const { actionByState } = level.mixture;
    checkTable(actionByState, decisionSpace, batchByAction, rule, `${path}.mixture.actionByState`);
  }
  checkPaceLevels(bundle, rule, batchByAction);
}

/** @throws BundleError BUNDLE_SEMANTICS unless pace levels ascend and their tables are complete. */
function checkPaceLevels(bundle: RamsisBundle, rule: TableRule, batchByAction: Uint16Array): void {
  const { decisionSpace, paceLevels = [] } = bundle;
  for (const [index, level] of paceLevels.entries()) {
    const path = `paceLevels[${index}]`;
    const before = paceLevels[index - 1];
    const isAbove =
      before === undefined ||
      level.pace > before.pace ||
      (level.pace === before.pace && level.loadQps > before.loadQps);
    if (!isAbove) {
      const found = `${level.loadQps} at pace ${level.pace}`;
      refuse(path, found, "a higher pace than the level before, or the same and a higher load");
    }
    checkLevelMargin(level, bundle, path);
    checkTable(level.actionByState, decisionSpace, batchByAction, rule, `${path}.actionByState`);
    checkClassTables(bundle, level, { batchByAction, rule, path });
    checkBucketTables(bundle, level, { batchByAction, rule, path });
    if (level.mixture === null) continue;
    const { actionByState } = level.mixture;
    checkTable(actionByState, decisionSpace, batchByAction, rule, `${path}.mixture.actionByState`);
  }
}

function tableRuleOf({ batching, balancer }: RamsisOptions): TableRule {
  const isPooled = balancer === "pooled";
  return { isMaximal: batching === "maximal" && !isPooled, mayWait: isPooled };
}
