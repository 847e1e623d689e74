/** Each thing once: against the definition, for every way in which detectors tell of boxes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { overlap, suppressed } from "../../kit/boxes/suppression.ts";
import type { NamedTensors } from "../../kit/module/contract.ts";
import open from "../../kit/nms.ts";

const folder = ".";

interface Found {
  readonly box: readonly number[];
  readonly score: number;
  readonly index: number;
}

function foundIn(tensors: NamedTensors, row = 0): Found[] {
  const most = tensors["scores"]?.shape[1] ?? 0;
  const count = Number(tensors["count"]?.data[row]);
  return Array.from({ length: count }, (_, place) => {
    const at = row * most + place;
    return {
      box: [0, 1, 2, 3].map((part) => Number(tensors["boxes"]?.data[at * 4 + part])),
      score: Number(tensors["scores"]?.data[at]),
      index: Number(tensors["classes"]?.data[at]),
    };
  });
}

function boxesOf(boxes: readonly number[][], scores: readonly number[][]): NamedTensors {
  return {
    boxes: { data: Float32Array.from(boxes.flat()), shape: [1, boxes.length, 4] },
    scores: {
      data: Float32Array.from(scores.flat()),
      shape: [1, boxes.length, scores[0]?.length ?? 1],
    },
  };
}

test("the likeliest of boxes that overlap stays, and what is not likely goes", async () => {
  const module = await open({ options: { iou: 0.5, score: 0.3, max: 5 }, folder });
  const boxes = [
    [0, 0, 10, 10],
    [1, 0, 11, 10],
    [20, 0, 30, 10],
    [50, 0, 60, 10],
  ];
  const tensors = await module.run(boxesOf(boxes, [[0.6], [0.75], [0.5], [0.25]]), 1);
  expect(foundIn(tensors)).toEqual([
    { box: [1, 0, 11, 10], score: 0.75, index: 0 },
    { box: [20, 0, 30, 10], score: 0.5, index: 0 },
  ]);
  expect([...(tensors["boxes"]?.data ?? [])].slice(8)).toEqual(new Array(12).fill(0));
});

test("boxes of other classes stay, unless they are not to", async () => {
  const boxes = [
    [0, 0, 10, 10],
    [0, 0, 10, 10],
  ];
  const inputs = boxesOf(boxes, [
    [0.5, 0.1],
    [0.1, 0.75],
  ]);
  const apart = await open({ options: { classes: 2 }, folder });
  expect(foundIn(await apart.run(inputs, 1)).map(({ index }) => index)).toEqual([1, 0]);
  const together = await open({ options: { classes: 2, acrossClasses: true }, folder });
  expect(foundIn(await together.run(inputs, 1)).map(({ index }) => index)).toEqual([1]);
});

test("YOLO of both layouts tells the same things", async () => {
  const middles = [
    [15, 20, 10, 20],
    [100, 50, 8, 8],
  ];
  const scores = [
    [0.1, 0.75],
    [0.5, 0.25],
  ];
  const columns = [0, 1, 2, 3].map((part) => middles.map((box) => box[part] ?? 0));
  const byClass = [0, 1].map((index) => scores.map((own) => own[index] ?? 0));
  const v8 = await open({ options: { from: "yolov8", classes: 2 }, folder });
  const predictions = (values: readonly number[], ...shape: number[]) => {
    return { predictions: { data: Float32Array.from(values), shape: [1, ...shape] } };
  };
  const first = await v8.run(predictions([...columns, ...byClass].flat(), 6, 2), 1);
  const expected = [
    { box: [10, 10, 20, 30], score: 0.75, index: 1 },
    { box: [96, 46, 104, 54], score: 0.5, index: 0 },
  ];
  expect(foundIn(first)).toEqual(expected);
  const v5 = await open({ options: { from: "yolov5", classes: 2 }, folder });
  const lines = middles.flatMap((box, row) => [...box, 0.5, ...(scores[row] ?? [])]);
  expect(foundIn(await v5.run(predictions(lines, 2, 7), 1))).toEqual(
    expected.map((one) => ({ ...one, score: one.score / 2 })),
  );
});

describe("what stays of random boxes", () => {
  const side = fc.integer({ min: 0, max: 12 });
  const box = fc.record({
    left: side,
    top: side,
    width: fc.integer({ min: 1, max: 8 }),
    height: fc.integer({ min: 1, max: 8 }),
    score: fc.integer({ min: 0, max: 20 }),
    index: fc.nat(1),
  });

  test("is what the definition says", () => {
    fc.assert(
      fc.property(fc.array(box, { maxLength: 14 }), fc.boolean(), (boxes, isAcrossClasses) => {
        const corners = boxes.flatMap(({ left, top, width, height }) => {
          return [left, top, left + width, top + height];
        });
        const detections = {
          corners: Float32Array.from(corners),
          scores: Float32Array.from(boxes, ({ score }) => score / 20),
          classes: Uint32Array.from(boxes, ({ index }) => index),
        };
        const kept = suppressed(detections, { maxOverlap: 0.4, isAcrossClasses, max: 100 });
        expect(kept).toEqual(slowlySuppressed(boxes, isAcrossClasses));
      }),
    );
  });

  /** Takes the likeliest of all, strikes out what it covers, and begins anew. */
  function slowlySuppressed(
    boxes: readonly (typeof box extends fc.Arbitrary<infer One> ? One : never)[],
    isAcrossClasses: boolean,
  ): number[] {
    const left = new Set(boxes.keys());
    const kept: number[] = [];
    while (left.size > 0) {
      const best = [...left].reduce((a, b) =>
        (boxes[b]?.score ?? 0) > (boxes[a]?.score ?? 0) ? b : a,
      );
      kept.push(best);
      left.delete(best);
      for (const other of [...left]) {
        const isOfIt = isAcrossClasses || boxes[best]?.index === boxes[other]?.index;
        if (isOfIt && sharedCells(best, other) > 0.4) left.delete(other);
      }
    }
    return kept;

    /** Counts cells of a grid. */
    function sharedCells(one: number, other: number): number {
      const cells = [one, other].map((at) => {
        const { left: x = 0, top: y = 0, width = 0, height = 0 } = boxes[at] ?? {};
        const own = new Set<number>();
        for (let line = y; line < y + height; line++) {
          for (let column = x; column < x + width; column++) own.add(line * 100 + column);
        }
        return own;
      });
      const [first = new Set(), second = new Set()] = cells;
      const shared = [...first].filter((cell) => second.has(cell)).length;
      return shared / (first.size + second.size - shared);
    }
  }
});

