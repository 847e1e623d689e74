/** Text about the serving path of a bundle. */
import type { Cluster, ServingPath, Spread } from "../bundle/schema.ts";
import { counted, short } from "./text.ts";

/**
 * Returns a text such as `serving path: 0.9 ms p50, 3.1 ms p99; 6 ms of the SLO kept for it; 3
 * workers on 2 processors take 1.6x`.
 */
export function servingPathText(cluster: Cluster): string {
  const words = servingPathWords(cluster);
  return words === null ? "latencies without serving path" : `serving path: ${words}`;
}

/** Describes the latency of the path and the time kept for it; null if not stated. */
export function servingPathWords({ serving, pools }: Cluster): string | null {
  if (serving === undefined) return null;
  const { p50, p99 } = pathSpread(serving);
  const { marginMs, stretch, processors } = serving;
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  const each = [
    `${short(p50)} ms p50, ${short(p99)} ms p99`,
    stretch === undefined ? "planned without it" : `${short(marginMs)} ms of the SLO kept for it`,
    ...(stretch === undefined
      ? []
      : [`${beside(workers, processors)} ${Number(stretch.toFixed(2))}x`]),
  ];
  return each.join("; ");
}

function beside(workers: number, processors: number): string {
  const take = workers === 1 ? "takes" : "take";
  return `${counted(workers, "worker")} on ${counted(processors, "processor")} ${take}`;
}

/**
 * Estimates the latency of a request in one batch, on a machine where all processes slept: the
 * parts are assumed to be independent, so their excess over the medians adds up in squares.
 */
function pathSpread(path: ServingPath): Pick<Spread, "p50" | "p99"> {
  const { wireMs, requestMs, batchMs, answerMs, wakeMs } = path;
  const parts = [wireMs, requestMs, batchMs, answerMs, wakeMs, wakeMs];
  const p50 = parts.reduce((sum, part) => sum + part.p50, 0);
  const squares = parts.reduce((sum, part) => sum + square(part.p99 - part.p50), 0);
  return { p50, p99: p50 + Math.sqrt(squares) };
}

function square(value: number): number {
  return value * value;
}
