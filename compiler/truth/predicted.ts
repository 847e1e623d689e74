/** What a simulation of the very arrivals of a run predicts, with the serving path and without. */
import type { Bundle, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import * as z from "zod";
import { methodOf } from "../methods/registry.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { SlowSeen } from "../profile/serving/pace-looks.ts";
import type { StallsSeen } from "../profile/serving/stall-watch.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import { InputError } from "../spec/input-error.ts";
import { GatheredTimes, outcomeOf, type RequestTimes } from "./request-times.ts";
import type { Ablation, BriefOutcome, Outcome, TruthPoint } from "./truth-document.ts";

export interface Run {
  readonly arrivals: ArrivalProcess;
  readonly durationMs: number;
  readonly seed: number;
  /** What takes processors beside server and workers, where the bundle can count with it. */
  readonly stations: StationOptions;
}

export interface Prediction {
  readonly outcome: Outcome;
  readonly times: RequestTimes;
  readonly promised: TruthPoint["promised"];
}

/** What every method's simulation says. */
const resultSchema = z.object({
  violationRate: z.number(),
  accuracyPerSatisfied: z.number().nullish(),
  expected: z
    .object({ violationRate: z.number(), accuracyPerSatisfied: z.number().nullish() })
    .optional(),
});

/** Drawn service times where the profile has their quantiles, its percentile where it has not. */
export async function serviceTimesOf(bundle: Bundle, watch: SimulateWatch) {
  const arrivals = { kind: "poisson", qps: 1 } as const;
  const brief = { arrivals, durationMs: 1, seed: 1, stations: {} };
  try {
    await predict(bundle, brief, "sampled", watch);
    return "sampled";
  } catch (error) {
    if (error instanceof InputError || error instanceof RuntimeError) return "p95";
    throw error;
  }
}

/** Draws of path and stalls, for the same arrivals: one alone has its own luck with its p99. */
const DRAWS = 5;

/**
 * What is to be expected of the arrivals of a run: quantiles over all draws, and means of rates.
 * Times are those of the first draw.
 * @throws as `predict`.
 */
export async function expected(
  bundle: Bundle,
  run: Run,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Prediction> {
  const first = await predict(bundle, run, serviceTimes, watch);
  if (bundle.cluster.serving === undefined) return first;
  const all = [first];
  for (let draw = 1; draw < DRAWS; draw++) {
    const stations = { ...run.stations, draw };
    all.push(await predict(bundle, { ...run, stations }, serviceTimes, watch));
  }
  const latencies = all.map(({ times }) => times.latencyMs);
  const latencyMs = Float64Array.from(latencies.flatMap((one) => [...one]));
  const pooled = outcomeOf({ ...first.times, latencyMs }, bundle.slo.latencyMs, null);
  const meanOf = (of: (outcome: Outcome) => number | null) => {
    const values = all.flatMap(({ outcome }) => of(outcome) ?? []);
    return values.length < all.length ? null : values.reduce((sum, one) => sum + one) / all.length;
  };
  const violationRate = meanOf((outcome) => outcome.violationRate) ?? 0;
  const accuracy = meanOf((outcome) => outcome.accuracy);
  return { ...first, outcome: { ...pooled, violationRate, accuracy } };
}

/** @throws InputError where service times are to be drawn and the bundle holds no quantiles. */
export async function predict(
  bundle: Bundle,
  run: Run,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Prediction> {
  const method = await methodOf(bundle);
  const gathered = new GatheredTimes();
  const { json } = await method.simulate(
    bundle,
    {
      ...run,
      serviceTimes,
      fanout: "rounded",
      baseline: null,
      onOutcome: gathered.tell,
    },
    watch,
  );
  const { violationRate, accuracyPerSatisfied, expected } = resultSchema.parse(json);
  const times = gathered.times();
  const outcome = outcomeOf(times, bundle.slo.latencyMs, accuracyPerSatisfied ?? null);
  return {
    outcome: { ...outcome, violationRate },
    times,
    promised: {
      violationRate: expected?.violationRate ?? null,
      accuracy: expected?.accuracyPerSatisfied ?? null,
    },
  };
}

/**
 * The same without what is left out, and on the machine as it was; null where the bundle knows of
 * nothing to leave out.
 * @param stalls, slow of the run; null where there were none.
 */
export async function ablationOf(
  bundle: Bundle,
  { stalls, slow, ...run }: Run & HostSeen,
  serviceTimes: ServiceTimeMode,
  watch: SimulateWatch,
): Promise<Ablation> {
  const { serving } = bundle.cluster;
  if (serving === undefined) {
    return { withoutPath: null, withoutContention: null, withoutBoth: null, asItWas: null };
  }
  const without = async (stations: StationOptions, of = bundle): Promise<BriefOutcome> => {
    const { outcome } = await expected(of, { ...run, stations }, serviceTimes, watch);
    const { p50Ms, p99Ms, violationRate } = outcome;
    return { p50Ms, p99Ms, violationRate };
  };
  return {
    withoutPath: await without({ ...run.stations, path: false }),
    withoutContention: await without({ contention: false }),
    withoutBoth: await without({ path: false, contention: false }),
    asItWas: await without(
      { ...run.stations, ...spellsOf(serving, slow) },
      withStalls(bundle, serving, stalls),
    ),
  };
}

/** Spells of the run; what is fast is what the profile found, for there nobody was in the way. */
function spellsOf({ slow: profiled }: ServingPath, slow: SlowSeen | null): StationOptions {
  if (slow === null) return {};
  const { share, factor, spellMs } = slow;
  return { slow: { share, factor, spellMs, fast: profiled?.fast ?? 1 } };
}

/** What the host did to a run. */
interface HostSeen {
  readonly stalls: StallsSeen | null;
  readonly slow: SlowSeen | null;
}

function withStalls(
  bundle: Bundle,
  { stalls: _, ...path }: ServingPath,
  stalls: StallsSeen | null,
): Bundle {
  const serving = stalls === null ? path : { ...path, stalls };
  return { ...bundle, cluster: { ...bundle.cluster, serving } };
}
