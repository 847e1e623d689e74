/** Times drawn from quantiles and a mean. */
import { expect, test } from "vitest";
import { SpreadDraws } from "../../../../compiler/simulate/serving/spread-draws.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

test.each([
  { p50: 0.24435, p95: 1.178081, p99: 1.938167, mean: 0.369489 },
  { p50: 0, p95: 0.260336, p99: 1.167336, mean: 0.046138 },
  { p50: 1, p95: 2, p99: 4, mean: 1.2 },
])("the mean of what is drawn is the measured one: %o", (spread) => {
  const draws = new SpreadDraws(spread, new Rng(1, 1));
  let sum = 0;
  for (let count = 0; count < 200_000; count++) sum += draws.nextMs();
  expect(sum / 200_000 / spread.mean).toBeCloseTo(1, 1);
});
