/**
 * From an application to the frame of a RAMSIS bundle: everything its levels share, or why there is
 * no frame.
 */
import type {
  ClassSpace,
  DecisionSpace,
  RamsisBundle,
  RamsisOptions,
  ServiceTimes,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import { arrivalModelOf } from "../../../model/arrival-model.ts";
import { bucketsOf } from "../../../model/buckets.ts";
import { bundledCluster } from "../../../model/bundled-cluster.ts";
import type { RamsisFrame } from "../../../model/frames.ts";
import { type ModelFiles, modelOf } from "../../../model/model-files.ts";
import { withState } from "../../../model/model-state.ts";
import { dominatedVariants } from "../../../model/pareto.ts";
import { sloLess } from "../../../model/planned-times.ts";
import { serviceTimesByBatch } from "../../../model/service-time.ts";
import { highestLoad } from "../../../model/solve-size.ts";
import { rivalCounts } from "../../../numeric/rivals.ts";
import type { Application, RamsisPolicy } from "../../../spec/application.ts";
import { dispersionOf } from "./arrival-counts.ts";
import { largestBatch } from "./largest-batch.ts";
import { queueRows, rowFrom } from "./pooled/queue-rows.ts";

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
  const buckets = bucketsOf(task);
  const { stretch = 1, marginMs = 0 } = application.cluster.serving ?? {};
  const timesOf = (rowsOf: RowsOf) => serviceTimesOf(task.variants, maxBatch, rowsOf, stretch);
  // Decisions may spend the SLO less the margin for the serving path.
  const decided = { ...application, slo: sloLess(application.slo, marginMs) };
  const bucketTimes = buckets?.map((_, bucket) => {
    return timesOf(({ profile }) => profile.buckets?.[bucket]?.rows ?? []);
  });
  const serviceTimes = bucketTimes?.at(-1) ?? timesOf(({ profile }) => profile.rows);
  const dominated = dominatedVariants(
    task.variants.map(({ accuracy }, index) => ({
      accuracy,
      serviceMs: Float64Array.from(
        (bucketTimes ?? [serviceTimes]).flatMap((times) => [...curveOf(times, options, index)]),
      ),
    })),
  );
  const variants = task.variants.map((variant, index) => ({
    name: variant.name,
    accuracy: variant.accuracy,
    dominated: dominated[index] ?? false,
    model: withState(modelOf(models, variant), variant),
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
    arrivals: arrivalModelOf(application, recordedDispersion(application)),
    cluster: bundledCluster(application),
    tasks: [{ name: task.name, variants, serviceTimes }],
    policy: options,
    decisionSpace: decisionSpaceOf(decided, options, variants, serviceTimes, largestByVariant),
    ...classSpacesOf(decided, options, variants, serviceTimes),
    ...(buckets !== null && {
      buckets: buckets.map(({ name, share }, index) => {
        const times = bucketTimes?.[index] ?? serviceTimes;
        // Each queue is sized for the whole load: actual shares may differ from the stated ones.
        const axes = axesOf(decided, options, variants, times);
        return { name, share, serviceTimes: times, ...axes };
      }),
    }),
  };
}

/** Dispersion of recorded arrivals over the time that a query has. */
function recordedDispersion({ arrivals, slo }: RamsisApplication): number {
  if (arrivals.process !== "trace" || arrivals.trace.kind === "rates") return 1;
  return dispersionOf(arrivals.trace.arrivalMs, slo.latencyMs);
}

/**
 * The options of an application without mistakes.
 * @param largest batch of any variant, which no queue needs to exceed.
 */
function optionsOf({ policy, slo, tasks }: RamsisApplication, largest: number): RamsisOptions {
  const { objective, discretization, balancer, drop, lateWithinSlos, latencyPrice } = policy;
  const isDrawn = balancer === "pooled" && tasks.every(hasQuantiles);
  const serviceTimes = policy.serviceTimes ?? (isDrawn ? "quantiles" : "p95");
  const maxQueue = Math.min(policy.maxQueue, largest);
  // A pooled policy always uses batches of any size.
  const batching = balancer === "pooled" ? "variable" : policy.batching;
  const options = {
    ...{ objective, discretization, batching, maxQueue, balancer, serviceTimes, drop },
    ...(latencyPrice !== undefined && { latencyPrice }),
    ...(!drop && lateWithinSlos !== null && { lateMs: (lateWithinSlos - 1) * slo.latencyMs }),
  };
  return slo.classes === undefined ? options : { ...options, classes: policy.classes ?? "auto" };
}

/** Returns whether profiles have the distribution of batch times, for every bucket. */
export function hasQuantiles({ variants }: Task): boolean {
  return variants.every(({ profile: { rows, buckets = [] } }) =>
    [...rows, ...buckets.flatMap((bucket) => bucket.rows)].every((row) => row.quantiles !== null),
  );
}

function onlyTask({ tasks }: RamsisApplication): Task {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("ramsisMistakes allows exactly one task");
  return task;
}

type RowsOf = (variant: SpecVariant) => SpecVariant["profile"]["rows"];

/** @param stretch of decision times; quantiles are as measured. */
function serviceTimesOf(
  variants: readonly SpecVariant[],
  maxBatch: number,
  rowsOf: RowsOf,
  stretch: number,
): ServiceTimes {
  const table = (msOf: (row: SpecVariant["profile"]["rows"][number]) => number): Table => {
    const data = new Float64Array(variants.length * maxBatch);
    variants.forEach((variant, index) => {
      const rows = rowsOf(variant).map((row) => ({ batch: row.batch, ms: msOf(row) }));
      data.set(serviceTimesByBatch(rows, maxBatch), index * maxBatch);
    });
    return { dtype: "float64", shape: [variants.length, maxBatch], data };
  };
  const hasQuantiles = variants.every((variant) =>
    rowsOf(variant).every((row) => row.quantiles !== null),
  );
  const percentiles = new Set(variants.map(({ profile }) => profile.percentile));
  const [percentile] = percentiles;
  return {
    percentile: hasQuantiles ? 95 : percentiles.size === 1 ? (percentile ?? null) : null,
    decisionMs: table((row) => stretch * row.latencyMs),
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

/** Times that decide which variant is faster: its service times, or all known quantiles of them. */
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

/** Axes of tables of one class each, whose queue is sized for its share of the load. */
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

/**
 * Queue lengths and slacks.
 * @param share of the load that reaches the queue.
 */
function axesOf(
  { slo, loads, cluster }: Pick<RamsisApplication, "slo" | "loads" | "cluster">,
  options: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  serviceTimes: ServiceTimes,
  share = 1,
): ClassSpace {
  const isPooled = options.balancer === "pooled";
  const maxBatch = options.maxQueue;
  const steps = slackGrid(slo.latencyMs, options, variants, serviceTimes);
  const slackMs = isPooled
    ? withServiceTimes(steps, slo.latencyMs, options, variants, serviceTimes)
    : steps;
  const most = pooledQueue(throughputQps(cluster, options, variants, serviceTimes), slo, options);
  const rows = queueRows(1 + rowedQueue(share * highestLoad(loads).qps, slo, options), maxBatch);
  return {
    maxQueue: isPooled ? most : options.maxQueue,
    ...(isPooled ? { queued: rowsUpTo(most + 1, rows) } : {}),
    slackMs: { dtype: "float64", shape: [slackMs.length], data: slackMs },
  };
}

/**
 * T_j = j · SLO / steps (RAMSIS §4.2.2); or every difference of a deadline and service times
 * between 0 and the SLO (§4.2.1), since only these change what is in time.
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

/** Maximum service times in a grid, in addition to its steps. */
const MOST_SERVICE_TIMES = 128;

/**
 * The steps, and the service times of the most valuable batches: a table rounds slack down, so
 * without them a batch that takes nearly the SLO could not be started for a query that has just
 * arrived.
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
  // Rivals are no less accurate and take less time per query: the fewer there are, the more
  // valuable is a batch.
  const rivals = rivalCounts(
    Float64Array.from(within, ({ cost }) => cost),
    Float64Array.from(within, ({ accuracy }) => accuracy),
  );
  const best = [...within.keys()].sort((a, b) => (rivals[a] ?? 0) - (rivals[b] ?? 0));
  const times = best.slice(0, MOST_SERVICE_TIMES).map((index) => within[index]?.ms ?? sloMs);
  return Float64Array.from(new Set([...steps, ...times])).sort();
}

/** Returns the highest rate that the workers serve with any variant and batch. */
function throughputQps(
  { pools }: RamsisApplication["cluster"],
  { maxQueue }: RamsisOptions,
  variants: RamsisBundle["tasks"][number]["variants"],
  { decisionMs }: ServiceTimes,
): number {
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  const perMs = variants.flatMap((_, variant) =>
    Array.from(rowOf(decisionMs, variant).subarray(0, maxQueue), (ms, index) => (index + 1) / ms),
  );
  return 1000 * workers * Math.max(...perMs);
}

/**
 * The queue holds the arrivals of a load within the SLO, and a fifth more; a longer queue loses its
 * last query.
 */
function pooledQueue(
  loadQps: number,
  { latencyMs, classes }: QueueSlo,
  { maxQueue }: Pick<RamsisOptions, "maxQueue">,
): number {
  const meanMs = classes?.reduce((sum, one) => sum + one.share * one.latencyMs, 0) ?? latencyMs;
  const arrivals = Math.ceil((1.2 * loadQps * meanMs) / 1000);
  return Math.min(MAX_POOLED_QUEUE, Math.max(maxQueue, arrivals));
}

type QueueSlo = Pick<RamsisApplication["slo"], "latencyMs" | "classes">;

/** The same, rounded up to a length that has a row in the tables of all loads. */
export function rowedQueue(
  loadQps: number,
  slo: QueueSlo,
  options: Pick<RamsisOptions, "maxQueue">,
): number {
  return rowFrom(1 + pooledQueue(loadQps, slo, options), options.maxQueue) - 1;
}

/** Rows up to a capacity, which is the last one. */
function rowsUpTo(capacity: number, rows: Uint32Array): Table {
  const data = Float64Array.from([...rows.filter((row) => row < capacity), capacity]);
  return { dtype: "float64", shape: [data.length], data };
}

const MAX_POOLED_QUEUE = 2 ** 20 - 1;
