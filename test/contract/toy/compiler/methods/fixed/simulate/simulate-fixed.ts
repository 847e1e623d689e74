/** One variant on a virtual clock: the driver of the core that serves. */
import type { FixedBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { FixedCluster } from "stratagem-runtime/internal/methods/fixed/core/fixed-cluster";
import { ArrivalFeed } from "../../../simulate/arrival-feed.ts";
import { type ArrivalProcess, arrivalSource } from "../../../simulate/arrivals.ts";
import { EventQueue } from "../../../simulate/event-queue.ts";
import { LatencySample } from "../../../simulate/latency-sample.ts";

export interface FixedSimulation {
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
}

/** The same bundle, batch and options give the same figures. */
export function simulateFixed(
  { cluster: { pools }, tasks, slo }: Pick<FixedBundle, "cluster" | "tasks" | "slo">,
  batch: number,
  { arrivals, durationMs, seed }: FixedSimulation,
) {
  const workers = pools[0]?.workers ?? 0;
  const batchMs = tasks[0]?.variants[0]?.latencyMs.data ?? new Float64Array(0);
  const feed = new ArrivalFeed(arrivalSource(arrivals, new Rng(seed, 0)), durationMs);
  const cluster = new FixedCluster(batch);
  const ends = new EventQueue(workers);
  const running = new Map<number, readonly number[]>();
  const arrivedMs: number[] = [];
  const sample = new LatencySample();
  let late = 0;
  let batches = 0;
  for (let worker = 0; worker < workers; worker++) cluster.onFree(worker);
  for (;;) {
    const nowMs = Math.min(feed.nextMs, ends.nextMs);
    if (nowMs === Number.POSITIVE_INFINITY) break;
    if (feed.nextMs <= ends.nextMs) {
      cluster.onArrival(arrivedMs.push(nowMs) - 1);
      feed.advance();
    } else {
      const worker = ends.pop();
      for (const query of running.get(worker) ?? []) {
        const latencyMs = nowMs - (arrivedMs[query] ?? 0);
        sample.record(latencyMs);
        if (latencyMs > slo.latencyMs) late++;
      }
      cluster.onFree(worker);
    }
    for (let start = cluster.next(); start !== null; start = cluster.next()) {
      batches++;
      running.set(start.worker, start.queries);
      ends.push(nowMs + (batchMs[start.queries.length - 1] ?? 0), start.worker);
    }
  }
  const queries = arrivedMs.length;
  return {
    ...{ queries, late, satisfied: queries - late, dropped: 0 },
    violationRate: queries === 0 ? 0 : late / queries,
    meanBatch: queries / Math.max(1, batches),
    latencyMs: sample.summary(queries / Math.max(1, batches)),
  };
}
