/** A machine that stands still now and then. */
import { expect, test } from "vitest";
import { Contention } from "../../../../compiler/simulate/serving/contention.ts";
import { Stalls } from "../../../../compiler/simulate/serving/stalls.ts";
import { WorkerEvents } from "../../../../compiler/simulate/serving/worker-events.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const TEN = { p50: 10, p95: 10, p99: 10, mean: 10 };
const stalls = (seed: number) => new Stalls({ perSecond: 5, ms: TEN }, new Rng(seed, 1));

test("work ends later by as long as the machine stood, and by nothing else", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const drawn = stalls(seed);
    const endMs = drawn.endOf(40, 500);
    expect(endMs - 540).toBeCloseTo(drawn.between(40, endMs), 9);
    const middleMs = drawn.endOf(40, 200);
    expect(drawn.endOf(middleMs, 300)).toBeCloseTo(endMs, 9);
    expect(drawn.stoodMs(0, 200) + drawn.stoodMs(200, 900)).toBeCloseTo(
      stalls(seed).between(0, 900),
      9,
    );
  }
});

test("of two processors with five stalls of 10 ms a second, a tenth of the time is lost", () => {
  const share = stalls(9).between(0, 1_000_000) / 1_000_000;
  // A gap begins when a stall is over: 10 of every 110 ms.
  expect(share).toBeCloseTo(10 / 110, 2);
});

test("batches stand still with the machine", () => {
  const contention = new Contention({ contention: [1], processors: 1 });
  const events = new WorkerEvents(2, contention, null, 0, stalls(4));
  events.run(0, 0, 300);
  events.run(0, 1, 300);
  const endMs = events.nextMs;
  expect(endMs).toBeCloseTo(stalls(4).endOf(0, 600), 9);
  // Looking at it in between changes nothing.
  const again = new WorkerEvents(2, contention, null, 0, stalls(4));
  again.run(0, 0, 300);
  again.run(0, 1, 300);
  again.serveFrom(100);
  again.serveUntil(100);
  expect(again.nextMs).toBeCloseTo(endMs, 9);
});
