/** What the access log of a server says of the requests of a run. */
import * as z from "zod";

/** Times of a request inside the server, ms. */
export interface ServedRequest {
  /** Milliseconds since 1970. */
  readonly arrivalEpochMs: number;
  readonly queueMs: number;
  readonly computeMs: number;
  /** Those that it ran in, as far as their times are told. */
  readonly batches: readonly ServedBatch[];
}

export interface ServedBatch {
  readonly variant: string;
  readonly rows: number;
  /** From the moment it was handed to a worker until it was back. */
  readonly aroundWorkerMs: number;
}

const runFields = {
  variant: z.string(),
  batch: z.number().optional(),
  handedMs: z.number().optional(),
  doneMs: z.number().optional(),
};
const lineSchema = z.object({
  time: z.string(),
  status: z.number(),
  queueMs: z.number(),
  computeMs: z.number(),
  ...runFields,
  /** Of a request that ran in several batches, or in part of one. */
  runs: z.array(z.object({ ...runFields, places: z.unknown() })).optional(),
});
type Run = z.infer<z.ZodObject<typeof runFields>> & { readonly places?: unknown };

/** Those that were answered; other lines are passed over. */
export function servedRequests(log: string): ServedRequest[] {
  return log.split("\n").flatMap((line) => {
    const found = line === "" ? null : lineSchema.safeParse(parsed(line));
    if (found?.success !== true || found.data.status !== 200) return [];
    const { time, queueMs, computeMs, runs } = found.data;
    const batches = (runs ?? [found.data]).flatMap(batchOf);
    return [{ arrivalEpochMs: Date.parse(time), queueMs, computeMs, batches }];
  });
}

/** A run on several places is no batch of a profile. */
function batchOf({ variant, batch = 1, handedMs, doneMs, places }: Run): ServedBatch[] {
  if (handedMs === undefined || doneMs === undefined || places !== undefined) return [];
  return [{ variant, rows: batch, aroundWorkerMs: doneMs - handedMs }];
}

/** The last line of a log that is still written may be half a line. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
