/** Draws the requests of a process and the tasks they visit. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { ArrivalFeed } from "../arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../arrivals.ts";
import type { FanoutMode } from "./fanout-source.ts";
import { type RequestTrace, tossWays } from "./visits.ts";

/** Random stream of arrivals; visits have their own streams, so that neither changes the other. */
const ARRIVAL_STREAM = 1;
const FIRST_CAPACITY = 2 ** 12;

/** Draws the requests of a process before the end of a duration, and the tasks they visit. */
export function drawRequests(
  graph: TaskGraph,
  arrivals: ArrivalProcess,
  durationMs: number,
  seed: number,
  fanout: FanoutMode = "rounded",
): RequestTrace {
  const arrivalMs = drawArrivals(arrivals, durationMs, seed);
  return { arrivalMs, ...tossWays(graph, arrivalMs.length, seed, fanout) };
}

/** Draws only their times. */
export function drawArrivals(
  arrivals: ArrivalProcess,
  durationMs: number,
  seed: number,
): Float64Array {
  const source = arrivalSource(arrivals, new Rng(seed, ARRIVAL_STREAM));
  const feed = new ArrivalFeed(source, durationMs);
  let arrivalMs = new Float64Array(FIRST_CAPACITY);
  let count = 0;
  for (; feed.nextMs < Number.POSITIVE_INFINITY; feed.advance()) {
    if (count === arrivalMs.length) {
      const grown = new Float64Array(2 * count);
      grown.set(arrivalMs);
      arrivalMs = grown;
    }
    arrivalMs[count++] = feed.nextMs;
  }
  return arrivalMs.slice(0, count);
}
