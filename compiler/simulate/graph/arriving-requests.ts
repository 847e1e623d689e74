/** Gives the requests of a simulation, drawn or recorded. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";
import { type ArrivalProcess, initialQps } from "../arrivals.ts";
import { drawRequests } from "./drawn-requests.ts";
import type { FanoutMode } from "./fanout-source.ts";
import type { RequestTrace } from "./visits.ts";

/** A process whose requests are drawn, or requests as they are. */
export type RequestArrivals =
  | ArrivalProcess
  | { readonly kind: "requests"; readonly trace: RequestTrace };

/** The requests of a process that come before the end of a duration; or those that are given. */
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

/** Rate at time 0; NaN for requests as they are. */
export function initialQpsOf(arrivals: RequestArrivals): number {
  return arrivals.kind === "requests" ? Number.NaN : initialQps(arrivals);
}
