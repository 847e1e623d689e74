/**
 * What a RAMSIS bundle has where queries are of several classes: structure checked field by field.
 * Source: docs/bundle-format.md.
 */
import {
  MAX_WAITING,
  milliseconds,
  ratio,
  sloOf,
  workerCount,
} from "../../../bundle/common-fields.ts";
import {
  arrayOf,
  integerIn,
  matching,
  numberBetween,
  objectOf,
  tableOf,
} from "../../../bundle/fields.ts";
import type {
  ClassExpected,
  ClassSpace,
  ClassTable,
  RamsisBundle,
  RamsisLevel,
  Slo,
  SloClass,
} from "../../../bundle/schema.ts";

const CLASS_COUNT = [2, 16] as const;
/** Names stand in URLs, labels of metrics and lists of the command line. */
const CLASS_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export function sloWithClassesOf(value: unknown, path: string): Slo {
  const keys = ["latencyMs", "maxViolationRate", "percentile"] as const;
  const { classes, ...slo } = objectOf(value, path, keys, ["classes"]);
  if (classes === undefined) return sloOf(slo, path);
  return Object.freeze({
    ...sloOf(slo, path),
    classes: arrayOf(classes, `${path}.classes`, CLASS_COUNT, classOf),
  });
}

function classOf(value: unknown, path: string): SloClass {
  const fields = objectOf(value, path, ["latencyMs", "name", "share"]);
  const allowed = "a letter, then up to 63 letters, digits, _ or -";
  return Object.freeze({
    name: matching(fields.name, `${path}.name`, CLASS_NAME, allowed),
    latencyMs: milliseconds(fields.latencyMs, `${path}.latencyMs`),
    share: numberBetween(fields.share, `${path}.share`, 0, 1),
  });
}

/** An empty object where the bundle has none. */
export function classSpacesOf(value: unknown): Pick<RamsisBundle, "classSpaces"> {
  if (value === undefined) return {};
  return { classSpaces: arrayOf(value, "classSpaces", CLASS_COUNT, spaceOf) };
}

function spaceOf(value: unknown, path: string): ClassSpace {
  const fields = objectOf(value, path, ["maxQueue", "slackMs"], ["queued"]);
  return Object.freeze({
    ...(fields.queued === undefined
      ? {}
      : { queued: tableOf(fields.queued, `${path}.queued`, "float64", 1) }),
    maxQueue: integerIn(fields.maxQueue, `${path}.maxQueue`, 1, MAX_WAITING),
    slackMs: tableOf(fields.slackMs, `${path}.slackMs`, "float64", 1),
  });
}

/** An empty object where the level has none. */
export function classTablesOf(value: unknown, path: string): Pick<RamsisLevel, "classTables"> {
  if (value === undefined) return {};
  return { classTables: arrayOf(value, path, CLASS_COUNT, tableOfClass) };
}

function tableOfClass(value: unknown, path: string): ClassTable {
  const fields = objectOf(value, path, ["actionByState", "workers"]);
  return Object.freeze({
    workers: workerCount(fields.workers, `${path}.workers`),
    actionByState: tableOf(fields.actionByState, `${path}.actionByState`, "uint16", 2),
  });
}

/** A map whose keys are the names of the classes; an empty object where it is left out. */
export function classExpectationsOf(
  value: unknown,
  path: string,
  classes: readonly SloClass[] | undefined,
): { byClass?: Readonly<Record<string, ClassExpected>> } {
  if (value === undefined || classes === undefined) return {};
  const names = classes.map(({ name }) => name);
  const fields = objectOf(value, path, names);
  const byClass = names.map((name) => [name, classExpectedOf(fields[name], `${path}.${name}`)]);
  return { byClass: Object.freeze(Object.fromEntries(byClass)) };
}

function classExpectedOf(value: unknown, path: string): ClassExpected {
  const fields = objectOf(value, path, [
    "accuracyPerQuery",
    "accuracyPerSatisfied",
    "violationRate",
  ]);
  return Object.freeze({
    accuracyPerSatisfied: ratio(fields.accuracyPerSatisfied, `${path}.accuracyPerSatisfied`),
    accuracyPerQuery: ratio(fields.accuracyPerQuery, `${path}.accuracyPerQuery`),
    violationRate: ratio(fields.violationRate, `${path}.violationRate`),
  });
}
