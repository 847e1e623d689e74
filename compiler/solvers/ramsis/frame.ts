/** From an application to the frame of a RAMSIS bundle: everything its levels share, or why there is none. */
import {
  type Bundle,
  type DecisionSpace,
  NO_ACTION,
  type RamsisOptions,
  type ServiceTimes,
  type Table,
} from "../../../runtime/bundle/schema.ts";
import { dominatedVariants } from "../../model/pareto.ts";
import { serviceTimesByBatch } from "../../model/service-time.ts";
import type { Application, RamsisPolicy } from "../../spec/application.ts";
import type { KeyPath } from "../../spec/document.ts";
import { invalid, type Mistake } from "../../spec/mistakes.ts";
import type { BundleFrame, ModelFiles } from "../solver.ts";

type Task = Application["tasks"][number];
type SpecVariant = Task["variants"][number];

export function ramsisFrame(application: Application, models: ModelFiles): BundleFrame {
  const options = optionsOf(application);
  const task = onlyTask(application);
  const maxBatch = options.maxQueue + 1;
  const serviceTimes = serviceTimesOf(task.variants, maxBatch);
  const dominated = dominatedVariants(
    task.variants.map(({ accuracy }, index) => ({
      accuracy,
      serviceMs: rowOf(serviceTimes.decisionMs, index),
    })),
  );
  const variants = task.variants.map((variant, index) => ({
    name: variant.name,
    accuracy: variant.accuracy,
    dominated: dominated[index] ?? false,
    model: variant.model === null ? null : (models.get(variant.model) ?? null),
    profile: {
      file: variant.profile.file,
      variant: variant.profile.variant,
      hardware: variant.profile.hardware,
      sha256: variant.profile.sha256,
    },
  }));
  return {
    application: application.name,
    method: "ramsis",
    slo: application.slo,
    arrivals: { process: "poisson" },
    cluster: application.cluster,
    tasks: [{ name: task.name, variants, serviceTimes }],
    policy: options,
    decisionSpace: decisionSpaceOf(application.slo.latencyMs, options, variants),
  };
}

/** Beyond this a level takes minutes and gigabytes, for nothing: the paper's grid has 3,334. */
const MAX_STATES = 500_000;
/** Action tables hold 16-bit indices, the last of which stands for no action. */
const MAX_ACTIONS = NO_ACTION - 1;

/** What the format allows and this version of the solver does not. */
export function* ramsisMistakes(application: Application): Generator<Mistake> {
  const { policy, arrivals, cluster, tasks } = application;
  if (policy.method !== "ramsis") return;
  const unsupported = (path: KeyPath, found: string, allowed: string): Mistake => ({
    code: "INPUT_UNSUPPORTED",
    path,
    message: `this version cannot compile ${found} with ramsis yet; allowed: ${allowed}`,
  });
  const only = (key: keyof RamsisPolicy & string, allowed: string): Mistake[] =>
    policy[key] === allowed ? [] : [unsupported(["policy", key], `"${policy[key]}"`, allowed)];
  yield* only("batching", "maximal");
  yield* only("balancer", "round-robin");
  yield* only("serviceTimes", "p95");
  if (arrivals.process !== "poisson") {
    yield unsupported(["workload", "arrivals", "process"], `"${arrivals.process}"`, "poisson");
  }
  if (tasks.length !== 1) yield unsupported(["tasks"], `${tasks.length} tasks`, "one task");
  if (cluster.pools.length !== 1) {
    yield unsupported(["cluster", "pools"], `${cluster.pools.length} pools`, "one pool");
  }
  if (policy.discretization.kind !== "fixed") {
    yield unsupported(["policy", "discretization"], `"${policy.discretization.kind}"`, "fixed");
    return;
  }
  const states = policy.maxQueue * (policy.discretization.steps + 1);
  if (states > MAX_STATES) {
    const expected = `at most ${MAX_STATES} states, maxQueue × (steps + 1)`;
    yield invalid(["policy"], expected, String(states));
  }
  const actions = (tasks[0]?.variants.length ?? 0) * (policy.maxQueue + 1);
  if (actions > MAX_ACTIONS) {
    const expected = `at most ${MAX_ACTIONS} actions, variants × (maxQueue + 1)`;
    yield invalid(["policy", "maxQueue"], expected, String(actions));
  }
}

/** The options of an application without mistakes. */
function optionsOf({ policy }: Application): RamsisOptions {
  if (policy.method !== "ramsis") throw new TypeError("the registry gives ramsis only its own");
  const { objective, discretization, batching, maxQueue, balancer, serviceTimes, drop } = policy;
  return { objective, discretization, batching, maxQueue, balancer, serviceTimes, drop };
}

function onlyTask({ tasks }: Application): Task {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("ramsisMistakes lets exactly one task through");
  return task;
}

function serviceTimesOf(variants: readonly SpecVariant[], maxBatch: number): ServiceTimes {
  const table = (msOf: (row: SpecVariant["profile"]["rows"][number]) => number): Table => {
    const data = new Float64Array(variants.length * maxBatch);
    variants.forEach(({ profile }, index) => {
      const rows = profile.rows.map((row) => ({ batch: row.batch, ms: msOf(row) }));
      data.set(serviceTimesByBatch(rows, maxBatch), index * maxBatch);
    });
    return { dtype: "float64", shape: [variants.length, maxBatch], data };
  };
  const hasQuantiles = variants.every(({ profile }) =>
    profile.rows.every((row) => row.quantiles !== null),
  );
  const percentiles = new Set(variants.map(({ profile }) => profile.percentile));
  const [percentile] = percentiles;
  return {
    percentile: hasQuantiles ? 95 : percentiles.size === 1 ? (percentile ?? null) : null,
    decisionMs: table((row) => row.latencyMs),
    quantiles: hasQuantiles
      ? {
          p50Ms: table((row) => row.quantiles?.p50 ?? 0),
          p95Ms: table((row) => row.quantiles?.p95 ?? 0),
          p99Ms: table((row) => row.quantiles?.p99 ?? 0),
          meanMs: table((row) => row.quantiles?.mean ?? 0),
        }
      : null,
  };
}

function rowOf(table: Table, row: number): Float64Array {
  const width = table.shape[1] ?? 0;
  return Float64Array.from(table.data.subarray(row * width, (row + 1) * width));
}

/** The slack grid T_j = j · SLO / steps (RAMSIS §4.2.2), and every batch of every variant worth choosing. */
function decisionSpaceOf(
  sloMs: number,
  options: RamsisOptions,
  variants: Bundle["tasks"][number]["variants"],
): DecisionSpace {
  const { discretization } = options;
  if (discretization.kind !== "fixed") throw new TypeError("ramsisMistakes lets no other through");
  const { steps } = discretization;
  const slackMs = Float64Array.from({ length: steps + 1 }, (_, step) => (step * sloMs) / steps);
  slackMs[steps] = sloMs;
  const actions: number[] = [];
  variants.forEach((variant, index) => {
    if (variant.dominated) return;
    for (let batch = 1; batch <= options.maxQueue + 1; batch++) actions.push(index, batch);
  });
  return {
    maxQueue: options.maxQueue,
    slackMs: { dtype: "float64", shape: [steps + 1], data: slackMs },
    actions: { dtype: "uint16", shape: [actions.length / 2, 2], data: Uint16Array.from(actions) },
  };
}
