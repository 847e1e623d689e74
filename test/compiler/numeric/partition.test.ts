import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  layerPartitions,
  mixedPartitions,
  type PlaceClass,
} from "../../../compiler/numeric/partition.ts";
import { placeShapes } from "../../../runtime/methods/accordion/bundle/place-shapes.ts";

/**
 * Whole numbers, so that sums are exact: zeros, equal ones and one that outweighs all others are
 * common.
 */
const LAYER = fc.oneof(
  fc.constantFrom(0, 0, 1, 1, 1_000_000),
  fc.integer({ min: 0, max: 9 }),
  fc.integer({ min: 0, max: 100_000 }),
);
const CHAIN = fc.array(LAYER, { minLength: 1, maxLength: 9 });

/** Every way to write `total` as a sum of `parts` numbers of at least 1. */
function compositions(total: number, parts: number): number[][] {
  if (parts === 1) return total >= 1 ? [[total]] : [];
  return Array.from({ length: Math.max(0, total - parts + 1) }, (_, index) => index + 1).flatMap(
    (first) => compositions(total - first, parts - 1).map((rest) => [first, ...rest]),
  );
}

/** Every order of the classes of a shape, each once. */
function orders(shape: readonly number[]): number[][] {
  if (shape.every((count) => count === 0)) return [[]];
  return shape.flatMap((count, index) =>
    count === 0
      ? []
      : orders(shape.map((other, at) => (at === index ? other - 1 : other))).map((rest) => [
          index,
          ...rest,
        ]),
  );
}

function stageTimes(
  classes: readonly PlaceClass[],
  cut: readonly number[],
  order: readonly number[],
): number[] {
  let start = 0;
  return cut.map((layers, stage) => {
    const { layerMs, overheadMs } = classes[order[stage] ?? -1] ?? { layerMs: [], overheadMs: NaN };
    const own = layerMs.slice(start, start + layers);
    start += layers;
    return own.reduce((sum, ms) => sum + ms, overheadMs);
  });
}

function leastBottleneck(classes: readonly PlaceClass[], shape: readonly number[]): number {
  const layerCount = classes[0]?.layerMs.length ?? 0;
  const places = shape.reduce((sum, count) => sum + count, 0);
  const times = orders(shape).flatMap((order) =>
    compositions(layerCount, places).map((cut) => Math.max(...stageTimes(classes, cut, order))),
  );
  return Math.min(...times);
}

const heaviest = (layerMs: readonly number[], cut: readonly number[]): number =>
  Math.max(
    ...stageTimes(
      [{ layerMs, overheadMs: 0 }],
      cut,
      cut.map(() => 0),
    ),
  );

describe("partitions over places that are alike", () => {
  it("have the least heaviest stage of all compositions, for every depth at once", () => {
    fc.assert(
      fc.property(CHAIN, fc.integer({ min: 1, max: 10 }), (layerMs, maxDepth) => {
        const partitions = layerPartitions(layerMs, maxDepth);
        expect(partitions).toHaveLength(Math.min(maxDepth, layerMs.length));
        for (const [index, cut] of partitions.entries()) {
          expect(cut).toHaveLength(index + 1);
          expect(cut.reduce((sum, layers) => sum + layers, 0)).toBe(layerMs.length);
          expect(Math.min(...cut)).toBeGreaterThanOrEqual(1);
          const places = { layerMs, overheadMs: 0 };
          expect(heaviest(layerMs, cut)).toBe(leastBottleneck([places], [index + 1]));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("are cut as they are when every time is a thousand times as long", () => {
    fc.assert(
      fc.property(CHAIN, (layerMs) => {
        const slower = layerMs.map((ms) => 1000 * ms);
        expect(layerPartitions(slower, 9)).toEqual(layerPartitions(layerMs, 9));
      }),
    );
  });

  it("give the last stages the fewest layers, of equal ones", () => {
    expect(layerPartitions([9, 1, 1, 1, 1], 3)).toEqual([[5], [1, 4], [1, 3, 1]]);
    expect(layerPartitions([0, 0, 0], 4)).toEqual([[3], [2, 1], [1, 1, 1]]);
  });

  it("keep to the depth that the layers allow", () => {
    expect(layerPartitions([3, 4], 8)).toEqual([[2], [1, 1]]);
    expect(layerPartitions([3], 8)).toEqual([[1]]);
  });
});

describe("partitions over places of several classes", () => {
  const instance = fc
    .record({ layers: fc.integer({ min: 1, max: 6 }), classes: fc.integer({ min: 1, max: 3 }) })
    .chain(({ layers, classes }) =>
      fc.record({
        classes: fc.array(
          fc.record({
            layerMs: fc.array(LAYER, { minLength: layers, maxLength: layers }),
            overheadMs: fc.constantFrom(0, 0, 1, 7, 50_000),
          }),
          { minLength: classes, maxLength: classes },
        ),
        most: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: classes, maxLength: classes }),
        maxPlaces: fc.integer({ min: 1, max: 5 }),
      }),
    );

  it("have the least heaviest stage of all compositions and orders of classes", () => {
    fc.assert(
      fc.property(instance, ({ classes, most, maxPlaces }) => {
        const shapes = [...placeShapes(most, maxPlaces)];
        const layerCount = classes[0]?.layerMs.length ?? 0;
        const partitions = mixedPartitions(classes, shapes);
        for (const [index, shape] of shapes.entries()) {
          const found = partitions[index] ?? null;
          const places = shape.reduce((sum, count) => sum + count, 0);
          if (places > layerCount) {
            expect(found).toBeNull();
            continue;
          }
          const { cut = [], classes: order = [], bottleneckMs } = found ?? {};
          expect(bottleneckMs).toBe(leastBottleneck(classes, shape));
          expect(Math.max(...stageTimes(classes, cut, order))).toBe(bottleneckMs);
          expect(Math.min(...cut)).toBeGreaterThanOrEqual(1);
          expect(shape.map((_, own) => order.filter((place) => place === own).length)).toEqual(
            shape,
          );
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("are those of places that are alike, with one class, whatever the overhead", () => {
    fc.assert(
      fc.property(CHAIN, fc.integer({ min: 0, max: 100 }), (layerMs, overheadMs) => {
        const mixed = mixedPartitions([{ layerMs, overheadMs }], [...placeShapes([8], 8)]);
        const cuts = mixed.flatMap((partition) => (partition === null ? [] : [partition.cut]));
        expect(cuts).toEqual(layerPartitions(layerMs, 8));
      }),
    );
  });

  it("put a stage where it is fast, though a shorter chain would be slower", () => {
    // The last layer is quick on the second class alone, and nothing else is.
    const classes = [
      { layerMs: [1, 1, 100], overheadMs: 0 },
      { layerMs: [100, 100, 1], overheadMs: 0 },
    ];
    const partition = mixedPartitions(classes, [...placeShapes([1, 1], 2)]).at(-1);
    expect(partition).toEqual({ cut: [2, 1], classes: [0, 1], bottleneckMs: 2 });
  });

  it("take places of the first class, of equal ones", () => {
    const classes = [1, 2].map(() => ({ layerMs: [1, 1], overheadMs: 0 }));
    const shapes = [...placeShapes([1, 1], 2)];
    expect(shapes).toEqual([
      [1, 0],
      [0, 1],
      [1, 1],
    ]);
    expect(mixedPartitions(classes, shapes).at(-1)).toMatchObject({ classes: [1, 0] });
  });
});
