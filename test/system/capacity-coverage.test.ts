/** How often the stated interval of a capacity covers the true one: 200 seeds of known queues. */
import { expect, test } from "vitest";
import type { SearchOptions } from "../../compiler/capacity/search.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { covers, searched } from "../support/capacity-search.ts";
import { capacityOf, queueWindows } from "../support/simple-queue.ts";

const SEEDS = 200;
const SIMULATED: SearchOptions = {
  ...{ startQps: 300, limit: 0.01, confidence: 0.99, step: 1.05 },
  ...{ belowQps: Number.POSITIVE_INFINITY },
  trials: [1, 4],
};

test.each([
  { serviceQps: 1000, sloMs: 50 },
  { serviceQps: 1000, sloMs: 20 },
  { serviceQps: 5000, sloMs: 40 },
])(
  "the interval of $serviceQps/s within $sloMs ms covers the truth in 95 %",
  (queue) => {
    const truth = capacityOf(queue, SIMULATED.limit);
    let covered = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const rng = new Rng(seed, 1);
      const found = searched(SIMULATED, ({ loadQps, isBrief }) =>
        queueWindows(queue, loadQps, isBrief ? 2 : 4, rng),
      );
      if (covers(found, truth)) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(0.95 * SEEDS);
  },
  600_000,
);

test("on a machine whose speed wanders, it covers the median of ten runs in nine", () => {
  const runs = 100;
  const found = Array.from({ length: runs }, (_, seed) => {
    const rng = new Rng(seed + 1, 2);
    let slowness = 0;
    return searched({ ...SIMULATED, step: 1.08, trials: [3, 12] }, ({ loadQps }) => {
      // Each trial differs by some 4 % from the one before, and comes back to the mean.
      slowness = 0.8 * slowness + 0.08 * (rng.nextFloat() - 0.5);
      const queue = { serviceQps: 1000 * Math.exp(slowness), sloMs: 50 };
      return queueWindows(queue, loadQps, 1, rng);
    });
  });
  const estimates = found.map(({ estimateQps }) => estimateQps ?? 0).toSorted((a, b) => a - b);
  const median = estimates[runs / 2] ?? 0;
  const covering = found.filter((one) => covers(one, median)).length;
  expect(covering).toBeGreaterThanOrEqual(0.9 * runs);
}, 600_000);
