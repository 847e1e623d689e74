/** Fields of a RAMSIS bundle whose queries are of several classes. */
import {
  accuracyFields,
  actionTable,
  axisFields,
  milliseconds,
  sloFields,
  workerCount,
} from "../../../bundle/common-fields.ts";
import { listOf, numberBetween, textOf } from "../../../bundle/fields.ts";
import { optional, record } from "../../../bundle/record.ts";
import type {
  ClassExpected,
  ClassSpace,
  ClassTable,
  Slo,
  SloClass,
} from "../../../bundle/schema.ts";

const CLASS_COUNT = [2, 16] as const;
/** Names appear in URLs, labels of metrics and lists of the command line. */
const CLASS_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const sloClass = record<SloClass>({
  name: [
    textOf(
      CLASS_NAME,
      "a letter, then up to 63 letters, digits, _ or -",
      "a letter, then up to 63 letters, digits, `_` or `-`",
    ),
    "Unique among the classes.",
  ],
  latencyMs: [milliseconds, "Latency allowed for a query of the class."],
  share: [numberBetween(0, 1), "Its share of the load."],
});

export const sloWithClasses = record<Slo>({
  ...sloFields,
  classes: optional(
    listOf(CLASS_COUNT, sloClass),
    "Queries with an SLO of their own; left out if all queries have the same.",
  ),
});

const classSpace = record<ClassSpace>(axisFields);

export const classSpaces = optional(
  listOf(CLASS_COUNT, classSpace),
  "Axes of the tables of single classes: for the queue of the class, and slacks up to its " +
    "`latencyMs`, for each class in their order. Actions are those of `decisionSpace`.",
);

const classTable = record<ClassTable>({
  workers: [workerCount, "Workers of the class; those of all classes sum to the cluster's."],
  actionByState: [actionTable, "As `actionByState` of the level, over the class's `classSpaces`."],
});

export const classTables = optional(
  listOf(CLASS_COUNT, classTable),
  "Tables of classes with workers of their own, in their order; left out if one queue is " +
    'used: always if `policy.classes` is `"shared"`, never if it is `"separate"`.',
);

export const classExpected = record<ClassExpected>(accuracyFields);
