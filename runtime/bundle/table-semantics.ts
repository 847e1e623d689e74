/** Checks tables and names of a bundle against each other, for all methods. */
import { BundleError } from "../base/bundle-error.ts";
import {
  type DecisionSpace,
  GIVE_UP,
  type Level,
  type ModelFile,
  NO_ACTION,
  type RamsisLevel,
  type ServiceTimes,
  type Slo,
  type Table,
  violationCeiling,
} from "./schema.ts";

/** One action less than a cell can hold besides NO_ACTION and GIVE_UP. */
const MAX_ACTIONS = 65_533;

/** Rules for the cells of a table of actions. */
export interface TableRule {
  /** Whether a batch has to take all waiting queries; the last row, a full queue, is exempt. */
  readonly isMaximal: boolean;
  /**
   * Whether a cell may say to give up, or to wait; the latter not in the first column, where no
   * time is left.
   */
  readonly mayWait: boolean;
}

/**
 * Checks that all variants have times for the same batch sizes, each at least that of a smaller
 * batch.
 */
export function checkServiceTimes(
  { decisionMs, quantiles }: ServiceTimes,
  variantCount: number,
  at: string,
): void {
  const [, maxBatch = 0] = decisionMs.shape;
  checkShape(decisionMs, [variantCount, maxBatch], `${at}.decisionMs`);
  checkNonDecreasing(decisionMs, maxBatch, `${at}.decisionMs`);
  if (quantiles === null) return;
  checkShape(quantiles.p50Ms, decisionMs.shape, `${at}.quantiles.p50Ms`);
  checkShape(quantiles.p95Ms, decisionMs.shape, `${at}.quantiles.p95Ms`);
  checkShape(quantiles.p99Ms, decisionMs.shape, `${at}.quantiles.p99Ms`);
  checkShape(quantiles.meanMs, decisionMs.shape, `${at}.quantiles.meanMs`);
}

/**
 * Checks that the names of tensors are unique.
 * @param keepsState whether the method serves sequences of requests.
 */
export function checkModel(model: ModelFile | null, path: string, keepsState = false): void {
  if (model === null) return;
  checkUnique(model.inputs, `${path}.inputs`);
  checkUnique(model.outputs, `${path}.outputs`);
  if (model.module !== undefined && model.remote !== undefined) {
    refuse(`${path}.remote`, "a server, beside a module", "one of the two");
  }
  if (model.state === undefined || keepsState) return;
  refuse(`${path}.state`, "some", "none: only ramsis serves sequences of requests");
}

/** @throws BundleError unless loads ascend. */
export function checkAscending(levels: readonly Level[]): void {
  let previousQps = 0;
  for (const [index, { loadQps }] of levels.entries()) {
    if (loadQps <= previousQps) {
      refuse(`levels[${index}].loadQps`, loadQps, `more than ${previousQps}, the level before`);
    }
    previousQps = loadQps;
  }
}

/** @throws BundleError BUNDLE_SEMANTICS unless they ascend by pace, and within a pace by load. */
export function checkAscendingPaces(
  paceLevels: readonly (Pick<Level, "loadQps"> & { readonly pace: number })[],
): void {
  for (const [index, { pace, loadQps }] of paceLevels.entries()) {
    const before = paceLevels[index - 1];
    if (before === undefined || pace > before.pace) continue;
    if (pace === before.pace && loadQps > before.loadQps) continue;
    const allowed = "a higher pace than the level before, or the same and a higher load";
    refuse(`paceLevels[${index}]`, `${loadQps} at pace ${pace}`, allowed);
  }
}

export function checkUnique(named: readonly { readonly name: string }[], path: string): void {
  const seen = new Set<string>();
  for (const [index, { name }] of named.entries()) {
    if (seen.has(name)) refuse(`${path}[${index}].name`, `"${name}" again`, "a name of its own");
    seen.add(name);
  }
}

export function checkSlacks(slackMs: Table, sloMs: number, path: string, whose: string): void {
  let previousMs = 0;
  slackMs.data.forEach((ms, step) => {
    // The first comparison also refuses NaN and −0, the second NaN.
    if (step === 0 ? !Object.is(ms, 0) : !(ms > previousMs)) {
      refuse(`${path}.data[${step}]`, ms, step === 0 ? "0" : `more than ${previousMs}`);
    }
    previousMs = ms;
  });
  if (previousMs !== sloMs) {
    refuse(`${path}.data[${slackMs.data.length - 1}]`, previousMs, `${sloMs}, ${whose}`);
  }
}

