/** Lines of a server's access log, as far as they tell where the time of a request went. */
import * as z from "zod";

/** Of an answered request, in ms. */
export interface AccessTimes {
  readonly id: string;
  /** From taking it up until its answer was written. */
  readonly totalMs: number;
  /** Until its first batch was chosen. */
  readonly queueMs: number;
  /** From handing that over until its last result was there. */
  readonly computeMs: number;
  /** Rows of its last batch; 1 where it is not told. */
  readonly batch: number;
  /** Of the answer's body. */
  readonly responseBytes: number;
  /** Which variant answered; of a pipeline the last. */
  readonly variant: string;
}

const lineSchema = z.object({
  requestId: z.string(),
  status: z.literal(200),
  totalMs: z.number(),
  queueMs: z.number(),
  computeMs: z.number(),
  batch: z.number().default(1),
  responseBytes: z.number(),
  variant: z.string().default(""),
});

/** Those of requests that were answered by a model; a last line that is not whole is left out. */
export function accessTimes(text: string): AccessTimes[] {
  return text.split("\n").flatMap((line) => {
    const parsed = lineSchema.safeParse(jsonOf(line));
    if (!parsed.success) return [];
    const { requestId: id, totalMs, queueMs, computeMs, batch, responseBytes } = parsed.data;
    const { variant } = parsed.data;
    return [{ id, totalMs, queueMs, computeMs, batch, responseBytes, variant }];
  });
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
