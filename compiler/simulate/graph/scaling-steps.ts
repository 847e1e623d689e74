/** Checks that plans hold while replicas start: the load steps from one level to the next. */
import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { RequestArrivals } from "./arriving-requests.ts";
import { type ScalerDelay, scalerDelayText } from "./scaler-clock.ts";

/** Time at the load of the lower level, before that of the higher one. */
const BEFORE_MS = 60_000;
const DURATION_MS = 180_000;
const SEED = 1;

/** Simulates the bundle for one step. */
type SimulateStep = (options: {
  readonly arrivals: RequestArrivals;
  readonly durationMs: number;
  readonly seed: number;
  readonly serviceTimes: "p95";
  readonly scalerDelay: ScalerDelay | undefined;
}) => { readonly violationRate: number };

/**
 * Returns a line for each pair of levels between which the SLO breaks with the delay and holds
 * without it: a minute at the load of the lower one, two at that of the higher one. A pair that
 * fails either way is not caused by the autoscaler and gives no line.
 */
export function scalingWarnings(
  { levels, slo }: Pick<Bundle, "slo"> & { readonly levels: readonly Loaded[] },
  delay: ScalerDelay | undefined,
  simulate: SimulateStep,
): string[] {
  if (delay === undefined) return [];
  const ceiling = violationCeiling(slo);
  return levels.flatMap((level, index) => {
    const next = levels[index + 1];
    if (next === undefined || !next.feasible) return [];
    const arrivals = stepOf(level.loadQps, next.loadQps);
    const steady = { arrivals, durationMs: DURATION_MS, seed: SEED, serviceTimes: "p95" } as const;
    const delayed = simulate({ ...steady, scalerDelay: delay }).violationRate;
    if (delayed <= ceiling) return [];
    const prompt = simulate({ ...steady, scalerDelay: undefined }).violationRate;
    if (prompt > ceiling) return [];
    return [
      `levels ${level.loadQps} to ${next.loadQps} qps: with ${scalerDelayText(delay)} the plan ` +
        `does not hold when the load steps up: ${percent(delayed)} miss the SLO in the three ` +
        `minutes around it, ${percent(prompt)} if replicas start at once, ` +
        `allowed ${percent(ceiling)}`,
    ];
  });
}

interface Loaded {
  readonly loadQps: number;
  readonly feasible: boolean;
}

function stepOf(beforeQps: number, afterQps: number): RequestArrivals {
  const trace = {
    kind: "rates",
    startMs: Float64Array.of(0, BEFORE_MS),
    qps: Float64Array.of(beforeQps, afterQps),
    endMs: DURATION_MS,
  } as const;
  return { kind: "trace", trace };
}

function percent(ratio: number): string {
  return `${Number((100 * ratio).toPrecision(3))} %`;
}
