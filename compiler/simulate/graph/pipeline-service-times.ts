/** Service times of every variant on every pool. */
import type { PoolProfile } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import { InputError } from "../../spec/document/input-error.ts";
import { type ServiceTimeMode, type ServiceTimeModel, serviceTimeModel } from "../service-times.ts";

/** Common part of the tasks of all pipeline bundles. */
interface ProfiledTask {
  readonly name: string;
  readonly variants: readonly {
    readonly name: string;
    readonly profiles: readonly (PoolProfile | null)[];
  }[];
}

/** Returns whether the times of every batch can be drawn. */
export function havePipelineQuantiles(tasks: readonly ProfiledTask[]): boolean {
  return tasks.every(({ variants }) =>
    variants.every(({ profiles }) =>
      profiles.every((profile) => profile === null || profile.serviceTimes.quantiles !== null),
    ),
  );
}

/**
 * Returns the service times of each variant on each pool, by pool; null where it does not run.
 * @throws InputError INPUT_CONFLICT if samples are requested and a profile had no quantiles.
 */
export function pipelineServiceTimes(
  { tasks }: { readonly tasks: readonly ProfiledTask[] },
  mode: ServiceTimeMode,
  rng: Rng,
): (ServiceTimeModel | null)[] {
  return tasks.flatMap((task) =>
    task.variants.flatMap((variant) =>
      variant.profiles.map((profile) => {
        if (profile === null) return null;
        if (mode === "sampled" && profile.serviceTimes.quantiles === null) {
          throw new InputError(
            "INPUT_CONFLICT",
            `tasks/${task.name}/${variant.name}: sampled service times need p50, p95, ` +
              "p99 and mean of every variant, and the profile this bundle was compiled from has " +
              "one number per batch; simulate with p95 service times",
          );
        }
        return serviceTimeModel(profile.serviceTimes, mode, rng);
      }),
    ),
  );
}
