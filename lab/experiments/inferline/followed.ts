/** What becomes of traffic that changes for good: several levels, and who follows them. */
import {
  type InferlineSimulationResult,
  simulateInferline,
} from "stratagem/internal/methods/inferline/simulate/simulate";
import { initialQps } from "stratagem/internal/simulate/arrivals";
import type { Trace } from "stratagem/internal/spec/trace";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import {
  JOINT_DEFAULTS,
  JointTuner,
  type JointTunerOptions,
} from "stratagem-runtime/internal/methods/inferline/core/joint-tuner";
import { present } from "../harness/numbers.ts";
import { only } from "./planner.ts";
import type { Piece } from "./traffic.ts";

export type RateTrace = Extract<Trace, { kind: "rates" }>;

/** A tuner of the product, or the joint one with other options than it has. */
export type Scaler = InferlineBundle["policy"]["tuner"] | Partial<JointTunerOptions>;

/** The bundle's levels under a rate that changes, followed by a scaler. */
export function follow(
  bundle: InferlineBundle,
  trace: RateTrace,
  scaler: Scaler,
  seed: number,
): InferlineSimulationResult {
  const isNamed = typeof scaler === "string";
  const tuner = isNamed ? scaler : "joint";
  const served: InferlineBundle = { ...bundle, policy: { ...bundle.policy, tuner } };
  const arrivals = { kind: "trace", trace } as const;
  const level = levelForLoad(bundle.levels, initialQps(arrivals));
  return simulateInferline(served, {
    arrivals,
    durationMs: trace.endMs,
    seed,
    serviceTimes: "p95",
    timeline: true,
    ...(isNamed
      ? {}
      : { tuner: new JointTuner(served, level, false, { ...JOINT_DEFAULTS, ...scaler }) }),
  });
}

/** The plan of the highest level, whatever comes. */
export function peakPlan(bundle: InferlineBundle): InferlineBundle {
  const peak = only(bundle, bundle.levels.length - 1);
  return { ...peak, policy: { ...peak.policy, tuner: "none" } };
}

/** A rate for a time each. */
export function ratesOf(pieces: readonly Pick<Piece, "ms" | "qps">[]): RateTrace {
  let endMs = 0;
  const startMs = pieces.map(({ ms }) => {
    endMs += ms;
    return endMs - ms;
  });
  return {
    kind: "rates",
    startMs: Float64Array.from(startMs),
    qps: Float64Array.from(pieces, ({ qps }) => qps),
    endMs,
  };
}

/** Cost an hour from one second to another. */
export function costBetween(
  { timeline }: InferlineSimulationResult,
  fromS: number,
  toS: number,
): number {
  const seconds = present(timeline ?? undefined).slice(fromS, toS);
  return seconds.reduce((sum, { costPerHour }) => sum + costPerHour, 0) / seconds.length;
}
