/** What the workers of scaled stages take that are not there. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { type OnlookerTimes, stretchBeside } from "../../../server/shadow-policy/onlooker-times.ts";

/** Times are those that plans reckon with; on more cores than were profiled as on the most. */
export function themisOnlookerTimes({ tasks, policy, cluster }: ThemisBundle): OnlookerTimes {
  const { contention, stretch = 1 } = cluster.serving ?? {};
  const tables = tasks.flatMap(({ variants }) => variants.map(({ latency }) => latency.ms));
  return {
    batchMs: ({ variant, rows, cores, busyWorkers }) => {
      const table = tables[variant];
      const [maxCores = 0, maxBatch = 0] = table?.shape ?? [];
      const row = Math.min(Math.max(cores, 1), maxCores) - 1;
      const ms = table?.data[row * maxBatch + rows - 1] ?? Number.NaN;
      return (ms / stretch) * stretchBeside(contention, busyWorkers);
    },
    loadMs: policy.coldStartMs,
    resizeMs: policy.resizeMs,
  };
}
