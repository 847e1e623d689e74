/** From an unknown value to a bundle of fixed: each field, then their agreement. */
import {
  accuracy,
  application,
  arrivals,
  batchSize,
  clusterOf,
  count,
  levelFields,
  levelsOf,
  METHOD,
  millisecondsOr0,
  model,
  profileReference,
  provenance,
  ratio,
  slo,
  variantName,
} from "../../../bundle/common-fields.ts";
import { listOf, oneOf, text } from "../../../bundle/fields.ts";
import { MAX_MS, MIN_MS } from "../../../bundle/limits.ts";
import { record } from "../../../bundle/record.ts";
import { refuse } from "../../../bundle/refuse.ts";
import type { FixedBundle, FixedLevel, FixedTask } from "../../../bundle/schema.ts";
import {
  checkAscending,
  checkModel,
  checkNonDecreasing,
  checkShape,
} from "../../../bundle/table-semantics.ts";
import { numberTable } from "../../../bundle/tables.ts";

const task = record<FixedTask>({
  name: [text, "The task."],
  variants: [
    listOf(
      [1, 1],
      record<FixedTask["variants"][number]>({
        name: variantName,
        accuracy,
        model,
        profile: [profileReference, "Where the latencies were measured."],
        latencyMs: [numberTable(["maxBatch"], [MIN_MS, MAX_MS]), "Of each batch size."],
      }),
    ),
    "The one that serves all.",
  ],
});

const level = record<FixedLevel>({
  ...levelFields("Whether the workers carry the load.", "The highest load that they carry."),
  batch: [batchSize, "Queries at a time, at most."],
  expected: [
    record<FixedLevel["expected"]>({
      latencyMsP99: [millisecondsOr0, "Of the simulated queries."],
      seed: [count, "What the simulation's random numbers begin with."],
      violationRate: [ratio, "Of the simulated queries, those that are late."],
    }),
    "What a simulation of the level gives.",
  ],
});

const fixedBundle = record<FixedBundle>({
  application,
  method: [oneOf(["fixed"]), METHOD],
  slo,
  arrivals,
  cluster: clusterOf(1),
  tasks: [listOf([1, 1], task), "The only task."],
  policy: [record<FixedBundle["policy"]>({ maxBatch: [batchSize, "Of all levels."] }), "Options."],
  levels: [levelsOf(level), "A batch size for each load."],
  provenance,
});

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readFixedBundle(value: unknown): FixedBundle {
  const bundle = fixedBundle.read(value, "");
  checkAscending(bundle.levels);
  for (const { model, latencyMs } of bundle.tasks[0]?.variants ?? []) {
    const path = "tasks[0].variants[0]";
    checkModel(model, `${path}.model`);
    checkShape(latencyMs, [bundle.policy.maxBatch], `${path}.latencyMs`);
    checkNonDecreasing(latencyMs, bundle.policy.maxBatch, `${path}.latencyMs`);
  }
  for (const [index, { batch }] of bundle.levels.entries()) {
    if (batch <= bundle.policy.maxBatch) continue;
    refuse(`levels[${index}].batch`, batch, `at most ${bundle.policy.maxBatch}, policy.maxBatch`);
  }
  return bundle;
}