/** Checks the rows of queue lengths, from one query to a full queue. */
export function checkRows(queued: Table, maxQueue: number, path: string): void {
  let previous = 0;
  queued.data.forEach((length, row) => {
    const isNext = Number.isInteger(length) && (row === 0 ? length === 1 : length > previous);
    if (!isNext) refuse(`${path}.data[${row}]`, length, row === 0 ? "1" : `more than ${previous}`);
    previous = length;
  });
  if (previous !== maxQueue + 1) {
    refuse(`${path}.data[${queued.data.length - 1}]`, previous, `${maxQueue + 1}, a full queue`);
  }
}

export function checkActions(actions: Table, { decisionMs }: ServiceTimes, path: string): void {
  const [variantCount = 0, maxBatch = 0] = decisionMs.shape;
  const [actionCount = 0, width] = actions.shape;
  if (width !== 2 || actionCount > MAX_ACTIONS) {
    refuse(`${path}.shape`, `[${actions.shape}]`, `[at most ${MAX_ACTIONS}, 2]`);
  }
  actions.data.forEach((value, cell) => {
    const [min, max] = cell % 2 === 0 ? [0, variantCount - 1] : [1, maxBatch];
    if (value < min || value > max) {
      const what = cell % 2 === 0 ? "a variant" : "a batch size";
      refuse(`${path}.data[${cell}]`, value, `${what} from ${min} to ${max}`);
    }
  });
}

/** Returns the batch size of each action. */
export function batchByActionOf(actions: Table): Uint16Array {
  return Uint16Array.from(
    { length: actions.data.length / 2 },
    (_, action) => actions.data[2 * action + 1] ?? 0,
  );
}

export function checkFeasible(level: RamsisLevel, slo: Slo, path: string): void {
  if (!level.feasible) return;
  const { loadQps, capacityQps, expected } = level;
  const ceiling = violationCeiling(slo);
  if (loadQps > capacityQps || expected.violationRate > ceiling) {
    const found = `true at ${loadQps} qps with violation rate ${expected.violationRate}`;
    const allowed = `true only up to ${capacityQps} qps and violation rate ${ceiling}`;
    refuse(`${path}.feasible`, found, allowed);
  }
  const { p50 = Number.POSITIVE_INFINITY, p95 = Number.POSITIVE_INFINITY } =
    expected.latencyMs ?? {};
  const { p50Ms = Number.POSITIVE_INFINITY, p95Ms = Number.POSITIVE_INFINITY } = slo;
  if (p50 <= p50Ms && p95 <= p95Ms) return;
  const found = `true with latencies of p50 ${p50} ms, p95 ${p95} ms`;
  refuse(`${path}.feasible`, found, `true only up to p50 ${p50Ms} ms and p95 ${p95Ms} ms`);
}

/**
 * Checks that every state has an action, or waits if allowed. Maximal batching takes all waiting
 * queries; the last row, a full queue, may take fewer.
 */
export function checkTable(
  table: Table,
  { maxQueue, queued, slackMs }: DecisionSpace,
  batchByAction: Uint16Array,
  { isMaximal, mayWait }: TableRule,
  path: string,
): void {
  const slackCount = slackMs.data.length;
  const rowCount = queued?.data.length ?? maxQueue + 1;
  checkShape(table, [rowCount, slackCount], path);
  const cells = table.data;
  const largest = batchByAction.reduce((most, batch) => Math.max(most, batch), 0);
  for (let row = 0; row < rowCount; row++) {
    const waiting = queued?.data[row] ?? row + 1;
    const minBatch = isMaximal && row < maxQueue ? Math.min(waiting, largest) : 1;
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
      // 0 for a value that is not an action.
      const batch = batchByAction[action] ?? 0;
      if (batch < minBatch || batch > waiting) refuseCell(path, cell, action, batch, waiting);
    }
  }
}

export function checkShape({ shape }: Table, expected: readonly number[], path: string): void {
  if (shape.length !== expected.length || shape.some((size, axis) => size !== expected[axis])) {
    refuse(`${path}.shape`, `[${shape}]`, `[${expected}]`);
  }
}

export function refuse(path: string, found: number | string, allowed: string): never {
  const got = Object.is(found, -0) ? "-0" : found;
  throw new BundleError(
    "BUNDLE_SEMANTICS",
    `${path}: expected ${allowed}, got ${got}; compile the bundle again`,
  );
}

export function checkNonDecreasing({ data }: Table, maxBatch: number, path: string): void {
  let previousMs = 0;
  data.forEach((ms, cell) => {
    if (cell % maxBatch > 0 && ms < previousMs) {
      refuse(`${path}.data[${cell}]`, ms, `at least ${previousMs}, the time of a smaller batch`);
    }
    previousMs = ms;
  });
}

function refuseCell(
  path: string,
  cell: number,
  action: number,
  batch: number,
  queued: number,
): void {
  const found =
    batch === 0 ? `${action}, which is not an action` : `action ${action}, a batch of ${batch}`;
  refuse(`${path}.data[${cell}]`, found, `an action for ${queued} queued`);
}
