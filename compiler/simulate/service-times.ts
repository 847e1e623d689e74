/** Draws or looks up what a batch takes. */
import type { ServiceTimes } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import {
  DecisionServiceTimes,
  SampledServiceTimes,
  type ServiceTimeModel,
} from "stratagem-runtime/internal/core/service-times";
import { InputError } from "../spec/input-error.ts";

/**
 * `p95`: every batch takes the time the policy was computed with. `sampled`: a draw from the
 * measured distribution.
 */
export type ServiceTimeMode = "p95" | "sampled";

export type { ServiceTimeModel };

/**
 * @param stretch of the decision times of a bundle that is planned with contention, which is
 * simulated by itself.
 * @throws InputError INPUT_CONFLICT when samples are wanted and the profile had no quantiles.
 */
export function serviceTimeModel(
  times: ServiceTimes,
  mode: ServiceTimeMode,
  rng: Rng,
  stretch = 1,
): ServiceTimeModel {
  if (mode === "p95") return new DecisionServiceTimes(times, stretch);
  if (times.quantiles === null) {
    throw new InputError(
      "INPUT_CONFLICT",
      "tasks[0].serviceTimes.quantiles: sampled service times need p50, p95, " +
        "p99 and mean of every variant, " +
        "and the profile this bundle was compiled from has one number per batch; " +
        "simulate with p95 service times",
    );
  }
  return new SampledServiceTimes(times.quantiles, rng);
}
