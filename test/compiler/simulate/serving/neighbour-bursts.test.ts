/** Bursts of other processes, and what they do to workers. */
import { describe, expect, test } from "vitest";
import { Contention } from "../../../../compiler/simulate/serving/contention.ts";
import { NeighbourBursts } from "../../../../compiler/simulate/serving/neighbour-bursts.ts";
import {
  NO_WORKER,
  ProcessorQueues,
} from "../../../../compiler/simulate/serving/processor-queues.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

/** Lets bursts end when their work is done. @returns what each neighbour worked, and how often. */
function sharesOf(bursts: NeighbourBursts, untilMs: number): [share: number, bursts: number][] {
  const worked: [number, number][] = Array.from({ length: bursts.count }, () => [0, 0]);
  const ends: [endMs: number, neighbour: number][] = [];
  for (let nowMs = 0; nowMs < untilMs; ) {
    ends.sort(([a], [b]) => a - b);
    const [endMs = Number.POSITIVE_INFINITY, ended = -1] = ends[0] ?? [];
    nowMs = Math.min(bursts.nextMs, endMs);
    if (endMs <= nowMs) {
      ends.shift();
      bursts.end(ended, nowMs);
      continue;
    }
    const { neighbour, processor, workMs } = bursts.begin(2);
    expect([0, 1]).toContain(processor);
    const [sumMs = 0, count = 0] = worked[neighbour] ?? [];
    worked[neighbour] = [sumMs + workMs, count + 1];
    ends.push([nowMs + workMs, neighbour]);
  }
  return worked.map(([sumMs, count]) => [sumMs / untilMs, count]);
}

describe("bursts", () => {
  test.each([
    [0.18, 1],
    [0.5, 1],
    [1.2, 2],
  ])("of %s processors keep them busy, in bursts of 2 ms, by %s processes", (processors, count) => {
    const shares = sharesOf(new NeighbourBursts(processors, new Rng(3, 1)), 200_000);
    expect(shares).toHaveLength(count);
    for (const [share, bursts] of shares) {
      expect(Math.abs(share * count - processors)).toBeLessThan(0.05 * processors);
      expect((share * 200_000) / bursts).toBeCloseTo(2, 0);
    }
  });
});

/** Sends work of 1 ms to one worker now and then. @returns how long it took, and waited before. */
function took(neighbours: number): { readonly took: number[]; readonly waited: number[] } {
  const bursts = neighbours === 0 ? null : new NeighbourBursts(neighbours, new Rng(5, 2));
  const contention = new Contention({ contention: [1], processors: 2 });
  const queues = new ProcessorQueues(1, contention, bursts);
  const times: { took: number[]; waited: number[] } = { took: [], waited: [] };
  for (let atMs = 0; atMs < 60_000; atMs += 7) {
    queues.start(atMs, 0, 1, 1, 0);
    let endMs = queues.nextMs;
    while (queues.turn() === NO_WORKER) endMs = queues.nextMs;
    times.took.push(endMs - atMs);
    times.waited.push(queues.ranFromMs(0) - atMs);
    queues.end(endMs, 0);
  }
  return times;
}

const quantile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(part * values.length)] ?? Number.NaN;

test("a worker waits for the neighbour on its processor, although another one is idle", () => {
  const { took: alone } = took(0);
  const { took: beside, waited } = took(0.2);
  expect(Math.max(...alone)).toBeCloseTo(1, 9);
  expect(quantile(beside, 0.5)).toBeCloseTo(1, 9);
  // A tenth of the time its processor is taken, for 2 ms more on average.
  const late = waited.filter((ms) => ms > 0.001);
  expect(late.length / waited.length).toBeCloseTo(0.1, 1);
  expect(late.reduce((sum, ms) => sum + ms, 0) / late.length).toBeGreaterThan(1);
  expect(quantile(beside, 0.99)).toBeGreaterThan(4);
  // Once it runs it keeps its processor.
  for (const [run, ms] of beside.entries()) expect(ms - (waited[run] ?? 0)).toBeCloseTo(1, 9);
});
