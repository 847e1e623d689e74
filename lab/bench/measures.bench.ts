import { ArrivalCounts } from "stratagem-runtime/internal/server/measures/arrival-counts";
import { ServiceTimes } from "stratagem-runtime/internal/server/measures/service-times";
import { bench, describe } from "vitest";

const BATCHES = 10_000;

describe("measures, what a batch costs", () => {
  let nowMs = 0;
  const clock = () => nowMs;
  const cells = {
    sloMs: 100,
    variants: Array.from({ length: 7 }, (_, at) => ({ variant: `v${at}` })),
    kindLabels: () => ({}),
    profiled: (_: number, rows: number) => ({ p50Ms: rows, decisionMs: 1.3 * rows }),
  };
  const times = new ServiceTimes(cells, clock);
  const arrivals = new ArrivalCounts(100, clock);

  bench(`${BATCHES} batches of 7 variants and 8 sizes`, () => {
    for (let at = 0; at < BATCHES; at++) {
      nowMs += 1;
      const rows = 1 + (at % 8);
      const insideMs = rows * (0.9 + 0.002 * (at % 100));
      const aroundMs = insideMs + 0.2;
      const variant = at % 7;
      times.onBatch({ variant, rows, kind: 0, aroundMs, insideMs, endMs: nowMs, busyWorkers: 1 });
    }
    for (let variant = 0; variant < 7; variant++) times.takeBlock(variant, nowMs);
  });

  bench(`${BATCHES} requests that come in`, () => {
    for (let at = 0; at < BATCHES; at++) {
      nowMs += 1;
      arrivals.onRows(1);
    }
    arrivals.take();
  });
});
