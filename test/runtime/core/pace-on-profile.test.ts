/** Machines whose batches take as long as the profile says, rare ones included. */
import { expect, test } from "vitest";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { PipelinePaces } from "../../../runtime/core/graph/pipeline-paces.ts";
import { PaceMonitor } from "../../../runtime/core/pace.ts";
import { quantileAt, quantileKnots } from "../../../runtime/core/quantile-distribution.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { batchKnotsOf } from "../../../runtime/methods/themis/core/batch-knots.ts";
import { InstancePaces } from "../../../runtime/methods/themis/core/instance-paces.ts";
import { themisShapeOf } from "../../../runtime/methods/themis/core/shape.ts";

const one = (ms: number) =>
  ({ dtype: "float64", shape: [1, 1], data: Float64Array.of(ms) }) as const;
const BATCHES = 3000;

/** Lets batches run, 2 ms apart. @returns the highest pace that was assumed after the first 500. */
function highestPace(monitor: PaceMonitor, run: (nowMs: number) => void): number {
  let highest = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    run(2 * batch);
    if (batch > 500) highest = Math.max(highest, monitor.paceOf(0), monitor.medianPace);
  }
  return highest;
}

test("a worker of a pipeline has pace 1, although its p99 is thrice its mean", () => {
  const [p50, p95, p99, mean] = [0.8, 1.8, 3, 1] as const;
  const quantiles = { p50Ms: one(p50), p95Ms: one(p95), p99Ms: one(p99), meanMs: one(mean) };
  const serviceTimes = { percentile: 95, decisionMs: one(p95), quantiles };
  const cluster = { pools: [{ workers: 1 }] };
  const paces = new PipelinePaces(
    [{ model: null, profiles: [{ serviceTimes }] }],
    { cluster, slo: { latencyMs: 100 } } as never,
    Uint32Array.of(0),
    { queryCapacity: 1 },
  );
  paces.monitor.onReady(0);
  const rng = new Rng(1, 1);
  const knots = quantileKnots(p50, p95, p99, mean);
  const highest = highestPace(paces.monitor, (nowMs) => {
    paces.started(0, 0, 1);
    paces.done(0, quantileAt(knots, 0, rng.nextFloat()), nowMs);
  });
  expect(highest).toBeLessThan(1.2);
});

test("an instance of Themis has pace 1 as profiled", async () => {
  const { bundle: loaded } = await loadBundle("policies/scaling/bundle.msgpack");
  const bundle = structuredClone(loaded);
  if (bundle.method !== "themis") throw new Error("the example is of another method");
  const variants = bundle.tasks.flatMap((task) => task.variants);
  for (const { latency } of variants) {
    const points = latency.points.shape[0] ?? 0;
    const data = Float64Array.from(
      { length: 4 * points },
      (_, at) => [0.5, 1, 2, 0.6][at % 4] ?? 0,
    );
    Object.assign(latency, { quantiles: { dtype: "float64", shape: [points, 4], data } });
  }
  const paces = new InstancePaces(bundle, themisShapeOf(bundle), {});
  paces.see(0, true);
  const latency = variants[0]?.latency;
  const knots = latency && batchKnotsOf(latency);
  if (!knots) throw new Error("the example has no quantiles");
  const [p95Ms = 0] = latency.ms.data;
  const rng = new Rng(2, 1);
  const highest = highestPace(paces.monitor, (nowMs) => {
    paces.started(0, 0, 1, 1);
    paces.done(0, p95Ms * quantileAt(knots, 0, rng.nextFloat()), nowMs);
  });
  expect(highest).toBeLessThan(1.2);
});

test("a worker with a quick model is as fast as the others, whose batches wait as rarely", () => {
  const serving = { wakeMs: { p50: 0.15, p95: 0.5, p99: 0.8, mean: 0.2 } };
  const monitor = new PaceMonitor(3, 3, { adapt: true, mayBeFaster: true, beatMs: 1000, serving });
  for (const worker of [0, 1, 2]) monitor.onReady(worker);
  const rng = new Rng(1, 1);
  let alike = 0;
  for (let batch = 0; batch < 30 * BATCHES; batch++) {
    const worker = batch % 3;
    const profiledMs = worker === 0 ? 0.2 : 2;
    const waitedMs = rng.nextFloat() < 0.05 ? -0.6 * Math.log(1 - rng.nextFloat()) : 0;
    const ranMs = profiledMs * (0.9 + 0.2 * rng.nextFloat()) + waitedMs;
    monitor.onRun(worker, ranMs, profiledMs, 0.004, worker, batch, 2 * profiledMs);
    const paces = [0, 1, 2].map((one) => monitor.meanPaceOf(one));
    if (paces.every((pace) => pace >= 0.8 && pace <= 1.25)) alike++;
  }
  expect(alike / (30 * BATCHES)).toBeGreaterThan(0.9);
});
