/** Promised times as histograms: of which requests, and with which percentiles. */
import { expect, test } from "vitest";
import type { Sample } from "../../../../runtime/base/exposition.ts";
import { PredictedTimes } from "../../../../runtime/features/drift/predicted-times.ts";
import type { EndpointModel } from "../../../../runtime/server/requests/endpoint.ts";
import { RequestMetrics } from "../../../../runtime/server/requests/request-metrics.ts";
import { quantileOf } from "../../../support/bucket-quantile.ts";
import { readingOf } from "../../../support/drift-streams.ts";

const PROMISED = {
  ...{ violationRate: 0, feasible: true },
  latencyMs: { p50: 10, p95: 25, p99: 40 },
  queueMs: { p50: 2, p99: 24 },
};

/** A model whose requests the test answers. */
class Scene {
  readonly metrics = new RequestMetrics("letters");
  readonly predicted: PredictedTimes;

  constructor() {
    const model = { signature: { names: ["letters"] }, metrics: this.metrics };
    this.predicted = new PredictedTimes([model as unknown as EndpointModel], 100);
  }

  answer(requests: number): void {
    const times = { requestMs: 9, queueMs: 1, inputMs: 0, inferMs: 8, outputMs: 0 };
    for (let count = 0; count < requests; count++) this.metrics.onRequestAnswered(times, 1000);
  }

  samples(figure: "latency" | "queue"): Sample[] {
    const all = this.predicted.lines().filter((one) => one.kind === "sample");
    return all.filter(({ labels }) => labels["figure"] === figure);
  }

  /** Requests with a predicted latency, and with a predicted queue time. */
  get counts(): number[] {
    return (["latency", "queue"] as const).map(
      (figure) => this.samples(figure).at(-1)?.value ?? Number.NaN,
    );
  }
}

test("requests get the promise that is in force after them, once", () => {
  const scene = new Scene();
  const reading = readingOf({ promised: PROMISED });
  scene.answer(1000);
  scene.predicted.look(reading);
  scene.predicted.look(reading);
  expect(scene.counts).toEqual([1000, 1000]);
  for (const [figure, share, seconds] of [
    ["latency", 0.5, 0.01],
    ["latency", 0.95, 0.025],
    ["latency", 0.99, 0.04],
    ["queue", 0.5, 0.002],
    ["queue", 0.99, 0.024],
  ] as const) {
    const ratio = quantileOf(scene.samples(figure), share) / seconds;
    expect(ratio).toBeGreaterThan(0.87);
    expect(ratio).toBeLessThan(1.13);
  }
  scene.answer(1000);
  const slower = { ...PROMISED, latencyMs: { p50: 30, p99: 90 } };
  scene.predicted.look(readingOf({ promised: slower }));
  expect(scene.counts).toEqual([2000, 2000]);
  // Half of the requests were promised 10 ms at the median, and half 30 ms.
  const median = quantileOf(scene.samples("latency"), 0.5);
  expect(median).toBeGreaterThan(0.012);
  expect(median).toBeLessThan(0.025);
});

test.each([
  ["no promise applies", { promised: undefined }],
  ["the level is not feasible", { promised: { ...PROMISED, feasible: false } }],
  ["the load is above the top level", { promised: PROMISED, loadQps: 120, topLevelQps: 100 }],
  ["the bundle promises no times", { promised: { violationRate: 0, feasible: true } }],
])("nothing is predicted of requests while %s", (_, changes) => {
  const scene = new Scene();
  scene.answer(10);
  scene.predicted.look(readingOf(changes));
  expect(scene.counts).toEqual([0, 0]);
  // They are not counted later either.
  scene.answer(5);
  scene.predicted.look(readingOf({ promised: PROMISED }));
  expect(scene.counts).toEqual([5, 5]);
});

test("a promise without queue times, as of earlier bundles, predicts none", () => {
  const scene = new Scene();
  const { queueMs: _, ...promised } = PROMISED;
  scene.answer(10);
  scene.predicted.look(readingOf({ promised }));
  expect(scene.counts).toEqual([10, 0]);
});

test("a queue in which half of the requests do not wait has them in the lowest bucket", () => {
  const scene = new Scene();
  scene.answer(100);
  scene.predicted.look(readingOf({ promised: { ...PROMISED, queueMs: { p50: 0, p99: 24 } } }));
  const [lowest] = scene.samples("queue");
  expect(lowest?.value).toBeGreaterThanOrEqual(50);
  expect(lowest?.value).toBeLessThan(51);
});
