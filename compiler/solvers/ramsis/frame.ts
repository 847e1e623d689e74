/** From an application to the frame of a RAMSIS bundle: everything its levels share. */
import type {
  Bundle,
  DecisionSpace,
  RamsisOptions,
  ServiceTimes,
  Table,
} from "../../../runtime/bundle/schema.ts";
import { dominatedVariants } from "../../model/pareto.ts";
import { serviceTimesByBatch } from "../../model/service-time.ts";
import type { Application } from "../../spec/application.ts";
import { InputError } from "../../spec/input-error.ts";
import type { BundleFrame, ModelFiles } from "../solver.ts";

type Task = Application["tasks"][number];
type SpecVariant = Task["variants"][number];

export function ramsisFrame(application: Application, models: ModelFiles): BundleFrame {
  const options = supportedOptions(application);
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

/** @throws InputError for an option of the format that this version does not compile. */
function supportedOptions(application: Application): RamsisOptions {
  const { policy, arrivals, cluster, tasks } = application;
  if (policy.method !== "ramsis") throw new TypeError(`not a RAMSIS application: ${policy.method}`);
  const refuse = (path: string, found: string, allowed: string): never => {
    throw new InputError(
      "INPUT_UNSUPPORTED",
      `${application.file} ${path}: this version cannot compile ${found} yet; allowed: ${allowed}`,
    );
  };
  const { objective, discretization, batching, maxQueue, balancer, serviceTimes } = policy;
  if (arrivals.process !== "poisson") {
    return refuse("workload.arrivals.process", `"${arrivals.process}"`, "poisson");
  }
  if (discretization.kind !== "fixed") {
    return refuse("policy.discretization.kind", `"${discretization.kind}"`, "fixed");
  }
  if (batching !== "maximal") return refuse("policy.batching", `"${batching}"`, "maximal");
  if (balancer !== "round-robin") return refuse("policy.balancer", `"${balancer}"`, "round-robin");
  if (serviceTimes !== "p95") return refuse("policy.serviceTimes", `"${serviceTimes}"`, "p95");
  if (tasks.length !== 1) return refuse("tasks", `${tasks.length} tasks with ramsis`, "one task");
  if (cluster.pools.length !== 1) {
    return refuse("cluster.pools", `${cluster.pools.length} pools with ramsis`, "one pool");
  }
  const states = maxQueue * (discretization.steps + 1);
  if (states > MAX_STATES) {
    const found = `policy: ${maxQueue} queued × ${discretization.steps} slack steps is ${states} states`;
    throw new InputError("INPUT_INVALID_VALUE", `${application.file} ${found}; allowed: at most ${MAX_STATES}`);
  }
  return {
    objective,
    discretization: { kind: "fixed", steps: discretization.steps },
    batching,
    maxQueue,
    balancer,
    serviceTimes,
  };
}

function onlyTask(application: Application): Task {
  const [task] = application.tasks;
  if (task === undefined) throw new RangeError("supportedOptions lets exactly one task through");
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
  const { steps } = options.discretization;
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
