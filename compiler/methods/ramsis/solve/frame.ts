/**
 * From an application to the frame of a RAMSIS bundle: everything its levels share, or why there is
 * none.
 */
import { basename } from "node:path";
import {
  type ClassSpace,
  type DecisionSpace,
  GIVE_UP,
  type RamsisBundle,
  type RamsisOptions,
  type ServiceTimes,
  type Table,
} from "stratagem-runtime/internal/bundle/schema";
import type { RamsisFrame } from "../../../model/frames.ts";
import type { ModelFiles } from "../../../model/model-files.ts";
import { dominatedVariants } from "../../../model/pareto.ts";
import { serviceTimesByBatch } from "../../../model/service-time.ts";
import { about, highestLoad, requestMistakes } from "../../../model/solve-size.ts";
import { rivalCounts } from "../../../numeric/rivals.ts";
import type { Application, RamsisPolicy } from "../../../spec/application.ts";
import type { KeyPath } from "../../../spec/document.ts";
import { conflict, invalid, type Mistake } from "../../../spec/mistakes.ts";
import { dispersionOf } from "./arrival-counts.ts";
import { queueRows } from "./pooled/queue-rows.ts";
import { sampleQueries } from "./pooled/sample-size.ts";

type RamsisApplication = Application<RamsisPolicy>;
type Task = RamsisApplication["tasks"][number];
type SpecVariant = Task["variants"][number];

export function ramsisFrame(application: RamsisApplication, models: ModelFiles): RamsisFrame {
  const task = onlyTask(application);
  const largestByVariant = task.variants.map((variant) =>
    largestBatch(application, variant, models),
  );
  const options = optionsOf(application, Math.max(...largestByVariant));
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
    decisionSpace: decisionSpaceOf(application, options, variants, serviceTimes, largestByVariant),
    ...classSpacesOf(application, options, variants, serviceTimes),
  };
}

/**
 * What a policy has to know of the arrivals: of a trace, how bursty it is over the time that a
 * query has.
 */
function arrivalModelOf({ arrivals, slo }: RamsisApplication): RamsisBundle["arrivals"] {
  if (arrivals.process !== "trace") return arrivals;
  const { file, trace } = arrivals;
  const dispersion = trace.kind === "arrivals" ? dispersionOf(trace.arrivalMs, slo.latencyMs) : 1;
  return { process: "trace", file: basename(file), dispersion };
}

/** With more states a level takes minutes and gigabytes for nothing: the paper's grid has 3,334. */
const MAX_STATES = 500_000;
/** Each has a row of its own where batches are variable; the paper's problem has 465,000. */
const MAX_CHOICES = 2_000_000;
/** Action tables hold 16-bit indices, the last two of which stand for something else. */
const MAX_ACTIONS = GIVE_UP - 1;

/** Choices of batches of the largest size, which the same number of states makes longer rows. */
const MAX_MAXIMAL_CHOICES = 20_000_000;
/** Cells of the tables of all levels: a bundle is 64 MiB at most, and levels may have two. */
const MAX_CELLS = 2 ** 24;
/** Looks at a batch in a state; 4 × 10^7 of them take a second. */
const MAX_LOOKS = 2e11;

/** What the format allows and this version of the solver does not. */
export function* ramsisMistakes(application: RamsisApplication): Generator<Mistake> {
  const { policy, cluster, tasks } = application;
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
  const variants = tasks[0]?.variants ?? [];
  yield* sizeMistakes(policy, variants.length);
  yield* workMistakes(application, variants);
}

/** What all levels together would take, and the simulations of the highest load. */
function* workMistakes(
  application: RamsisApplication,
  variants: readonly SpecVariant[],
): Generator<Mistake> {
  const { policy, loads, slo, cluster } = application;
  const { discretization, balancer } = policy;
  const largest = Math.max(
    1,
    ...variants.map((variant) => largestBatch(application, variant, new Map())),
  );
  const maxQueue = Math.min(policy.maxQueue, largest);
  const steps = discretization.kind === "fixed" ? discretization.steps : variants.length * maxQueue;
  const levelCount = loads.kind === "list" ? loads.qps.length : 2;
  const tableCount = Math.max(1, slo.classes?.length ?? 0);
  const cells = levelCount * (maxQueue + 1) * (steps + 1) * tableCount;
  if (cells > MAX_CELLS) {
    const expected =
      `at most ${MAX_CELLS} states in all levels, loads × (maxQueue + 1) × (steps + 1)` +
      `${tableCount > 1 ? " × classes" : ""}`;
    yield invalid(["workload", "loads"], expected, `about ${about(cells)}`);
  }
  const looks = cells * variants.length * maxQueue;
  if (balancer === "pooled" && looks > MAX_LOOKS) {
    const expected = `at most ${MAX_LOOKS} looks at a batch, states × variants × maxQueue`;
    yield invalid(["policy", "maxQueue"], expected, `about ${about(looks)}`);
  }
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const { qps } = highestLoad(loads);
  const capacityQps = (1000 * workers) / shortestMsPerQuery(variants);
  const requests = sampleQueries({
    arrivalsPerMs: qps / 1000,
    sloMs: slo.latencyMs,
    workerCount: workers,
    isOverloaded: qps > capacityQps,
  });
  yield* requestMistakes(application, requests, "which are those of some SLOs");
}

