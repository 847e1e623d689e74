/** From an application to the frame of a RAMSIS bundle: everything its levels share, or why there is none. */
import { basename } from "node:path";
import {
  type ClassSpace,
  type DecisionSpace,
  GIVE_UP,
  type RamsisBundle,
  type RamsisOptions,
  type ServiceTimes,
  type Table,
} from "../../../runtime/bundle/schema.ts";
import { dominatedVariants } from "../../model/pareto.ts";
import { serviceTimesByBatch } from "../../model/service-time.ts";
import type { Application, RamsisPolicy } from "../../spec/application.ts";
import type { KeyPath } from "../../spec/document.ts";
import { conflict, invalid, type Mistake } from "../../spec/mistakes.ts";
import type { ModelFiles, RamsisFrame } from "../solver.ts";
import { dispersionOf } from "./arrival-counts.ts";

type Task = Application["tasks"][number];
type SpecVariant = Task["variants"][number];

export function ramsisFrame(application: Application, models: ModelFiles): RamsisFrame {
  const options = optionsOf(application);
  const task = onlyTask(application);
  const maxBatch = options.maxQueue + 1;
  const serviceTimes = serviceTimesOf(task.variants, maxBatch);
  const dominated = dominatedVariants(
    task.variants.map(({ accuracy }, index) => ({
      accuracy,
      serviceMs: curveOf(serviceTimes, options, index),
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
    arrivals: arrivalModelOf(application),
    cluster: application.cluster,
    tasks: [{ name: task.name, variants, serviceTimes }],
    policy: options,
    decisionSpace: decisionSpaceOf(application, options, variants, serviceTimes),
    ...classSpacesOf(application, options, variants, serviceTimes),
  };
}

/** What a policy has to know of the arrivals: of a trace, how bursty it is over the time that a query has. */
function arrivalModelOf({ arrivals, slo }: Application): RamsisBundle["arrivals"] {
  if (arrivals.process !== "trace") return arrivals;
  const { file, trace } = arrivals;
  const dispersion = trace.kind === "arrivals" ? dispersionOf(trace.arrivalMs, slo.latencyMs) : 1;
  return { process: "trace", file: basename(file), dispersion };
}

/** Beyond this a level takes minutes and gigabytes, for nothing: the paper's grid has 3,334. */
const MAX_STATES = 500_000;
/** Each has a row of its own where batches are variable; the paper's problem has 465,000. */
const MAX_CHOICES = 2_000_000;
/** Action tables hold 16-bit indices, the last two of which stand for something else. */
const MAX_ACTIONS = GIVE_UP - 1;

/** What the format allows and this version of the solver does not. */
export function* ramsisMistakes(application: Application): Generator<Mistake> {
  const { policy, cluster, tasks } = application;
  if (policy.method !== "ramsis") return;
  const unsupported = (path: KeyPath, found: string, allowed: string): Mistake => ({
    code: "INPUT_UNSUPPORTED",
    path,
    message: `this version cannot compile ${found} with ramsis yet; allowed: ${allowed}`,
  });
  if (policy.balancer === "pooled") yield* pooledMistakes(policy);
  yield* classMistakes(application, policy);
  if (policy.serviceTimes === "quantiles" && !tasks.every(hasQuantiles)) yield NO_QUANTILES;
  if (tasks.length !== 1) yield unsupported(["tasks"], `${tasks.length} tasks`, "one task");
  if (cluster.pools.length !== 1) {
    yield unsupported(["cluster", "pools"], `${cluster.pools.length} pools`, "one pool");
  }
  yield* sizeMistakes(policy, tasks[0]?.variants.length ?? 0);
}

/** What no machine should be asked for. */
function* sizeMistakes(policy: RamsisPolicy, variantCount: number): Generator<Mistake> {
  const { discretization, maxQueue, batching } = policy;
  const isFixed = discretization.kind === "fixed";
  const slackCount = isFixed ? discretization.steps + 1 : variantCount * maxQueue + 2;
  const states = maxQueue * slackCount;
  if (states > MAX_STATES) {
    const per = isFixed ? "(steps + 1)" : "(variants × maxQueue + 2)";
    const expected = `at most ${MAX_STATES} states, maxQueue × ${per}`;
    yield invalid(["policy"], expected, String(states));
  }
  const choices = (states * variantCount * maxQueue) / 2;
  if (batching === "variable" && choices > MAX_CHOICES) {
    const expected = `at most ${MAX_CHOICES} choices with variable batching, states × variants × maxQueue / 2`;
    yield invalid(["policy"], expected, String(choices));
  }
  const actions = variantCount * (maxQueue + 1);
  if (actions > MAX_ACTIONS) {
    const expected = `at most ${MAX_ACTIONS} actions, variants × (maxQueue + 1)`;
    yield invalid(["policy", "maxQueue"], expected, String(actions));
  }
}

function hasQuantiles({ variants }: Task): boolean {
  return variants.every(({ profile }) => profile.rows.every((row) => row.quantiles !== null));
}

const NO_QUANTILES = conflict(
  ["policy", "serviceTimes"],
  '"quantiles" needs p50, p95, p99 and mean of every variant, and a profile has one number per batch; allowed: "p95"',
);

/** What a pooled policy cannot be asked for: it is one of batches of any size, judged by its queries. */
function* pooledMistakes({ objective, discretization }: RamsisPolicy): Generator<Mistake> {
  if (objective !== "per-query") {
    const message = `a pooled policy has the objective "per-query", got "${objective}"; or choose another balancer`;
    yield conflict(["policy", "objective"], message);
  }
  if (discretization.kind !== "fixed") {
    const message = `a pooled policy has a grid of fixed steps, got "${discretization.kind}"; or choose another balancer`;
    yield conflict(["policy", "discretization"], message);
  }
}

/** Workers of their own for more classes than there are workers. */
function* classMistakes(
  { slo, cluster }: Application,
  { classes }: RamsisPolicy,
): Generator<Mistake> {
  const count = slo.classes?.length ?? 0;
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (classes !== "separate" || workers >= count) return;
  const message = `"separate" takes a worker for each of the ${count} classes, got ${workers}; allowed: "auto" or "shared"`;
  yield conflict(["policy", "classes"], message);
}

/** The options of an application without mistakes. */
function optionsOf({ policy, slo }: Application): RamsisOptions {
  if (policy.method !== "ramsis") throw new TypeError("the registry gives ramsis only its own");
  const { objective, discretization, maxQueue, balancer, serviceTimes, drop } = policy;
  // A pooled policy takes batches of any size, whatever is asked for.
  const batching = balancer === "pooled" ? "variable" : policy.batching;
  const options = { objective, discretization, batching, maxQueue, balancer, serviceTimes, drop };
  return slo.classes === undefined ? options : { ...options, classes: policy.classes ?? "auto" };
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

/** What decides which variant is faster: its service times, or all that is known of their distribution. */
function curveOf(
  { decisionMs, quantiles }: ServiceTimes,
  { serviceTimes }: RamsisOptions,
  variant: number,
): Float64Array {
  if (serviceTimes === "p95" || quantiles === null) return rowOf(decisionMs, variant);
  const tables = [quantiles.p50Ms, quantiles.p95Ms, quantiles.p99Ms, quantiles.meanMs];
  return Float64Array.from(tables.flatMap((table) => [...rowOf(table, variant)]));
}

function rowOf(table: Table, row: number): Float64Array {
  const width = table.shape[1] ?? 0;
  return Float64Array.from(table.data.subarray(row * width, (row + 1) * width));
}

/** The slack grid, and every batch of every variant worth choosing. */
function decisionSpaceOf(
  { slo, loads }: Application,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
): DecisionSpace {
  const slackMs = slackGrid(slo.latencyMs, options, variants, serviceTimes);
  const actions: number[] = [];
  variants.forEach((variant, index) => {
    if (variant.dominated) return;
    for (let batch = 1; batch <= options.maxQueue + 1; batch++) actions.push(index, batch);
  });
  return {
    maxQueue: options.balancer === "pooled" ? pooledQueue(loads, slo, options) : options.maxQueue,
    slackMs: { dtype: "float64", shape: [slackMs.length], data: slackMs },
    actions: { dtype: "uint16", shape: [actions.length / 2, 2], data: Uint16Array.from(actions) },
  };
}

/** The axes of tables of one class each, whose queue holds what its share of the load brings. */
function classSpacesOf(
  { slo: { classes, ...slo }, loads }: Application,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
): Pick<RamsisFrame, "classSpaces"> {
  if (classes === undefined) return {};
  const classSpaces = classes.map(({ latencyMs, share }): ClassSpace => {
    const slackMs = slackGrid(latencyMs, options, variants, serviceTimes);
    return {
      maxQueue: pooledQueue(loads, { ...slo, latencyMs }, options, share),
      slackMs: { dtype: "float64", shape: [slackMs.length], data: slackMs },
    };
  });
  return { classSpaces };
}

/**
 * T_j = j · SLO / steps (RAMSIS §4.2.2); or every service time that can be what is left of a deadline, between 0 and the SLO (§4.2.1), of
 * which only these make a difference to what is in time.
 */
function slackGrid(
  sloMs: number,
  { discretization, maxQueue }: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  { decisionMs }: ServiceTimes,
): Float64Array {
  if (discretization.kind === "fixed") {
    const { steps } = discretization;
    const slackMs = Float64Array.from({ length: steps + 1 }, (_, step) => (step * sloMs) / steps);
    slackMs[steps] = sloMs;
    return slackMs;
  }
  const times = variants.flatMap(({ dominated }, variant) =>
    dominated ? [] : [...rowOf(decisionMs, variant).subarray(0, maxQueue)],
  );
  const within = times.filter((ms) => ms > 0 && ms < sloMs);
  return Float64Array.from(new Set([0, ...within, sloMs])).sort();
}

/** What the highest load brings within the SLO and a fifth more: of a longer queue the last query is lost. */
function pooledQueue(
  loads: Application["loads"],
  { latencyMs, classes }: Application["slo"],
  { maxQueue }: RamsisOptions,
  share = 1,
): number {
  const highestQps = share * (loads.kind === "adaptive" ? loads.toQps : Math.max(...loads.qps));
  const meanMs = classes?.reduce((sum, one) => sum + one.share * one.latencyMs, 0) ?? latencyMs;
  const arrivals = Math.ceil((1.2 * highestQps * meanMs) / 1000);
  return Math.min(MAX_POOLED_QUEUE, Math.max(maxQueue, arrivals));
}

const MAX_POOLED_QUEUE = 4096;
