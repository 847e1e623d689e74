/** Margins for the way through the server that are worth a try at a load. */
import {
  type ServingPath,
  type Slo,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { pathQuantileMs, pathTimes } from "./path-time.ts";

/** Margins that are tried, in times what the path takes, the smallest first. */
const RUNGS = [1, 1.5, 2, 3, 4.5];
/** Largest margin as a part of the shortest SLO: models need the rest. */
const MOST_PART = 0.8;
/** Margins are whole multiples of this, ms. */
const STEPS_PER_MS = 20;

export interface PathMargins {
  /** Time of the serving path at the SLO's percentile, ms. */
  readonly pathMs: number;
  /** Ascending; the first is the path's time. */
  readonly marginsMs: readonly number[];
}

/** @param loadQps 0 for requests that are alone. @param batches of a request. */
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
