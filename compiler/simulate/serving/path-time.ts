/** What the way through the server takes of a request, beside the models. */
import type { ServingPath } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { SpreadDraws } from "./spread-draws.ts";

/** Requests that are drawn: enough for a 99th percentile to a few hundredths. */
const REQUESTS = 20_000;
const SEED = 1;
/** Of its time, what the server's process is taken to work at most: no margin helps far beyond. */
const MOST_UTILISED = 0.7;

type Path = Omit<ServingPath, "marginMs">;

/**
 * Times of requests on their way: client and network, the server's process with its queue at a
 * load (0 for a request that is alone), and wake-ups of all that slept. Drawn, and the same for
 * the same path.
 * @param batches that a request is in, one after the other. @returns ms, ascending.
 */
export function pathTimes(path: Path, loadQps: number, batches: number): Float64Array {
  const rng = new Rng(SEED, 1);
  const drawsOf = (row: "requestMs" | "batchMs" | "answerMs" | "wakeMs" | "wireMs") =>
    new SpreadDraws(path[row], rng);
  const [wire, request, batch] = [drawsOf("wireMs"), drawsOf("requestMs"), drawsOf("batchMs")];
  const [answer, wake] = [drawsOf("answerMs"), drawsOf("wakeMs")];
  // Every request is a job as it comes, and one for each of its batches.
  const jobs = 1 + batches;
  const eachMs = path.requestMs.mean + path.answerMs.mean + batches * path.batchMs.mean;
  const qps = eachMs === 0 ? loadQps : Math.min(loadQps, (1000 * MOST_UTILISED) / eachMs);
  const gapMs = 1000 / (qps * jobs);
  let freeMs = 0;
  let nowMs = 0;
  /** A job of the server's process: how long it waits and runs (Lindley's recursion). */
  const passMs = (workMs: number): number => {
    const untilNext = -Math.log(1 - rng.nextFloat());
    if (gapMs === Number.POSITIVE_INFINITY) return wake.nextMs() + workMs;
    nowMs += gapMs * untilNext;
    const wakeMs = nowMs > freeMs ? wake.nextMs() : 0;
    freeMs = Math.max(nowMs, freeMs) + wakeMs + workMs;
    return freeMs - nowMs;
  };
  return Float64Array.from({ length: REQUESTS }, () => {
    let ms = wire.nextMs() + passMs(request.nextMs());
    for (let left = batches; left > 0; left--) {
      const answerMs = left === 1 ? answer.nextMs() : 0;
      ms += wake.nextMs() + passMs(batch.nextMs() + answerMs);
    }
    return ms;
  }).sort();
}

/** @param part in [0, 1]. */
export function pathQuantileMs(ascendingMs: Float64Array, part: number): number {
  const rank = Math.min(
    ascendingMs.length - 1,
    Math.max(0, Math.ceil(part * ascendingMs.length) - 1),
  );
  return ascendingMs[rank] ?? 0;
}
