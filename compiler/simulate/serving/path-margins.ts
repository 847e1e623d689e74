/** Candidate margins for the serving path at a load. */
import {
  type ServingPath,
  type Slo,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { SpreadDraws } from "./spread-draws.ts";

/** Candidate margins in ascending order, as multiples of the path's time. */
const RUNGS = [1, 1.5, 2, 3, 4.5];
/** Largest margin as a fraction of the shortest SLO: models need the rest. */
const MOST_PART = 0.8;
/** Margins are multiples of 1 / STEPS_PER_MS, ms. */
const STEPS_PER_MS = 20;

export interface PathMargins {
  /** Time of the serving path at the SLO's percentile, ms. */
  readonly pathMs: number;
  /** Ascending; the first is the path's time. */
  readonly marginsMs: readonly number[];
}

/**
 * @param loadQps 0 for a single request.
 * @param batches of a request.
 */
export function pathMargins(
  serving: Omit<ServingPath, "marginMs">,
  slo: Slo,
  loadQps: number,
  batches: number,
): PathMargins {
  const pathMs = pathQuantileMs(pathTimes(serving, loadQps, batches), 1 - violationCeiling(slo));
  const mostMs = MOST_PART * shortestSloMs(slo);
  const rungs = RUNGS.map((times) => Math.ceil(times * pathMs * STEPS_PER_MS) / STEPS_PER_MS);
  const marginsMs = [...new Set(rungs)].filter((ms, at) => at === 0 || ms <= mostMs);
  return { pathMs, marginsMs };
}

export function shortestSloMs(slo: Pick<Slo, "latencyMs" | "classes">): number {
  return Math.min(slo.latencyMs, ...(slo.classes ?? []).map(({ latencyMs }) => latencyMs));
}

/** Requests to draw: enough for a 99th percentile to a few hundredths. */
const REQUESTS = 20_000;
const SEED = 1;
/** Maximum assumed utilisation of the server's process: no margin helps far beyond. */
const MOST_UTILISED = 0.7;

type Path = Omit<ServingPath, "marginMs">;

/**
 * Times of requests on the serving path: client and network, the server's process with its queue at
 * a load (0 for a single request), and wake-ups of sleeping processes. Drawn at random, and the
 * same for the same path.
 * @param batches that a request takes part in, one after the other.
 * @returns ms, ascending.
 */
function pathTimes(path: Path, loadQps: number, batches: number): Float64Array {
  const rng = new Rng(SEED, 1);
  const drawsOf = (row: "requestMs" | "batchMs" | "answerMs" | "wakeMs" | "wireMs") =>
    new SpreadDraws(path[row], rng);
  const [wire, request, batch] = [drawsOf("wireMs"), drawsOf("requestMs"), drawsOf("batchMs")];
  const [answer, wake] = [drawsOf("answerMs"), drawsOf("wakeMs")];
  // Every request is one job on arrival, and one per batch.
  const jobs = 1 + batches;
  const eachMs = path.requestMs.mean + path.answerMs.mean + batches * path.batchMs.mean;
  const qps = eachMs === 0 ? loadQps : Math.min(loadQps, (1000 * MOST_UTILISED) / eachMs);
  const gapMs = 1000 / (qps * jobs);
  let freeMs = 0;
  let nowMs = 0;
  /** Returns how long a job of the server's process waits and runs (Lindley's recursion). */
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
function pathQuantileMs(ascendingMs: Float64Array, part: number): number {
  const rank = Math.min(
    ascendingMs.length - 1,
    Math.max(0, Math.ceil(part * ascendingMs.length) - 1),
  );
  return ascendingMs[rank] ?? 0;
}
