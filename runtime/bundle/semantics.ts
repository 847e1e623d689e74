/** What the fields of a bundle must say about each other, so that no lookup of the runtime can leave a table. */
import { BundleError } from "./bundle-error.ts";
import {
  type Bundle,
  type DecisionSpace,
  type Discretization,
  GIVE_UP,
  type Level,
  NO_ACTION,
  type RamsisOptions,
  type Table,
  type Task,
  violationCeiling,
} from "./schema.ts";

/** One action less than a cell can name besides NO_ACTION and GIVE_UP. */
const MAX_ACTIONS = 65_533;

/** @throws BundleError BUNDLE_SEMANTICS at the first contradiction. */
export function checkSemantics(bundle: Bundle): void {
  const { tasks, policy, decisionSpace, levels, slo } = bundle;
  for (const [index, task] of tasks.entries()) {
    checkTask(task, `tasks[${index}]`);
    checkActions(decisionSpace.actions, task);
  }
  if (policy.balancer !== "pooled" && policy.maxQueue !== decisionSpace.maxQueue) {
    refuse("decisionSpace.maxQueue", decisionSpace.maxQueue, `${policy.maxQueue}, policy.maxQueue`);
  }
  checkSlacks(decisionSpace.slackMs, policy.discretization, slo.latencyMs);
  const rule = tableRuleOf(policy);
  const batchByAction = batchByActionOf(decisionSpace.actions);
  let previousQps = 0;
  for (const [index, level] of levels.entries()) {
    const path = `levels[${index}]`;
    if (level.loadQps <= previousQps) {
      refuse(`${path}.loadQps`, level.loadQps, `more than ${previousQps}, the level before`);
    }
    previousQps = level.loadQps;
    checkFeasible(level, violationCeiling(slo), path);
    checkTable(level.actionByState, decisionSpace, batchByAction, rule, `${path}.actionByState`);
    if (level.mixture === null) continue;
    const { actionByState } = level.mixture;
    checkTable(actionByState, decisionSpace, batchByAction, rule, `${path}.mixture.actionByState`);
  }
}

/** What a table of actions may hold. */
interface TableRule {
  /** Whether a batch has to be all that wait, apart from the last row, a full queue. */
  readonly isMaximal: boolean;
  /** Whether a cell may say to wait, though not in the first column, where the time for it is over, or to give up. */
  readonly mayWait: boolean;
}

function tableRuleOf({ batching, balancer }: RamsisOptions): TableRule {
  const isPooled = balancer === "pooled";
  return { isMaximal: batching === "maximal" && !isPooled, mayWait: isPooled };
}

function checkTask({ variants, serviceTimes }: Task, path: string): void {
  checkUnique(variants, `${path}.variants`);
  for (const [index, { model }] of variants.entries()) {
    if (model === null) continue;
    checkUnique(model.inputs, `${path}.variants[${index}].model.inputs`);
    checkUnique(model.outputs, `${path}.variants[${index}].model.outputs`);
  }
  const { decisionMs, quantiles } = serviceTimes;
  const at = `${path}.serviceTimes`;
  const [, maxBatch = 0] = decisionMs.shape;
  checkShape(decisionMs, [variants.length, maxBatch], `${at}.decisionMs`);
  checkNonDecreasing(decisionMs, maxBatch, `${at}.decisionMs`);
  if (quantiles === null) return;
  checkShape(quantiles.p50Ms, decisionMs.shape, `${at}.quantiles.p50Ms`);
  checkShape(quantiles.p95Ms, decisionMs.shape, `${at}.quantiles.p95Ms`);
  checkShape(quantiles.p99Ms, decisionMs.shape, `${at}.quantiles.p99Ms`);
  checkShape(quantiles.meanMs, decisionMs.shape, `${at}.quantiles.meanMs`);
}

function checkUnique(named: readonly { readonly name: string }[], path: string): void {
  const seen = new Set<string>();
  for (const [index, { name }] of named.entries()) {
    if (seen.has(name)) refuse(`${path}[${index}].name`, `"${name}" again`, "a name of its own");
    seen.add(name);
  }
}

function checkNonDecreasing({ data }: Table, maxBatch: number, path: string): void {
  let previousMs = 0;
  data.forEach((ms, cell) => {
    if (cell % maxBatch > 0 && ms < previousMs) {
      refuse(`${path}.data[${cell}]`, ms, `at least ${previousMs}, the time of a smaller batch`);
    }
    previousMs = ms;
  });
}