test("boxes of no area overlap nothing", () => {
  expect(overlap(Float32Array.of(1, 1, 1, 1, 1, 1, 1, 1), 0, 4)).toBe(0);
});

test("as many stay as may, the likeliest", async () => {
  const module = await open({ options: { max: 1 }, folder });
  const boxes = [
    [0, 0, 1, 1],
    [5, 5, 6, 6],
  ];
  expect(foundIn(await module.run(boxesOf(boxes, [[0.5], [0.75]]), 1))).toMatchObject([
    { score: 0.75 },
  ]);
});

test("what is no number is refused by its row, and what does not fit by its shape", async () => {
  const module = await open({ options: {}, folder });
  await expect(module.run(boxesOf([[0, 0, 1, 1]], [[Number.NaN]]), 1)).rejects.toMatchObject({
    rows: [0],
    message: 'input "boxes" row 0: expected numbers, got NaN in box 0',
  });
  const wide = boxesOf([[0, 0, Number.POSITIVE_INFINITY, 1]], [[0.9]]);
  await expect(module.run(wide, 1)).rejects.toThrow("expected finite numbers");
  const uneven = { ...boxesOf([[0, 0, 1, 1]], [[0.5], [0.5]]) };
  uneven["scores"] = { data: new Float32Array(2), shape: [1, 2, 1] };
  await expect(module.run(uneven, 1)).rejects.toThrow(
    'input "scores": expected those of 1 boxes, got 2',
  );
});

test.each([
  [{ iou: 1.5 }, "iou: expected a number from 0 to 1, got 1.5"],
  [{ from: "yolov3" }, 'from: expected one of boxes, yolov8, yolov5, got "yolov3"'],
])("options %j are refused in one sentence", async (options, message) => {
  await expect(open({ options, folder })).rejects.toThrow(message);
});
