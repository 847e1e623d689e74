/** Who gets the processors when there is more work than processors. */

import { describe, expect, test } from "vitest";
import { Contention } from "../../../../compiler/simulate/serving/contention.ts";
import { NeighbourBursts } from "../../../../compiler/simulate/serving/neighbour-bursts.ts";
import {
  NO_WORKER,
  ProcessorQueues,
} from "../../../../compiler/simulate/serving/processor-queues.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const queuesOf = (workers: number, processors: number, contention: readonly number[] = [1]) =>
  new ProcessorQueues(workers, new Contention({ contention, processors }), null);

/** Ends all work. @returns who ended when. */
function endsOf(queues: ProcessorQueues): [worker: number, atMs: number][] {
  const ends: [number, number][] = [];
  for (let atMs = queues.nextMs; atMs < Number.POSITIVE_INFINITY; atMs = queues.nextMs) {
    const worker = queues.turn();
    if (worker === NO_WORKER) continue;
    queues.end(atMs, worker);
    ends.push([worker, atMs]);
  }
  return ends;
}

/** Work of each worker, ms, and its mean pause; how long the work took, by worker. */
function tookMs(jobs: readonly (readonly [number, number])[], untilMs: number): number[][] {
  const queues = queuesOf(jobs.length, 2);
  const rng = new Rng(4, 1);
  const pauseMs = (worker: number) => -(jobs[worker]?.[1] ?? 0) * Math.log(1 - rng.nextFloat());
  const beginMs = jobs.map((_, worker) => pauseMs(worker));
  const took: number[][] = jobs.map(() => []);
  for (;;) {
    const waiting = beginMs.map((ms, worker) =>
      queues.has(worker) ? Number.POSITIVE_INFINITY : ms,
    );
    const nextMs = Math.min(...waiting);
    if (Math.min(nextMs, queues.nextMs) > untilMs) return took;
    if (nextMs <= queues.nextMs) {
      const worker = waiting.indexOf(nextMs);
      queues.start(nextMs, worker, jobs[worker]?.[0] ?? 0, 1, 0);
      continue;
    }
    const atMs = queues.nextMs;
    const worker = queues.turn();
    if (worker === NO_WORKER) continue;
    queues.end(atMs, worker);
    took[worker]?.push(atMs - (beginMs[worker] ?? 0));
    beginMs[worker] = atMs + pauseMs(worker);
  }
}

function quantile(values: readonly number[] = [], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * values.length)] ?? Number.NaN;
}

describe("one processor", () => {
  test("goes at the end of a slice to the work that has had least", () => {
    const queues = queuesOf(2, 1);
    queues.start(0, 0, 10, 1, 0);
    queues.start(6, 1, 3, 1, 0);
    // Worker 0 has had its slice of 4 ms: worker 1 is next, and done within its own.
    expect(endsOf(queues)).toEqual([
      [1, 9],
      [0, 13],
    ]);
  });

  test("is kept for a slice, so that short work may wait", () => {
    const queues = queuesOf(2, 1);
    queues.start(0, 0, 10, 1, 0);
    queues.start(1, 1, 3, 1, 0);
    expect(endsOf(queues)).toEqual([
      [1, 7],
      [0, 13],
    ]);
  });

  test("goes to the server at once", () => {
    const queues = queuesOf(1, 1);
    queues.start(0, 0, 10, 1, 0);
    queues.serveFrom(1);
    queues.serveUntil(2);
    expect(endsOf(queues)).toEqual([[0, 11]]);
  });
});

describe("two processors", () => {
  test("two of three works share a processor: they take as long as alone, or twice as long", () => {
    const [first = []] = tookMs(
      [
        [20, 1],
        [20, 1],
        [20, 1],
      ],
      400_000,
    );
    // Measured on Linux 6.18 with two processors: 20, 30 and 40 ms.
    expect(quantile(first, 0.1)).toBeLessThan(24);
    expect(quantile(first, 0.9)).toBeGreaterThan(38);
  });

  test("short work is hardly slowed by long work, but may wait for a slice", () => {
    const [, , short = []] = tookMs(
      [
        [20, 2],
        [20, 2],
        [3, 10],
      ],
      400_000,
    );
    // Measured: 3.0, 3.2, 7.1 and 7.8 ms.
    expect(quantile(short, 0.5)).toBe(3);
    expect(quantile(short, 0.9)).toBeGreaterThan(5);
    expect(quantile(short, 0.99)).toBeLessThan(8);
  });

  test("an idle one takes work that waits for the other", () => {
    const queues = queuesOf(3, 2);
    for (const [worker, workMs] of [10, 2, 6].entries()) queues.start(0, worker, workMs, 1, 0);
    expect(endsOf(queues)).toEqual([
      [1, 2],
      [2, 8],
      [0, 10],
    ]);
  });

  test("work on two threads goes on with one", () => {
    const queues = queuesOf(2, 2);
    queues.start(0, 0, 10, 2, 0);
    queues.start(0, 1, 4, 1, 0);
    const ends = new Map(endsOf(queues));
    // 24 ms of processor time on two processors.
    expect(ends.get(0)).toBeCloseTo(12, 6);
    expect(ends.get(1)).toBeLessThanOrEqual(8);
  });
});

test("with processors for all, work takes what it needs, and memory slows all alike", () => {
  const queues = queuesOf(3, 4, [1, 1.5]);
  for (const [worker, workMs] of [3, 6, 9].entries()) queues.start(0, worker, workMs, 1, 0);
  expect(endsOf(queues)).toEqual([
    [0, 4.5],
    [1, 9],
    [2, 12],
  ]);
});

test("processors do all work, and are never idle while some waits", () => {
  const rng = new Rng(3, 1);
  for (let run = 0; run < 300; run++) {
    const workers = 3 + Math.floor(4 * rng.nextFloat());
    const queues = queuesOf(workers, 2);
    const works = Array.from({ length: workers }, () => 1 + 20 * rng.nextFloat());
    for (const [worker, workMs] of works.entries()) queues.start(0, worker, workMs, 1, 0);
    const ends = endsOf(queues);
    const total = works.reduce((sum, ms) => sum + ms);
    const [lastMs = 0, beforeMs = 0] = ends.map(([, atMs]) => atMs).toSorted((a, b) => b - a);
    expect(ends.length).toBe(workers);
    expect(lastMs + beforeMs).toBeCloseTo(total, 6);
  }
});

test.each([1e5, 1.7e7])("work ends in few turns after %s ms", (fromMs) => {
  const rng = new Rng(1, 1);
  const bursts = new NeighbourBursts(0.2, new Rng(2, 2));
  const curve = new Contention({ contention: [1, 1.032, 1.49], processors: 2 });
  const queues = new ProcessorQueues(3, curve, bursts);
  let turns = 0;
  for (let round = 0; round < 2000; round++) {
    let nowMs = fromMs + 7.3 * round;
    for (const worker of [0, 1, 2]) {
      queues.start(nowMs, worker, 9 * rng.nextFloat() ** 4, 1, 0);
      nowMs += rng.nextFloat() / 3;
    }
    while (queues.length > 0) {
      const atMs = queues.nextMs;
      const worker = queues.turn();
      if (worker !== NO_WORKER) queues.end(atMs, worker);
      expect(++turns).toBeLessThan(100 * (round + 1));
    }
  }
});
