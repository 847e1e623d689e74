import { describe, expect, test } from "vitest";
import {
  classOfPlaces,
  NONE,
  PipelineTable,
} from "../../../../../runtime/methods/accordion/core/pipeline-table.ts";
import { accordionBundle } from "../../../../support/accordion-bundle.ts";
import { chainPlaces } from "../../../../support/accordion-chain.ts";

describe("PipelineTable", () => {
  test("tells the time of a query of a model, shape and batch", () => {
    const table = new PipelineTable(chainPlaces(8));
    expect([table.modelCount, table.shapeCount, table.classCount]).toEqual([1, 4, 1]);
    expect([1, 2, 3, 4].map((size) => table.latencyMs(0, size - 1, 1))).toEqual([120, 60, 40, 30]);
    expect([1, 2, 8].map((batch) => table.latencyMs(0, 3, batch))).toEqual([30, 60, 240]);
  });

  test("tells the time of later models, and Infinity with too few layers", () => {
    const models = [
      { name: "a", layerMs: [30, 30, 30] },
      { name: "b", layerMs: [20, 10] },
    ];
    const table = new PipelineTable(accordionBundle({ models, places: 3, maxBatch: 2 }));
    const rows = [0, 1, 2].map((shape) => [1, 2].map((batch) => table.latencyMs(1, shape, batch)));
    expect(rows).toEqual([
      [30, 60],
      [30, 50],
      [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ]);
  });

  test("knows shapes by their places in each pool, and the one with one place less", () => {
    const pools = [{ workers: 2 }, { workers: 1 }];
    const table = new PipelineTable(chainPlaces(0, { pools, maxDepth: 3 }));
    const shapes = [...new Array(table.shapeCount).keys()];
    expect(
      shapes.map((shape) => [
        table.countOf(shape, 0),
        table.countOf(shape, 1),
        table.sizeOf(shape),
      ]),
    ).toEqual([
      [1, 0, 1],
      [0, 1, 1],
      [2, 0, 2],
      [1, 1, 2],
      [2, 1, 3],
    ]);
    expect(shapes.map((shape) => table.less(shape, 0))).toEqual([NONE, NONE, 0, 1, 3]);
    expect(shapes.map((shape) => table.less(shape, 1))).toEqual([NONE, NONE, NONE, 0, 2]);
  });

  test("knows the pool of every stage", () => {
    const pools = [{ workers: 1 }, { workers: 1, speed: 2 }];
    // The fast place takes 20 + 10 in 15 ms, the slow one the last 10.
    const models = [{ name: "a", layerMs: [20, 10, 10] }];
    const table = new PipelineTable(accordionBundle({ models, pools }));
    expect([0, 1].map((stage) => table.classOfStage(0, 2, stage))).toEqual([1, 0]);
  });

  test("places are the workers of the pools in their order, as many as are used", () => {
    const pools = [{ workers: 2 }, { workers: 1 }, { workers: 3 }];
    const bundle = chainPlaces(0, { pools, policy: { executionPlaces: 4 } });
    expect([...classOfPlaces(bundle)]).toEqual([0, 0, 1, 2]);
  });
});
