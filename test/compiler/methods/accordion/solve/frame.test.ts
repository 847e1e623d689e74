/** Tables of Accordion, from profiles to what a query of any batch takes on any shape. */
import { describe, expect, it } from "vitest";
import { capacityQps } from "../../../../../compiler/methods/accordion/solve/capacity.ts";
import type { AccordionFrame } from "../../../../../compiler/model/frames.ts";
import { layerPartitions } from "../../../../../compiler/numeric/partition.ts";
import { validateBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { table1Bundle } from "../../../../support/accordion-bundle.ts";
import { type Change, placesFrame, TWO_POOLS, TWO_PROFILES, TWO_SMALL } from "./spec.ts";

const SPED: Change = ["profile: profile.json#small", "profile: profile.json#sped"];
const LATE: Change = ["latency: 200 ms", "latency: 20 s"];
const PAPER: Change = ["maxDepth: 4", "maxDepth: 4\n  timing: paper"];

function modelOf({ tasks }: AccordionFrame, name: string) {
  const found = tasks[0]?.variants.find((variant) => variant.name === name);
  if (found === undefined) throw new RangeError(name);
  return found;
}

function pipelinesOf(frame: AccordionFrame, name: string) {
  return modelOf(frame, name).pipelines.map(
    (pipeline) => pipeline ?? { cut: null, stageMs: null, stepMs: null, isMeasured: null },
  );
}

/** Of every shape, for queries of 1, 2, … instances. */
function latencies(frame: AccordionFrame, name: string): number[][] {
  const { data } = modelOf(frame, name).latencyMs;
  const { maxBatch } = frame.policy;
  return Array.from({ length: data.length / maxBatch }, (_, shape) => [
    ...data.subarray(shape * maxBatch, (shape + 1) * maxBatch),
  ]);
}

describe("pipelines on places that are alike", () => {
  it("are cut as the exact partition of the layers, and not where there are too few", () => {
    const frame = placesFrame();
    const cuts = layerPartitions([4, 6, 3, 7, 5, 5], 4);
    expect(pipelinesOf(frame, "deep").map(({ cut }) => cut)).toEqual(cuts);
    expect(pipelinesOf(frame, "small").map(({ cut }) => cut)).toEqual([[2], [1, 1], null, null]);
  });

  it("have measured times where all stages were measured: p95 of each, mean as step", () => {
    const pipelines = pipelinesOf(placesFrame(), "deep");
    // One place is the whole model, which a row of its own tells.
    expect(pipelines[0]).toMatchObject({ stageMs: [33], stepMs: 33, isMeasured: true, speedup: 1 });
    expect(pipelines[1]).toMatchObject({
      cut: [3, 3],
      stageMs: [14, 19],
      stepMs: 18,
      isMeasured: true,
      speedup: 33 / 18,
    });
  });

  it("have the sums of their layers and the overhead where a stage was not measured", () => {
    const pipelines = pipelinesOf(placesFrame(), "deep");
    // Its first two stages were measured: 11 and 11.5 ms. The whole adds up to 31 ms and takes 33.
    const stageMs = (11 * 33) / 31;
    const third = pipelines[2];
    expect(third).toMatchObject({
      cut: [2, 2, 2],
      isMeasured: false,
      speedup: expect.closeTo(31 / 11, 12),
    });
    for (const ms of third?.stageMs ?? []) expect(ms).toBeCloseTo(stageMs, 12);
    expect(third?.stepMs).toBeCloseTo(stageMs, 12);
  });

  it("are never of workers beyond the places that are used", () => {
    const capped = placesFrame(["maxDepth: 4", "maxDepth: 4\n  executionPlaces: 2"]);
    expect([...capped.shapes.data]).toEqual([1, 2]);
    expect(capped.policy.executionPlaces).toBe(2);
    expect(placesFrame().policy.executionPlaces).toBe(6);
  });
});

describe("what queries take", () => {
  it("is the time of all stages, and a step for each instance but the first", () => {
    const [alone, halves] = latencies(placesFrame(), "deep");
    expect(alone).toEqual([33, 66, 99, 132, 165, 198, 231, 264]);
    expect(halves).toEqual([33, 51, 69, 87, 105, 123, 141, 159]);
    const [, , none] = latencies(placesFrame(), "small");
    expect(none).toEqual(new Array(8).fill(Number.POSITIVE_INFINITY));
  });

  it("is the time of the batch on one place over the speed-up, by the paper's timing", () => {
    const [alone, halves] = latencies(placesFrame(PAPER), "deep");
    expect(alone).toEqual([33, 66, 99, 132, 165, 198, 231, 264]);
    expect(halves?.[0]).toBeCloseTo(18, 9);
    expect(halves?.[7]).toBeCloseTo(144, 9);
  });

  it("follows given speed-ups in straight lines and nothing beyond them", () => {
    const frame = placesFrame(SPED, LATE, ["maxDepth: 4", "maxDepth: 5"]);
    const pipelines = modelOf(frame, "small").pipelines;
    expect(pipelines.map((pipeline) => pipeline?.speedup ?? null)).toEqual([
      1,
      expect.closeTo(1.25, 12),
      expect.closeTo(1.625, 12),
      expect.closeTo(2, 12),
      null,
    ]);
    expect(pipelines.map((pipeline) => pipeline?.isMeasured)).toEqual([
      true,
      true,
      false,
      true,
      undefined,
    ]);
    const rows = latencies(frame, "small");
    expect(rows[3]?.slice(0, 2)).toEqual([1400, 2100]);
    expect(latencies(placesFrame(SPED, LATE, PAPER), "small")[3]?.slice(0, 2)).toEqual([700, 1400]);
    expect(modelOf(frame, "small")).toMatchObject({ layerCount: 0, model: null });
  });

  it("goes by layers where a profile has speed-ups besides", () => {
    const both = placesFrame(["profile: profile.json#small", "profile: profile.json#both"]);
    expect(latencies(both, "small")).toEqual(latencies(placesFrame(), "small"));
  });
});

describe("pipelines on places of two pools", () => {
  const frame = placesFrame(TWO_POOLS, TWO_PROFILES, TWO_SMALL);

  it("are there for every shape, each cut for its places", () => {
    expect(frame.shapes.shape).toEqual([8, 2]);
    expect([...frame.shapes.data]).toEqual([1, 0, 0, 1, 2, 0, 1, 1, 0, 2, 2, 1, 1, 2, 2, 2]);
    for (const [shape, pipeline] of modelOf(frame, "deep").pipelines.entries()) {
      const counts = [0, 1].map((pool) => pipeline?.pools.filter((one) => one === pool).length);
      expect(counts).toEqual([...frame.shapes.data.subarray(2 * shape, 2 * shape + 2)]);
    }
  });

  it("put a slow place where it is not slow", () => {
    const mixed = modelOf(frame, "deep").pipelines[3];
    // 4 + 6 + 3 + 7 + 1 on the fast place; 10 + 2 + 2 on the other, and not the other way round. On
    // two fast places 14 + 18 took 33 ms, and 18 between two instances.
    expect(mixed).toMatchObject({ cut: [4, 2], pools: [0, 1], stageMs: [(21 * 33) / 32, 14] });
    expect(mixed?.stepMs).toBe(21);
    expect(mixed?.speedup).toBeCloseTo(33 / 21, 12);
  });

  it("keep to measured stages on the pool that they were measured on", () => {
    const [, slow, two, , twoSlow] = modelOf(frame, "deep").pipelines;
    expect(two).toMatchObject({ stageMs: [14, 19], isMeasured: true });
    expect(slow).toMatchObject({ stageMs: [54], isMeasured: false });
    expect(twoSlow).toMatchObject({ pools: [1, 1], isMeasured: false });
  });
});

describe("a frame", () => {
  it.each<[string, readonly Change[]]>([
    ["layers", []],
    ["two pools", [TWO_POOLS, TWO_PROFILES, TWO_SMALL]],
    ["two pools by the paper's timing", [TWO_POOLS, TWO_PROFILES, TWO_SMALL, PAPER]],
    ["speed-ups", [SPED, LATE]],
    ["speed-ups by the paper's timing", [SPED, LATE, PAPER]],
  ])("makes a bundle that is what bundles have to be, with %s", (_, changes) => {
    const shared = placesFrame(...changes);
    const { levels } = table1Bundle();
    const highestQps = capacityQps(shared);
    const level = { ...levels[0], loadQps: highestQps / 2, capacityQps: highestQps };
    const bundle = {
      ...shared,
      levels: [level],
      provenance: { compiler: "test", inputs: [] },
    };
    expect(() => validateBundle(bundle)).not.toThrow();
  });
});

describe("the capacity", () => {
  it("is that of places that each run a query of the mean batch by itself", () => {
    // 4 × 33 ms and 4 × 6 ms, each every other time, on 6 places.
    expect(capacityQps(placesFrame())).toBeCloseTo(6000 / ((132 + 24) / 2), 9);
  });

  it("counts with pipelines that are faster than their places by themselves", () => {
    const frame = placesFrame(TWO_POOLS, TWO_PROFILES, TWO_SMALL);
    const highestQps = capacityQps(frame);
    // Places of a pool for each model would carry less than the bound, and all places as fast as
    // the fast ones more.
    const alone = 2000 / ((132 + 24) / 2) + 2000 / ((4 * 54 + 4 * 12) / 2);
    expect(highestQps).toBeGreaterThan(alone);
    expect(highestQps).toBeLessThan(4000 / ((132 + 24) / 2));
  });

  it("is the optimum of the linear programme that shares places of two pools out", () => {
    const frame = placesFrame(
      TWO_POOLS,
      TWO_PROFILES,
      TWO_SMALL,
      ["maxDepth: 4", "maxDepth: 1"],
      ["maxBatch: 8", "maxBatch: 1"],
      ["meanBatch: 4", "meanBatch: 1"],
    );
    // Of two places each: deep takes 20 ms or 200 ms, small 200 ms or 40 ms.
    const ms = [
      [20, 200],
      [200, 40],
    ];
    const variants = frame.tasks[0]?.variants.map((variant, model) => ({
      ...variant,
      latencyMs: {
        dtype: "float64" as const,
        shape: [2, 1],
        data: Float64Array.from(ms[model] ?? []),
      },
    }));
    const shared = { ...frame, tasks: [{ name: "classify", variants: variants ?? [] }] };
    // The second pool serves 50 small ones a second, the first all deep ones and the rest: x / 100
    // + (x − 50) / 10 = 1 of each.
    expect(capacityQps(shared)).toBeCloseTo((2 * 6) / 0.11, 3);
  });

  it("is the paper's for its models", () => {
    const { levels: _, provenance: __, ...frame } = table1Bundle({ timing: "paper" });
    const meanMs = (20 * (1400 + 690 + 4820)) / 3;
    expect(capacityQps(frame)).toBeCloseTo((64 * 1000) / meanMs, 9);
  });
});
