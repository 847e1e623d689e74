import { simulate } from "stratagem/internal/methods/ramsis/simulate/simulate";
import { bench, describe } from "vitest";
import { type TinyVariant, tinyBundle } from "../../test/support/tiny-bundle.ts";

const QPS = 2000;
const QUERIES = 1_000_000;

/**
 * Like the image profiles: the more accurate, the slower, and a batch costs less than its queries
 * one by one.
 */
const variants: TinyVariant[] = Array.from({ length: 9 }, (_, index) => ({
  name: `variant${index}`,
  accuracy: 0.58 + 0.03 * index,
  latencyMs: (batch) => (8 + 6 * index) * (0.6 + 0.4 * batch),
}));

/**
 * The most accurate variant that meets the deadline and keeps up with 33 queries per second and
 * worker.
 */
const bundle = tinyBundle({
  workers: 60,
  sloMs: 150,
  maxQueue: 32,
  slackSteps: 100,
  loadsQps: [1000, 1500, 2000, 2500],
  variants,
  quantileRatios: { p50: 0.8, p95: 1, p99: 1.1, mean: 0.82 },
  decide: ({ queued, slackMs }) => {
    const limitMs = Math.min(slackMs, 15 + 20 * queued);
    const fitting = variants.findLastIndex(({ latencyMs }) => latencyMs(queued) <= limitMs);
    return { variant: Math.max(fitting, 0), batch: queued };
  },
});

describe(`simulate ${QUERIES} queries, 60 workers, ${QPS} queries/s`, () => {
  for (const serviceTimes of ["p95", "sampled"] as const) {
    bench(
      `${serviceTimes} service times`,
      () => {
        const result = simulate(bundle, {
          arrivals: { kind: "poisson", qps: QPS },
          durationMs: (QUERIES / QPS) * 1000,
          seed: 1,
          serviceTimes,
        });
        if (result.queries < 0.99 * QUERIES || result.violationRate > 0.5) {
          throw new Error(
            "the simulated policy does not keep up, so this is not the case to measure",
          );
        }
      },
      { iterations: 5, time: 3000, warmupIterations: 2, warmupTime: 500 },
    );
  }
});