/** Of a worker, per query of any batch that was measured. */
function shortestMsPerQuery(variants: readonly SpecVariant[]): number {
  const all = variants.flatMap(({ profile }) => profile.rows);
  return all.reduce((least, { batch, latencyMs }) => Math.min(least, latencyMs / batch), Infinity);
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
    const expected =
      `at most ${MAX_CHOICES} choices with variable batching, ` +
      "states × variants × maxQueue / 2";
    yield invalid(["policy"], expected, String(choices));
  }
  if (batching === "maximal" && states * variantCount > MAX_MAXIMAL_CHOICES) {
    const expected = `at most ${MAX_MAXIMAL_CHOICES} choices, states × variants`;
    yield invalid(["policy"], expected, String(states * variantCount));
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
  '"quantiles" needs p50, p95, p99 and mean of every variant, ' +
    'and a profile has one number per batch; allowed: "p95"',
);

/**
 * What a pooled policy cannot be asked for: it is one of batches of any size, judged by its
 * queries.
 */
function* pooledMistakes({ objective, discretization }: RamsisPolicy): Generator<Mistake> {
  if (objective !== "per-query") {
    const message =
      `a pooled policy has the objective "per-query", got "${objective}"; ` +
      "or choose another balancer";
    yield conflict(["policy", "objective"], message);
  }
  if (discretization.kind !== "fixed") {
    const message =
      `a pooled policy has a grid of fixed steps, got "${discretization.kind}"; ` +
      "or choose another balancer";
    yield conflict(["policy", "discretization"], message);
  }
}

/** Workers of their own for more classes than there are workers. */
function* classMistakes(
  { slo, cluster }: RamsisApplication,
  { classes }: RamsisPolicy,
): Generator<Mistake> {
  const count = slo.classes?.length ?? 0;
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  if (classes !== "separate" || workers >= count) return;
  const message =
    `"separate" takes a worker for each of the ${count} classes, got ${workers}; ` +
    `allowed: "auto" or "shared"`;
  yield conflict(["policy", "classes"], message);
}

/**
 * The largest batch of a variant: what `maxQueue` allows, its profile covers (unless it may be
 * extrapolated) and its model takes. The paper's own objective takes one query more, those of a
 * full queue.
 */
function largestBatch(
  { policy }: RamsisApplication,
  { profile, model }: SpecVariant,
  models: ModelFiles,
): number {
  const asked = policy.maxQueue + (isPapers(policy) ? 1 : 0);
  const profiled = profile.rows.at(-1)?.batch ?? 1;
  const inputs = (model === null ? null : models.get(model))?.inputs ?? [];
  const taken = inputs.map(({ shape }) => (typeof shape[0] === "number" ? shape[0] : asked));
  return Math.min(
    asked,
    policy.extrapolate ? asked : profiled,
    ...taken.filter((rows) => rows > 0),
  );
}

function isPapers({ objective, balancer }: Pick<RamsisPolicy, "objective" | "balancer">): boolean {
  return objective === "per-decision" && balancer !== "pooled";
}

/**
 * The options of an application without mistakes.
 * @param largest batch of any variant, which no queue needs to be longer than.
 */
function optionsOf({ policy, slo }: RamsisApplication, largest: number): RamsisOptions {
  const { objective, discretization, balancer, serviceTimes, drop } = policy;
  const maxQueue = Math.min(policy.maxQueue, largest);
  // A pooled policy takes batches of any size, whatever is asked for.
  const batching = balancer === "pooled" ? "variable" : policy.batching;
  const options = { objective, discretization, batching, maxQueue, balancer, serviceTimes, drop };
  return slo.classes === undefined ? options : { ...options, classes: policy.classes ?? "auto" };
}

