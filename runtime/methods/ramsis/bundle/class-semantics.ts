/** Checks the classes of a RAMSIS bundle against each other and the rest of the bundle. */

import {
  type RamsisBundle,
  type RamsisLevel,
  type SloClass,
  violationCeiling,
} from "../../../bundle/schema.ts";
import { checkSlackOf } from "../../../bundle/serving-semantics.ts";
import {
  checkRows,
  checkTable,
  checkUnique,
  refuse,
  type TableRule,
} from "../../../bundle/table-semantics.ts";

/** Largest distance of the sum of shares from 1. */
const SHARE_TOLERANCE = 1e-6;

/**
 * @throws BundleError BUNDLE_SEMANTICS unless either all fields about classes are present, or none.
 */
export function checkClasses(bundle: RamsisBundle): void {
  const { slo, policy, classSpaces } = bundle;
  const { classes } = slo;
  for (const [path, value] of [
    ["policy.classes", policy.classes],
    ["classSpaces", classSpaces],
  ] as const) {
    if ((value === undefined) === (classes === undefined)) continue;
    const there = classes === undefined ? "nothing, as slo.classes" : "a value, as slo.classes";
    refuse(path, value === undefined ? "nothing" : "a value", there);
  }
  if (classes === undefined) return;
  checkUnique(classes, "slo.classes");
  checkShares(classes, "slo.classes");
  const longestMs = Math.max(...classes.map(({ latencyMs }) => latencyMs));
  if (slo.latencyMs !== longestMs) {
    refuse("slo.latencyMs", slo.latencyMs, `${longestMs}, the longest of slo.classes`);
  }
  if (policy.balancer !== "pooled") {
    refuse("policy.balancer", policy.balancer, '"pooled", since there are classes');
  }
  checkSpaces(bundle, classes);
}

/** @throws BundleError BUNDLE_SEMANTICS unless the shares sum to 1. */
export function checkShares(kinds: readonly { readonly share: number }[], path: string): void {
  const sum = kinds.reduce((total, { share }) => total + share, 0);
  if (Math.abs(sum - 1) > SHARE_TOLERANCE) refuse(path, `shares of ${sum}`, "a sum of 1");
}

function checkSpaces(
  { cluster, classSpaces = [] }: RamsisBundle,
  classes: readonly SloClass[],
): void {
  checkCount(classSpaces, classes, "classSpaces");
  for (const [index, { maxQueue, queued, slackMs }] of classSpaces.entries()) {
    const path = `classSpaces[${index}]`;
    if (queued !== undefined) checkRows(queued, maxQueue, `${path}.queued`);
    const sloMs = classes[index]?.latencyMs ?? Number.NaN;
    checkSlackOf(slackMs, cluster, sloMs, [path, `slo.classes[${index}].latencyMs`]);
  }
}

export interface Surroundings {
  readonly batchByAction: Uint16Array;
  readonly rule: TableRule;
  readonly path: string;
}

/** @throws BundleError BUNDLE_SEMANTICS unless a level has all figures of every class. */
export function checkClassLevel(
  bundle: RamsisBundle,
  level: RamsisLevel,
  around: Surroundings,
): void {
  const { slo } = bundle;
  const { expected, feasible } = level;
  const { path } = around;
  const { byClass } = expected;
  if ((byClass === undefined) !== (slo.classes === undefined)) {
    const found = byClass === undefined ? "nothing" : "a value";
    refuse(`${path}.expected.byClass`, found, "a value if and only if there are slo.classes");
  }
  const ceiling = violationCeiling(slo);
  for (const [name, { violationRate }] of Object.entries(byClass ?? {})) {
    if (!feasible || violationRate <= ceiling) continue;
    const found = `true with violation rate ${violationRate} of class ${name}`;
    refuse(`${path}.feasible`, found, `true only up to violation rate ${ceiling} of each class`);
  }
  checkClassTables(bundle, level, around);
}

/**
 * @throws BundleError BUNDLE_SEMANTICS unless a level has valid tables of classes, or no tables.
 */
export function checkClassTables(
  bundle: RamsisBundle,
  { classTables }: Pick<RamsisLevel, "classTables">,
  { batchByAction, rule, path }: Surroundings,
): void {
  const { policy, decisionSpace, classSpaces = [], slo } = bundle;
  const { classes } = slo;
  if (classes === undefined) {
    if (classTables !== undefined)
      refuse(`${path}.classTables`, "a value", "nothing, as slo.classes");
    return;
  }
  const mayBeOwn = policy.classes !== undefined && policy.classes !== "shared";
  if (classTables === undefined) {
    if (policy.classes === "separate") {
      refuse(`${path}.classTables`, "nothing", "a table for each class, as policy.classes says");
    }
    return;
  }
  if (!mayBeOwn) refuse(`${path}.classTables`, "a value", "nothing, as policy.classes says");
  checkCount(classTables, classes, `${path}.classTables`);
  const workers = classTables.reduce((sum, one) => sum + one.workers, 0);
  const workerCount = bundle.cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (workers !== workerCount) {
    refuse(`${path}.classTables`, `${workers} workers`, `${workerCount}, those of the cluster`);
  }
  for (const [index, { actionByState }] of classTables.entries()) {
    const { queued: _, ...shared } = decisionSpace;
    const space = { ...shared, ...classSpaces[index] };
    const at = `${path}.classTables[${index}].actionByState`;
    checkTable(actionByState, space, batchByAction, rule, at);
  }
}

function checkCount(found: readonly unknown[], classes: readonly SloClass[], path: string): void {
  if (found.length === classes.length) return;
  refuse(path, `${found.length} items`, `${classes.length}, one for each of slo.classes`);
}
