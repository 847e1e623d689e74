/** Processors that the host takes away now and then. */
import { expect, test } from "vitest";
import { Contention } from "../../../../compiler/simulate/serving/contention.ts";
import { Stalls } from "../../../../compiler/simulate/serving/stalls.ts";
import { WorkerEvents } from "../../../../compiler/simulate/serving/worker-events.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const TEN = { p50: 10, p95: 10, p99: 10, mean: 10 };
const stalls = (seed: number) => new Stalls({ perSecond: 5, ms: TEN }, new Rng(seed, 1));

test("with five stalls of 10 ms in a second of work, 50 ms are lost, however it is divided", () => {
  for (const workMs of [0.3, 2, 700]) {
    const drawn = stalls(9);
    let lostMs = 0;
    for (let doneMs = 0; doneMs < 1_000_000; doneMs += workMs) lostMs += drawn.duringMs(workMs);
    expect(lostMs / 1_000_000).toBeCloseTo(0.05, 2);
  }
});

test("a batch takes longer by the stalls of its own work, and no other does", () => {
  const contention = new Contention({ contention: [1], processors: 2 });
  const events = new WorkerEvents(2, contention, null, null, stalls(4));
  const drawn = stalls(4);
  const [firstMs, secondMs] = [300 + drawn.duringMs(300), 200 + drawn.duringMs(200)];
  events.run(0, 0, 300);
  events.run(0, 1, 200);
  expect(events.nextMs).toBeCloseTo(Math.min(firstMs, secondMs), 9);
  events.pop();
  expect(events.nextMs).toBeCloseTo(Math.max(firstMs, secondMs), 9);
});
