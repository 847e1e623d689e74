/** What the access log of a server says of the requests of a run. */
import * as z from "zod";

/** Times of a request inside the server, ms. */
export interface ServedRequest {
  /** Milliseconds since 1970. */
  readonly arrivalEpochMs: number;
  readonly queueMs: number;
  readonly computeMs: number;
}

const lineSchema = z.object({
  time: z.string(),
  status: z.number(),
  queueMs: z.number(),
  computeMs: z.number(),
});

/** Those that were answered; other lines are passed over. */
export function servedRequests(log: string): ServedRequest[] {
  return log.split("\n").flatMap((line) => {
    const found = line === "" ? null : lineSchema.safeParse(parsed(line));
    if (found?.success !== true || found.data.status !== 200) return [];
    const { time, queueMs, computeMs } = found.data;
    return [{ arrivalEpochMs: Date.parse(time), queueMs, computeMs }];
  });
}

/** The last line of a log that is still written may be half a line. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
