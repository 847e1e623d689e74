/** Requests of a simulation, drawn or recorded. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { type ArrivalProcess, initialQps } from "../arrivals.ts";
import { drawRequests } from "./drawn-requests.ts";
import type { FanoutMode } from "./fanout-source.ts";
import type { RequestTrace } from "./visits.ts";

/** A process that draws requests, or recorded requests. */
export type RequestArrivals =
  | ArrivalProcess
  | { readonly kind: "requests"; readonly trace: RequestTrace };

/** Returns the requests of a process before the end of a duration; or the recorded ones. */
export function requestsOf(
  graph: TaskGraph,
  arrivals: RequestArrivals,
  durationMs: number,
  seed: number,
  fanout?: FanoutMode,
): RequestTrace {
  if (arrivals.kind === "requests") return arrivals.trace;
  return drawRequests(graph, arrivals, durationMs, seed, fanout);
}

/** Rate at time 0; NaN for recorded requests. */
export function initialQpsOf(arrivals: RequestArrivals): number {
  return arrivals.kind === "requests" ? Number.NaN : initialQps(arrivals);
}