function checkSlacks(slackMs: Table, discretization: Discretization, sloMs: number): void {
  const path = "decisionSpace.slackMs";
  const steps = discretization.kind === "fixed" ? discretization.steps : slackMs.data.length - 1;
  checkShape(slackMs, [steps + 1], path);
  let previousMs = 0;
  slackMs.data.forEach((ms, step) => {
    // The first comparison also refuses NaN and −0, the second NaN.
    if (step === 0 ? !Object.is(ms, 0) : !(ms > previousMs)) {
      refuse(`${path}.data[${step}]`, ms, step === 0 ? "0" : `more than ${previousMs}`);
    }
    previousMs = ms;
  });
  if (previousMs !== sloMs) {
    refuse(`${path}.data[${steps}]`, previousMs, `${sloMs}, slo.latencyMs`);
  }
}

function checkActions(actions: Table, { variants, serviceTimes }: Task): void {
  const [, maxBatch = 0] = serviceTimes.decisionMs.shape;
  const path = "decisionSpace.actions";
  const [actionCount = 0, width] = actions.shape;
  if (width !== 2 || actionCount > MAX_ACTIONS) {
    refuse(`${path}.shape`, `[${actions.shape}]`, `[at most ${MAX_ACTIONS}, 2]`);
  }
  actions.data.forEach((value, cell) => {
    const [min, max] = cell % 2 === 0 ? [0, variants.length - 1] : [1, maxBatch];
    if (value < min || value > max) {
      const what = cell % 2 === 0 ? "a variant" : "a batch size";
      refuse(`${path}.data[${cell}]`, value, `${what} from ${min} to ${max}`);
    }
  });
}

/** Batch size by action. */
function batchByActionOf(actions: Table): Uint16Array {
  return Uint16Array.from(
    { length: actions.data.length / 2 },
    (_, action) => actions.data[2 * action + 1] ?? 0,
  );
}

function checkFeasible(level: Level, ceiling: number, path: string): void {
  if (!level.feasible) return;
  const { loadQps, capacityQps, expected } = level;
  if (loadQps > capacityQps || expected.violationRate > ceiling) {
    const found = `true at ${loadQps} qps with violation rate ${expected.violationRate}`;
    const allowed = `true only up to ${capacityQps} qps and violation rate ${ceiling}`;
    refuse(`${path}.feasible`, found, allowed);
  }
}

/** Every state has an action, or waits where that is allowed. Maximal batching takes all that wait; the last row, a full queue, may take fewer. */
function checkTable(
  table: Table,
  { maxQueue, slackMs }: DecisionSpace,
  batchByAction: Uint16Array,
  { isMaximal, mayWait }: TableRule,
  path: string,
): void {
  const slackCount = slackMs.data.length;
  checkShape(table, [maxQueue + 1, slackCount], path);
  const cells = table.data;
  for (let row = 0; row <= maxQueue; row++) {
    const minBatch = isMaximal && row < maxQueue ? row + 1 : 1;
    const end = (row + 1) * slackCount;
    let previous = -1;
    for (let cell = row * slackCount; cell < end; cell++) {
      const action = cells[cell] ?? 0;
      // Neighbours mostly agree, so only changes are looked up.
      if (action === previous) continue;
      if (mayWait && (action === GIVE_UP || (action === NO_ACTION && cell % slackCount > 0))) {
        continue;
      }
      previous = action;
      // 0 for a value that is no action.
      const batch = batchByAction[action] ?? 0;
      if (batch < minBatch || batch > row + 1) refuseCell(path, cell, action, batch, row + 1);
    }
  }
}

function refuseCell(
  path: string,
  cell: number,
  action: number,
  batch: number,
  queued: number,
): void {
  const found =
    batch === 0 ? `${action}, which is no action` : `action ${action}, a batch of ${batch}`;
  refuse(`${path}.data[${cell}]`, found, `an action for ${queued} queued`);
}

function checkShape({ shape }: Table, expected: readonly number[], path: string): void {
  if (shape.length !== expected.length || shape.some((size, axis) => size !== expected[axis])) {
    refuse(`${path}.shape`, `[${shape}]`, `[${expected}]`);
  }
}

function refuse(path: string, found: number | string, allowed: string): never {
  const got = Object.is(found, -0) ? "-0" : found;
  throw new BundleError(
    "BUNDLE_SEMANTICS",
    `${path}: expected ${allowed}, got ${got}; compile the bundle again`,
  );
}
