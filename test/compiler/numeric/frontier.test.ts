import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buckets,
  cheapestSeries,
  Frontier,
  mergeParallel,
  mergeSeries,
} from "../../../compiler/numeric/frontier.ts";

type Point = readonly [cores: number, latencyMs: number];

const POINTS = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 100 })),
  { minLength: 1, maxLength: 90 },
);

function frontierOf(points: readonly Point[], addedMs = 0, limitMs = 1e9): Frontier {
  const frontier = new Frontier();
  frontier.clear(addedMs, limitMs);
  for (const [index, [cores, latencyMs]] of points.entries()) {
    frontier.offer(cores, latencyMs, index, 0);
  }
  return frontier;
}

function pointsOf({ start, count, cores, latencyMs }: Frontier): Point[] {
  return Array.from({ length: count - start }, (_, at): Point => {
    return [cores[start + at] ?? Number.NaN, latencyMs[start + at] ?? Number.NaN];
  });
}

/** Points that no other is as good as; by ascending cores. */
function undominated(points: readonly Point[]): Point[] {
  const kept = points.filter(
    ([cores, ms]) =>
      !points.some(
        ([otherCores, otherMs]) =>
          otherCores <= cores && otherMs <= ms && (otherCores < cores || otherMs < ms),
      ),
  );
  const unique = new Map(kept.map((point) => [point[0], point]));
  return [...unique.values()].sort((a, b) => a[0] - b[0]);
}

function pairs(left: Frontier, right: Frontier, sum: (a: number, b: number) => number): Point[] {
  return pointsOf(left).flatMap(([aCores, aMs]) =>
    pointsOf(right).map(([bCores, bMs]): Point => [aCores + bCores, sum(aMs, bMs)]),
  );
}

const within = (points: readonly Point[], limitMs: number) =>
  points.filter(([, ms]) => ms <= limitMs);

describe("a frontier", () => {
  it("has of all points offered those that no other is as good as", () => {
    fc.assert(
      fc.property(POINTS, (points) => {
        expect(pointsOf(frontierOf(points))).toEqual(undominated(points));
      }),
    );
  });

  it("keeps of equals the first", () => {
    const { count, first } = frontierOf([
      [3, 10],
      [3, 10],
    ]);
    expect([count, first[0]]).toEqual([1, 0]);
  });

  it("adds what is not offered with a point, and keeps nothing above its limit and no NaN", () => {
    const frontier = frontierOf(
      [
        [1, 31],
        [2, 30],
        [3, Number.NaN],
        [4, Number.POSITIVE_INFINITY],
      ],
      5,
      35,
    );
    expect(pointsOf(frontier)).toEqual([[2, 35]]);
  });

  it("finds the cheapest point within a latency, and leaves out what is slower or dearer", () => {
    const frontier = frontierOf([
      [1, 40],
      [2, 30],
      [3, 20],
      [5, 10],
    ]);
    expect(frontier.indexWithin(30)).toBe(1);
    expect(frontier.indexWithin(29)).toBe(2);
    expect(frontier.indexWithin(9)).toBe(4);
    frontier.trim(35);
    frontier.cut(4);
    expect(pointsOf(frontier)).toEqual([
      [2, 30],
      [3, 20],
    ]);
  });
});

describe("merged frontiers", () => {
  const limits = fc.integer({ min: 2, max: 220 });

  it("are one after the other the undominated sums within the limit", () => {
    const [work, out, cheapest] = [buckets(), new Frontier(), new Frontier()];
    fc.assert(
      fc.property(POINTS, POINTS, limits, (a, b, limitMs) => {
        const [left, right] = [frontierOf(a), frontierOf(b)];
        const expected = undominated(
          within(
            pairs(left, right, (x, y) => x + y),
            limitMs,
          ),
        );
        mergeSeries(left, right, limitMs, work, out);
        expect(pointsOf(out)).toEqual(expected);
        cheapestSeries(left, right, limitMs, cheapest);
        expect(pointsOf(cheapest)).toEqual(expected.slice(0, 1));
      }),
    );
  });

  it("are the same sums where costs lie as far apart as prices do", () => {
    const [work, out] = [buckets(), new Frontier()];
    const price = 123_457;
    fc.assert(
      fc.property(POINTS, POINTS, limits, (a, b, limitMs) => {
        const dear = b.map(([cores, ms]) => [price * cores, ms] as const);
        const [left, right] = [frontierOf(a), frontierOf(dear)];
        const sums = pairs(left, right, (x, y) => x + y);
        mergeSeries(left, right, limitMs, work, out);
        expect(pointsOf(out)).toEqual(undominated(within(sums, limitMs)));
      }),
    );
  });

  it("are side by side the undominated maxima within the limit", () => {
    const out = new Frontier();
    fc.assert(
      fc.property(POINTS, POINTS, limits, (a, b, limitMs) => {
        const [left, right] = [frontierOf(a), frontierOf(b)];
        mergeParallel(left, right, limitMs, out);
        expect(pointsOf(out)).toEqual(undominated(within(pairs(left, right, Math.max), limitMs)));
      }),
    );
  });

  it("name the points that they are made of, after a trim too", () => {
    const left = frontierOf([
      [1, 50],
      [2, 30],
      [4, 10],
    ]);
    const right = frontierOf([
      [1, 20],
      [3, 5],
    ]);
    left.trim(40);
    const out = new Frontier();
    for (const merge of [
      () => mergeSeries(left, right, 1000, buckets(), out),
      () => mergeParallel(left, right, 1000, out),
      () => cheapestSeries(left, right, 1000, out),
    ]) {
      merge();
      expect(out.count).toBeGreaterThan(0);
      for (let at = 0; at < out.count; at++) {
        const cores = left.cores[out.first[at] ?? -1] ?? 0;
        expect(out.cores[at]).toBe(cores + (right.cores[out.second[at] ?? -1] ?? 0));
      }
    }
  });
});
