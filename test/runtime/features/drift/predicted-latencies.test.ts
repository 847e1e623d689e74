/** Promised latencies as histograms: of which requests, and with which percentiles. */
import { expect, test } from "vitest";
import type { Sample } from "../../../../runtime/base/exposition.ts";
import { PredictedLatencies } from "../../../../runtime/features/drift/predicted-latencies.ts";
import type { EndpointModel } from "../../../../runtime/server/requests/endpoint.ts";
import { RequestMetrics } from "../../../../runtime/server/requests/request-metrics.ts";
import { quantileOf } from "../../../support/bucket-quantile.ts";
import { readingOf } from "../../../support/drift-streams.ts";

const PROMISED = { violationRate: 0, feasible: true, latencyMs: { p50: 10, p95: 25, p99: 40 } };

/** A model whose requests the test answers. */
class Scene {
  readonly metrics = new RequestMetrics("letters");
  readonly latencies: PredictedLatencies;

  constructor() {
    const model = { signature: { names: ["letters"] }, metrics: this.metrics };
    this.latencies = new PredictedLatencies([model as unknown as EndpointModel], 100);
  }

  answer(requests: number): void {
    const times = { requestMs: 9, queueMs: 1, inputMs: 0, inferMs: 8, outputMs: 0 };
    for (let count = 0; count < requests; count++) this.metrics.onRequestAnswered(times, 1000);
  }

  get samples(): Sample[] {
    return this.latencies.lines().filter((one): one is Sample => one.kind === "sample");
  }

  get count(): number {
    return this.samples.at(-1)?.value ?? Number.NaN;
  }
}

test("requests get the promise that is in force after them, once", () => {
  const scene = new Scene();
  const reading = readingOf({ promised: PROMISED });
  scene.answer(1000);
  scene.latencies.look(reading);
  scene.latencies.look(reading);
  expect(scene.count).toBe(1000);
  for (const [share, seconds] of [
    [0.5, 0.01] as const,
    [0.95, 0.025] as const,
    [0.99, 0.04] as const,
  ]) {
    const ratio = quantileOf(scene.samples, share) / seconds;
    expect(ratio).toBeGreaterThan(0.87);
    expect(ratio).toBeLessThan(1.13);
  }
  scene.answer(1000);
  const slower = { ...PROMISED, latencyMs: { p50: 30, p99: 90 } };
  scene.latencies.look(readingOf({ promised: slower }));
  expect(scene.count).toBe(2000);
  // Half of the requests were promised 10 ms at the median, and half 30 ms.
  const median = quantileOf(scene.samples, 0.5);
  expect(median).toBeGreaterThan(0.012);
  expect(median).toBeLessThan(0.025);
});

test.each([
  ["no promise applies", { promised: undefined }],
  ["the level is not feasible", { promised: { ...PROMISED, feasible: false } }],
  ["the load is above the top level", { promised: PROMISED, loadQps: 120, topLevelQps: 100 }],
  ["the bundle promises no latency", { promised: { violationRate: 0, feasible: true } }],
])("nothing is predicted of requests while %s", (_, changes) => {
  const scene = new Scene();
  scene.answer(10);
  scene.latencies.look(readingOf(changes));
  expect(scene.count).toBe(0);
  // They are not counted later either.
  scene.answer(5);
  scene.latencies.look(readingOf({ promised: PROMISED }));
  expect(scene.count).toBe(5);
});
