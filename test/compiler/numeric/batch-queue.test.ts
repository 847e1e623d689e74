import { describe, expect, it } from "vitest";
import { batchRing, serveBatches } from "../../../compiler/numeric/batch-queue.ts";
import { fluidMisses } from "../../../compiler/numeric/fluid-misses.ts";
import { mergeSettled } from "../../../compiler/numeric/merge-settled.ts";
import { Rng } from "../../../runtime/core/rng.ts";

interface Queue {
  readonly readyMs: readonly number[];
  readonly replicas: number;
  readonly batchMs: readonly number[];
  readonly deadlineMs?: readonly number[];
  readonly missLimit?: number;
}

function serve({ readyMs, replicas, batchMs, deadlineMs, missLimit }: Queue) {
  const count = readyMs.length;
  const doneMs = new Float64Array(count);
  const doneRequest = new Uint32Array(count);
  const used = new Uint32Array(2);
  const misses = serveBatches(
    count,
    Float64Array.from(readyMs),
    Uint32Array.from(readyMs, (_, name) => name),
    0,
    replicas,
    batchMs.length,
    Float64Array.from(batchMs),
    Float64Array.from(deadlineMs ?? readyMs.map(() => Number.POSITIVE_INFINITY)),
    0,
    missLimit ?? Number.POSITIVE_INFINITY,
    batchRing(replicas),
    doneMs,
    doneRequest,
    used,
  );
  return { doneMs: [...doneMs], doneRequest: [...doneRequest], used: [...used], misses };
}

describe("a central queue whose replicas take batches", () => {
  it("gives the first idle replica as much as it takes, and the next the rest", () => {
    const { doneMs, used } = serve({ readyMs: [0, 0, 0], replicas: 2, batchMs: [10, 12] });
    expect(doneMs).toEqual([10, 12, 12]);
    expect(used).toEqual([2, 1]);
  });

  it("puts out what is done first, first, though it started later", () => {
    // Four wait at 10, when a replica is idle again, and take 20; the one at 11 takes 10 on the
    // other.
    const { doneMs, doneRequest } = serve({
      readyMs: [0, 1, 5, 6, 7, 8, 11.5],
      replicas: 2,
      batchMs: [10, 13, 17, 20],
    });
    expect(doneRequest).toEqual([0, 1, 6, 2, 3, 4, 5]);
    expect(doneMs).toEqual([10, 11, 21.5, 30, 30, 30, 30]);
  });

  it("lets what arrives as a replica becomes idle go with its next batch", () => {
    const { doneMs } = serve({ readyMs: [0, 4, 10], replicas: 1, batchMs: [10, 11] });
    expect(doneMs).toEqual([10, 21, 21]);
  });

  it("counts what is late, and stops beyond the limit", () => {
    const readyMs = Array.from({ length: 100 }, (_, index) => index);
    const deadlineMs = readyMs.map((ms) => ms + 25);
    const all = serve({ readyMs, replicas: 1, batchMs: [10], deadlineMs });
    expect(all.misses).toBe(98);
    const cut = serve({ readyMs, replicas: 1, batchMs: [10], deadlineMs, missLimit: 3 });
    expect(cut.misses).toBe(4);
    expect(cut.doneMs.filter((ms) => ms > 0).length).toBeLessThan(20);
  });

  it("serves nothing in no time", () => {
    expect(serve({ readyMs: [], replicas: 3, batchMs: [1] })).toMatchObject({ misses: 0 });
  });
});

describe("a fluid queue", () => {
  it("leaves out as few as any choice of queries does", () => {
    const rng = new Rng(3, 1);
    let late = 0;
    for (let round = 0; round < 200; round++) {
      const releaseMs = Float64Array.from({ length: 9 }, () => 40 * rng.nextFloat()).sort();
      const windowMs = 5 + 20 * rng.nextFloat();
      const workMs = 2 + 6 * rng.nextFloat();
      const found = fluidMisses(9, releaseMs, windowMs, workMs, 9);
      expect(found).toBe(fewestLeftOut(releaseMs, windowMs, workMs));
      late += found;
    }
    expect(late).toBeGreaterThan(200);
  });

  it("can serve none whose work does not fit its window", () => {
    expect(fluidMisses(3, Float64Array.from([0, 9, 18]), 5, 6, 9)).toBe(3);
  });
});

/** Over all sets of queries that are kept: served in order, each in its window. */
function fewestLeftOut(releaseMs: Float64Array, windowMs: number, workMs: number): number {
  let fewest = releaseMs.length;
  for (let kept = 0; kept < 2 ** releaseMs.length; kept++) {
    let freeMs = 0;
    let left = 0;
    let isInTime = true;
    for (const [query, ms] of releaseMs.entries()) {
      if (((kept >>> query) & 1) === 0) {
        left++;
        continue;
      }
      freeMs = Math.max(freeMs, ms) + workMs;
      if (freeMs > ms + windowMs) isInTime = false;
    }
    if (isInTime) fewest = Math.min(fewest, left);
  }
  return fewest;
}

describe("the merge of what a join waits for", () => {
  const settled = (events: readonly (readonly [ms: number, request: number])[]) => ({
    count: events.length,
    atMs: Float64Array.from(events, ([ms]) => ms),
    request: Uint32Array.from(events, ([, request]) => request),
  });

  it("puts out each request with the last that it waits for, in order of time", () => {
    const out = { atMs: new Float64Array(5), request: new Uint32Array(5) };
    const ready = mergeSettled(
      [
        settled([
          [1, 0],
          [5, 1],
          [5, 3],
        ]),
        settled([
          [2, 1],
          [5, 0],
          [7, 2],
        ]),
      ],
      // Both, both, the second, the first.
      Uint32Array.from([3, 3, 2, 1]),
      Uint8Array.from([2, 2, 1, 1]),
      out,
    );
    expect(ready).toBe(4);
    expect([...out.request.subarray(0, ready)]).toEqual([1, 3, 0, 2]);
    expect([...out.atMs.subarray(0, ready)]).toEqual([5, 5, 5, 7]);
  });
});
