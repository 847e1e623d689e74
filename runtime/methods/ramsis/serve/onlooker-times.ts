/** What the workers of tables take that are not there. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import type { Rng } from "../../../core/rng.ts";
import { likeliestServiceTimes } from "../../../core/service-times.ts";
import { type OnlookerTimes, stretchBeside } from "../../../server/shadow-policy/onlooker-times.ts";

export function ramsisOnlookerTimes(bundle: RamsisBundle, rng: Rng): OnlookerTimes {
  const { tasks, buckets, cluster } = bundle;
  const { contention, stretch } = cluster.serving ?? {};
  const models = (buckets ?? tasks).map(({ serviceTimes }) => {
    return likeliestServiceTimes(serviceTimes, rng, stretch);
  });
  return {
    batchMs: ({ variant, rows, sloClass, busyWorkers }) => {
      const model = models[buckets === undefined ? 0 : sloClass];
      return (model?.nextMs(variant, rows) ?? Number.NaN) * stretchBeside(contention, busyWorkers);
    },
    loadMs: 0,
    resizeMs: 0,
  };
}