function onlyTask({ tasks }: RamsisApplication): Task {
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

/**
 * What decides which variant is faster: its service times, or all that is known of their
 * distribution.
 */
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
  application: RamsisApplication,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
  largestByVariant: readonly number[],
): DecisionSpace {
  const actions: number[] = [];
  variants.forEach((variant, index) => {
    if (variant.dominated) return;
    const largest = largestByVariant[index] ?? 1;
    for (let batch = 1; batch <= largest; batch++) actions.push(index, batch);
  });
  return {
    ...axesOf(application, options, variants, serviceTimes),
    actions: { dtype: "uint16", shape: [actions.length / 2, 2], data: Uint16Array.from(actions) },
  };
}

/** The axes of tables of one class each, whose queue holds what its share of the load brings. */
function classSpacesOf(
  application: RamsisApplication,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
): Pick<RamsisFrame, "classSpaces"> {
  const { classes, ...slo } = application.slo;
  if (classes === undefined) return {};
  const classSpaces = classes.map(({ latencyMs, share }) =>
    axesOf({ ...application, slo: { ...slo, latencyMs } }, options, variants, serviceTimes, share),
  );
  return { classSpaces };
}

/** Queue lengths and slacks. @param share of the load that comes to the queue. */
function axesOf(
  { slo, loads }: Pick<RamsisApplication, "slo" | "loads">,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
  share = 1,
): ClassSpace {
  const isPooled = options.balancer === "pooled";
  const steps = slackGrid(slo.latencyMs, options, variants, serviceTimes);
  const slackMs = isPooled
    ? withServiceTimes(steps, slo.latencyMs, options, variants, serviceTimes)
    : steps;
  const maxQueue = isPooled ? pooledQueue(loads, slo, options, share) : options.maxQueue;
  const rows = queueRows(maxQueue + 1, options.maxQueue);
  return {
    maxQueue,
    ...(isPooled
      ? { queued: { dtype: "float64", shape: [rows.length], data: Float64Array.from(rows) } }
      : {}),
    slackMs: { dtype: "float64", shape: [slackMs.length], data: slackMs },
  };
}

/**
 * T_j = j · SLO / steps (RAMSIS §4.2.2); or every service time that can be what is left of a
 * deadline, between 0 and the SLO (§4.2.1), of which only these make a difference to what is in
 * time.
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

/** Service times that a grid has at most besides its steps. */
const MOST_SERVICE_TIMES = 128;

/**
 * The steps, and the service times of the batches that are worth most: a table rounds slack down,
 * so without them a batch that takes nearly the SLO could not be started for a query that has just
 * come.
 */
function withServiceTimes(
  steps: Float64Array,
  sloMs: number,
  { maxQueue }: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  { decisionMs }: ServiceTimes,
): Float64Array {
  const batches = variants.flatMap(({ dominated, accuracy }, variant) =>
    dominated
      ? []
      : Array.from(rowOf(decisionMs, variant).subarray(0, maxQueue), (ms, index) => {
          return { ms, cost: ms / (index + 1), accuracy };
        }),
  );
  const within = batches.filter(({ ms }) => ms > 0 && ms < sloMs);
  // Rivals are no less accurate and take less time per query: the fewer there are, the more a batch
  // is worth.
  const rivals = rivalCounts(
    Float64Array.from(within, ({ cost }) => cost),
    Float64Array.from(within, ({ accuracy }) => accuracy),
  );
  const best = [...within.keys()].sort((a, b) => (rivals[a] ?? 0) - (rivals[b] ?? 0));
  const times = best.slice(0, MOST_SERVICE_TIMES).map((index) => within[index]?.ms ?? sloMs);
  return Float64Array.from(new Set([...steps, ...times])).sort();
}

/**
 * The queue holds what the highest load brings within the SLO and a fifth more; a longer queue
 * loses its last query.
 */
function pooledQueue(
  loads: RamsisApplication["loads"],
  { latencyMs, classes }: RamsisApplication["slo"],
  { maxQueue }: RamsisOptions,
  share = 1,
): number {
  const highestQps = share * (loads.kind === "adaptive" ? loads.toQps : Math.max(...loads.qps));
  const meanMs = classes?.reduce((sum, one) => sum + one.share * one.latencyMs, 0) ?? latencyMs;
  const arrivals = Math.ceil((1.2 * highestQps * meanMs) / 1000);
  return Math.min(MAX_POOLED_QUEUE, Math.max(maxQueue, arrivals));
}

const MAX_POOLED_QUEUE = 2 ** 20 - 1;
