/** Small bundles whose requests are padded to buckets, in memory. */
import {
  GIVE_UP,
  type ModelFile,
  NO_ACTION,
  type RamsisBundle,
  type ServiceTimes,
  type Table,
} from "../../runtime/bundle/schema.ts";
import type { Decision } from "./class-bundle.ts";
import { type TinyBundleOptions, tinyBundle } from "./tiny-bundle.ts";

export interface BucketBundleOptions
  extends Pick<TinyBundleOptions, "workers" | "maxQueue" | "loadsQps" | "sloMs"> {
  readonly drop?: boolean;
  /** Decides a cell of the table of a bucket; by default all that wait, on the small variant. */
  readonly decide?: (cell: BucketCell) => Decision;
}

interface BucketCell {
  readonly bucket: number;
  readonly queued: number;
  readonly slackMs: number;
  readonly column: number;
}

const STEPS = 10;
const SIZES = [4, 8];

/** An input of open width, 4 or 8 and filled with 0.5, and its sum. */
export const SUM_MODEL: ModelFile = {
  file: "sum.onnx",
  sha256: "0".repeat(64),
  inputs: [{ name: "x", dtype: "float32", shape: [-1, -1] }],
  outputs: [{ name: "y", dtype: "float32", shape: [-1, 1] }],
  buckets: [{ inputs: [{ input: 0, axis: 1 }], sizes: SIZES, padding: 0.5 }],
};

/**
 * A valid bundle with the buckets 4 and 8, of two thirds and one third of the load, on one worker:
 * variants small (10 + 5 b ms) and large (20 + 20 b ms), half of that in bucket 4.
 */
export function bucketBundle(options: BucketBundleOptions = {}): RamsisBundle {
  const { workers = 1, maxQueue = 3, loadsQps = [1000], sloMs = 100, drop = false } = options;
  const { decide = ({ queued }) => ({ variant: 0, batch: queued }) } = options;
  const tiny = tinyBundle({ workers, maxQueue, sloMs, slackSteps: STEPS, loadsQps });
  const tableOf = (bucket: number): Table => {
    const data = Uint16Array.from({ length: (maxQueue + 1) * (STEPS + 1) }, (_, cell) => {
      const queued = 1 + Math.floor(cell / (STEPS + 1));
      const column = cell % (STEPS + 1);
      const decision = decide({ bucket, queued, column, slackMs: (sloMs * column) / STEPS });
      if (decision === "wait") return column === 0 ? 0 : NO_ACTION;
      if (decision === "give-up") return GIVE_UP;
      return decision.variant * (maxQueue + 1) + Math.min(decision.batch, queued) - 1;
    });
    return { dtype: "uint16", shape: [maxQueue + 1, STEPS + 1], data };
  };
  const tables = SIZES.map((_, bucket) => tableOf(bucket));
  const { actions: _, ...axes } = tiny.decisionSpace;
  const rates = { accuracyPerSatisfied: 0.7, accuracyPerQuery: 0.69, violationRate: 0.001 };
  return {
    ...tiny,
    policy: { ...tiny.policy, balancer: "pooled", batching: "variable", drop },
    tasks: tiny.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({ ...variant, model: SUM_MODEL })),
    })),
    buckets: SIZES.map((size, bucket) => {
      const times = tiny.tasks[0]?.serviceTimes as ServiceTimes;
      const isLast = bucket === SIZES.length - 1;
      const serviceTimes = isLast ? times : halved(times);
      return { name: String(size), share: isLast ? 1 / 3 : 2 / 3, serviceTimes, ...axes };
    }),
    levels: tiny.levels.map((level) => ({
      ...level,
      expected: { ...level.expected, byBucket: SIZES.map(() => rates) },
      actionByState: tables.at(-1) as Table,
      bucketTables: tables,
    })),
  };
}

function halved(times: ServiceTimes): ServiceTimes {
  const { decisionMs } = times;
  const data = Float64Array.from(decisionMs.data, (ms) => ms / 2);
  return { ...times, decisionMs: { dtype: "float64", shape: decisionMs.shape, data } };
}
