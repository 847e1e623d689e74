/** Batch times that a server measured, from its `/v2/stratagem/times`. */
import * as z from "zod";
import { documentOf, type ServerText } from "./server-text.ts";

const ms = z.number().min(0);
const text = z.string().nullable().default(null);
const cell = z.object({
  task: text,
  variant: z.string(),
  pool: text,
  bucket: text,
  cores: text,
  /** Layers of a model that is cut, such as `0-5`. */
  stage: text,
  batch: z.number(),
  batches: z.number(),
  /** Null if there are no recent measurements. */
  ms: z.object({ p50: ms, p95: ms, p99: ms, mean: ms }).nullable(),
});
const schema = z.object({
  format: z.literal("stratagem-times/1"),
  atMs: z.number(),
  applications: z.array(
    z.object({ application: z.string(), busyWorkers: z.number().min(0), cells: z.array(cell) }),
  ),
});

type Cell = z.output<typeof cell>;

export type Quantiles = NonNullable<Cell["ms"]>;

/** Times of batches of one size of one variant, on one kind of worker. */
export interface ObservedTimes extends Omit<Cell, "batches"> {
  readonly application: string;
  readonly samples: number;
}

export interface ServerTimes {
  /** Time of the response by the server's clock, ms since 1970. */
  readonly atMs: number;
  /** Mean number of workers that were busy, of all applications. */
  readonly busyWorkers: number;
  readonly observed: readonly ObservedTimes[];
}

/** Path of the document on a server. */
export const TIMES_PATH = "/v2/stratagem/times";

/** @throws InputError for another document. */
export function serverTimes(from: ServerText): ServerTimes {
  const { atMs, applications } = documentOf(from, schema, TIMES_PATH);
  return {
    atMs,
    busyWorkers: applications.reduce((sum, { busyWorkers }) => sum + busyWorkers, 0),
    observed: applications.flatMap(({ application, cells }) =>
      cells.map(({ batches: samples, ...one }) => ({
        ...{ ...one, application, samples },
        // The mean is over all times and the quantiles over recent ones, so it may lie outside.
        ms: one.ms && { ...one.ms, mean: Math.min(one.ms.mean, one.ms.p99) },
      })),
    ),
  };
}

/**
 * Interpolates the contention curve of a profile at a mean number of busy workers.
 * @param contention service times with 1, 2, … workers busy, relative to one.
 * @param busyWorkers mean over time. @param workers total number.
 */
export function stretchAt(
  contention: readonly number[],
  busyWorkers: number,
  workers: number,
): number {
  // A computing worker contends with itself, and with each other worker while that one is busy.
  const others = workers <= 1 ? 0 : (busyWorkers * (workers - 1)) / workers;
  const at = Math.min(others, contention.length - 1);
  const low = Math.floor(at);
  const lower = contention[low] ?? 1;
  const upper = contention[low + 1] ?? lower;
  return lower + (at - low) * (upper - lower);
}
