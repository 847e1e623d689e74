/** Describes how a serving path was measured, for the file beside the profile. */
import type { PathWindow, SeenRequest } from "./path-window.ts";
import type { PathSamples } from "./serving-rows.ts";
import { spreadOf } from "./spread.ts";

export function describeSamples(samples: PathSamples): object {
  const { processors, requestBytes, single, many, large, workers, stalls } = samples;
  return {
    format: "serving-measurement/1",
    processors,
    requestBytes,
    single: described(single),
    many: described(many),
    large: large === null ? null : { requestBytes: large.bytes, ...described(large.windows) },
    workers: {
      steadyMs: spreadOf(workers.steadyMs),
      wokenMs: spreadOf(workers.wokenMs),
      meanMsByBusy: workers.contention,
    },
    stalls,
  };
}

function described(windows: readonly PathWindow[]) {
  const seen = windows.flatMap(({ requests }) => requests);
  const row = (of: (request: SeenRequest) => number) => spreadOf(seen.map(of));
  return {
    requests: seen.length,
    variants: [...new Set(seen.map(({ variant }) => variant))],
    roundTripMs: row(({ roundTripMs }) => roundTripMs),
    totalMs: row(({ totalMs }) => totalMs),
    queueMs: row(({ queueMs }) => queueMs),
    computeMs: row(({ computeMs }) => computeMs),
    windows: windows.map(({ requests: _, ...window }) => window),
  };
}
