/** Policy of method loki in a spec. */

import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { LokiPolicy, PathAccuracy } from "./application.ts";
import { compileExpression } from "./document/expression.ts";
import { conflict, invalid, type Mistake, missing, show } from "./document/mistakes.ts";
import { leafTasks, variantPaths } from "./pipeline.ts";
import { type PolicyRulesOf, type PolicySpecOf, rowMistakes } from "./policy-rules.ts";
import type { TaskSpec } from "./schema/application-schema.ts";
import type { MeasuredStarts } from "./start-times.ts";

type LokiSpec = PolicySpecOf<"loki">;

/** Most paths of a pipeline with an accuracy table. */
const MAX_TABLE_PATHS = 100_000;

export const lokiRules: PolicyRulesOf<"loki"> = {
  *taskMistakes(policy, tasks) {
    yield* weightMistakes(policy, tasks);
    const { accuracyOf } = policy;
    if (typeof accuracyOf === "object") {
      yield* tableMistakes(accuracyOf.table, tasks);
    } else if (accuracyOf !== "product") {
      yield* expressionMistakes(accuracyOf, tasks);
    }
  },
  resolve: resolveLoki,
  measurementMistakes: (variant, path) => rowMistakes("loki", variant, path),
  sizes: "largest",
};

function* weightMistakes(
  { leafWeights }: LokiSpec,
  tasks: readonly TaskSpec[],
): Generator<Mistake> {
  if (leafWeights === undefined) return;
  const path = ["policy", "leafWeights"];
  const leaves = leafTasks(tasks);
  for (const name of Object.keys(leafWeights)) {
    if (leaves.includes(name)) continue;
    yield conflict(
      [...path, name],
      `no leaf task is named ${show(name)}${suggestion(name, leaves)}`,
    );
  }
  for (const leaf of leaves) {
    if (!Object.hasOwn(leafWeights, leaf)) {
      yield missing([...path, leaf], "a weight for every leaf task");
    }
  }
  if (Object.values(leafWeights).every((weight) => weight === 0)) {
    yield conflict(path, "expected at least one weight above 0");
  }
}

function* expressionMistakes(text: string, tasks: readonly TaskSpec[]): Generator<Mistake> {
  const names = tasks.filter((task) => !task.passThrough).map((task) => task.name);
  const expected = `"product", or an expression over the tasks ${names.join(", ")}`;
  const path = ["policy", "accuracyOf"];
  const compiled = compileExpression(text, names);
  if (!compiled.ok) {
    yield invalid(path, expected, `${show(text)} (${compiled.reason})`);
    return;
  }
  const perfect = compiled.evaluate(Object.fromEntries(names.map((name) => [name, 1])));
  if (!(perfect >= 0 && perfect <= 1)) {
    const found = `${show(text)} (${perfect} for perfect tasks, which is not an accuracy)`;
    yield invalid(path, expected, found);
  }
}

function* tableMistakes(
  table: Readonly<Record<string, number>>,
  tasks: readonly TaskSpec[],
): Generator<Mistake> {
  const path = ["policy", "accuracyOf", "table"];
  const paths = new Set<string>();
  let walked = 0;
  for (const variants of variantPaths(tasks)) {
    if (++walked > MAX_TABLE_PATHS) {
      yield conflict(
        path,
        `expected a pipeline of at most ${MAX_TABLE_PATHS} paths; use an expression`,
      );
      return;
    }
    paths.add(variants);
  }
  for (const key of Object.keys(table)) {
    if (paths.has(key)) continue;
    yield conflict([...path, key], `no path is ${show(key)}${suggestion(key, [...paths])}`);
  }
  for (const variants of paths) {
    if (!Object.hasOwn(table, variants))
      yield missing([...path, variants], "an accuracy for every path");
  }
}

function resolveLoki(
  policy: LokiSpec,
  tasks: readonly TaskSpec[],
  { modelMs: measured }: MeasuredStarts,
): LokiPolicy {
  const leaves = leafTasks(tasks);
  const equal = Object.fromEntries(leaves.map((leaf) => [leaf, 1 / leaves.length]));
  const { solveLimit, modelLoad, ...rest } = policy;
  return {
    ...rest,
    solveLimitMs: solveLimit,
    modelLoadMs: modelLoad ?? measured ?? 0,
    ...(modelLoad === undefined && measured !== null ? { startFrom: "profiles" } : {}),
    accuracyOf: pathAccuracy(policy.accuracyOf),
    leafWeights: policy.leafWeights ?? equal,
  };
}

function pathAccuracy(accuracyOf: LokiSpec["accuracyOf"]): PathAccuracy {
  if (typeof accuracyOf === "object") return { kind: "table", accuracyByPath: accuracyOf.table };
  return accuracyOf === "product"
    ? { kind: "product" }
    : { kind: "expression", expression: accuracyOf };
}
