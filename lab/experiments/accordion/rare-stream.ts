/**
 * Streams of small queries among which there are rare large ones of high priority.
 *
 *  - Small: VGG16, 4 instances, 2.8 s on one place; half of them of high priority.
 *  - Large: ResNet152, 16 instances, 77 s on one place and 13.6 s on eight; ten of them in 30,000.
 *  - The SLO is 20 s: a small query has seven times what it needs on one place, a large one has to
 *    have six to eight places, and the last of them within a third of the SLO.
 *  - Arrivals are uniform and independent, a Poisson process of which it is known how many come, as
 *    many as the offered load has: the one-place time of all over what the places have.
 */
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import type { DrawnStream } from "./drawn-streams.ts";
import { PLACES, WHOLE_MS } from "./table-one.ts";

const SMALL = { model: 1, batch: 4, count: 30_000 };
export const LARGE = { model: 2, batch: 16, count: 10 };
const SLO_MS = 20_000;

/** Random streams of one seed. */
const ARRIVAL_STREAM = 1;
const PRIORITY_STREAM = 2;
const LARGE_STREAM = 3;

export interface RareStreamOptions {
  readonly load: number;
  readonly seed: number;
}

/** @param bundle of Table 1. */
export function rareStream(
  bundle: AccordionBundle,
  { load, seed }: RareStreamOptions,
): DrawnStream & { readonly durationMs: number } {
  const workMs = [SMALL, LARGE].map(({ model, batch, count }) => {
    return count * batch * (WHOLE_MS[model] ?? Number.NaN);
  });
  const durationMs = workMs.reduce((sum, ms) => sum + ms, 0) / (load * PLACES);
  const priorities = new Rng(seed, PRIORITY_STREAM);
  const small = timesOf(SMALL.count, durationMs, new Rng(seed, ARRIVAL_STREAM)).map((atMs) => ({
    ...{ atMs, ...SMALL, isHigh: priorities.nextFloat() < 0.5 },
  }));
  const large = timesOf(LARGE.count, durationMs, new Rng(seed, LARGE_STREAM)).map((atMs) => ({
    ...{ atMs, ...LARGE, isHigh: true },
  }));
  const all = [...small, ...large].sort((one, other) => one.atMs - other.atMs);
  const arrivalMs = Float64Array.from(all, ({ atMs }) => atMs);
  return {
    durationMs,
    bundle: { ...bundle, slo: { ...bundle.slo, latencyMs: SLO_MS } },
    queries: {
      arrivalMs,
      model: Uint16Array.from(all, ({ model }) => model),
      batch: Uint16Array.from(all, ({ batch }) => batch),
      isHigh: Uint8Array.from(all, ({ isHigh }) => (isHigh ? 1 : 0)),
      deadlineMs: arrivalMs.map((ms) => ms + SLO_MS),
    },
  };
}

function timesOf(count: number, durationMs: number, rng: Rng): number[] {
  return Array.from({ length: count }, () => rng.nextFloat() * durationMs);
}
