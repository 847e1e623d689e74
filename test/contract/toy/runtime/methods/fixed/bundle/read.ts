/** From an unknown value to a bundle of fixed: each field, then their agreement. */
import {
  arrivalsOf,
  clusterOf,
  MAX_LEVELS,
  MAX_MS,
  MAX_QPS,
  MAX_QUEUE,
  modelFileOf,
  profileOf,
  provenanceOf,
  ratio,
  sloOf,
} from "../../../bundle/common-fields.ts";
import {
  arrayOf,
  boolean,
  integerIn,
  nullOr,
  numberIn,
  objectOf,
  oneOf,
  positive,
  tableOf,
  text,
} from "../../../bundle/fields.ts";
import type { FixedBundle, FixedLevel, FixedTask } from "../../../bundle/schema.ts";
import {
  checkAscending,
  checkModel,
  checkNonDecreasing,
  checkShape,
  refuse,
} from "../../../bundle/table-semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readFixedBundle(value: unknown): FixedBundle {
  const keys = ["application", "arrivals", "cluster", "levels", "method", "policy"] as const;
  const fields = objectOf(value, "", [...keys, "provenance", "slo", "tasks"]);
  const { maxBatch } = objectOf(fields.policy, "policy", ["maxBatch"]);
  const bundle: FixedBundle = Object.freeze({
    application: text(fields.application, "application"),
    method: oneOf(fields.method, "method", ["fixed"]),
    slo: sloOf(fields.slo, "slo"),
    arrivals: arrivalsOf(fields.arrivals, "arrivals"),
    cluster: clusterOf(fields.cluster, "cluster", 1),
    tasks: arrayOf(fields.tasks, "tasks", [1, 1], taskOf),
    policy: Object.freeze({ maxBatch: integerIn(maxBatch, "policy.maxBatch", 1, MAX_QUEUE) }),
    levels: arrayOf(fields.levels, "levels", [1, MAX_LEVELS], levelOf),
    provenance: provenanceOf(fields.provenance, "provenance"),
  });
  checkSemantics(bundle);
  return bundle;
}

function taskOf(value: unknown, path: string): FixedTask {
  const fields = objectOf(value, path, ["name", "variants"]);
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    variants: arrayOf(fields.variants, `${path}.variants`, [1, 1], variantOf),
  });
}

function variantOf(value: unknown, path: string): FixedTask["variants"][number] {
  const fields = objectOf(value, path, ["accuracy", "latencyMs", "model", "name", "profile"]);
  const latencyMs = tableOf(fields.latencyMs, `${path}.latencyMs`, "float64", 1);
  latencyMs.data.forEach((ms, cell) => {
    positive(ms, `${path}.latencyMs.data[${cell}]`, MAX_MS);
  });
  return Object.freeze({
    name: text(fields.name, `${path}.name`),
    accuracy: ratio(fields.accuracy, `${path}.accuracy`),
    model: nullOr(fields.model, `${path}.model`, modelFileOf),
    profile: profileOf(fields.profile, `${path}.profile`),
    latencyMs,
  });
}

function levelOf(value: unknown, path: string): FixedLevel {
  const keys = ["batch", "capacityQps", "expected", "feasible", "loadQps"] as const;
  const fields = objectOf(value, path, keys);
  const at = `${path}.expected`;
  const expected = objectOf(fields.expected, at, ["latencyMsP99", "seed", "violationRate"]);
  return Object.freeze({
    loadQps: positive(fields.loadQps, `${path}.loadQps`, MAX_QPS),
    feasible: boolean(fields.feasible, `${path}.feasible`),
    capacityQps: numberIn(fields.capacityQps, `${path}.capacityQps`, 0, MAX_QPS),
    batch: integerIn(fields.batch, `${path}.batch`, 1, MAX_QUEUE),
    expected: Object.freeze({
      latencyMsP99: numberIn(expected.latencyMsP99, `${at}.latencyMsP99`, 0, MAX_MS),
      seed: integerIn(expected.seed, `${at}.seed`, 0, 2 ** 32 - 1),
      violationRate: ratio(expected.violationRate, `${at}.violationRate`),
    }),
  });
}

function checkSemantics({ tasks, policy, levels }: FixedBundle): void {
  checkAscending(levels);
  for (const { model, latencyMs } of tasks[0]?.variants ?? []) {
    const path = "tasks[0].variants[0]";
    checkModel(model, `${path}.model`);
    checkShape(latencyMs, [policy.maxBatch], `${path}.latencyMs`);
    checkNonDecreasing(latencyMs, policy.maxBatch, `${path}.latencyMs`);
  }
  for (const [index, { batch }] of levels.entries()) {
    if (batch <= policy.maxBatch) continue;
    refuse(`levels[${index}].batch`, batch, `at most ${policy.maxBatch}, policy.maxBatch`);
  }
}
