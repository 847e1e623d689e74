/** The serving path from what was seen of it. */
import { expect, test } from "vitest";
import { contentionCurve } from "../../../../compiler/profile/serving/contention-curve.ts";
import type { PathWindow, SeenRequest } from "../../../../compiler/profile/serving/path-window.ts";
import {
  type PathSamples,
  servingRows,
  type WorkerSamples,
} from "../../../../compiler/profile/serving/serving-rows.ts";
import { partOf, scaledTo, spreadOf } from "../../../../compiler/profile/serving/spread.ts";
import { quantileAt, quantileKnots } from "../../../../runtime/core/quantile-distribution.ts";
import { Rng } from "../../../../runtime/core/rng.ts";

const QUIET = { steal: 0, neighbours: 0, generator: 0.25 };

/** What a server would tell whose parts take as long as said, always. */
const REQUEST_MS = 0.1;
const BATCH_MS = 0.08;
const ANSWER_MS = 0.05;
const WAKE_MS = 0.2;
const WIRE_MS = 0.3;
const SERVICE_MS = 1.5;
const MIB = 2 ** 20;

const window = (own: Partial<PathWindow>): PathWindow => ({
  answered: own.requests?.length ?? 100,
  failed: 0,
  batches: 1,
  processorMs: 0,
  inputMs: BATCH_MS,
  outputMs: 0,
  requests: [],
  machine: QUIET,
  ...own,
});

/** Alone: the server wakes for the request, the worker for the batch. */
function alone(): SeenRequest {
  const computeMs = SERVICE_MS - BATCH_MS + WAKE_MS;
  const totalMs = REQUEST_MS + BATCH_MS + ANSWER_MS + WAKE_MS + SERVICE_MS + WAKE_MS;
  const told = { queueMs: 0, batch: 1, responseBytes: 100, variant: "m" };
  return { ...told, totalMs, computeMs, roundTripMs: totalMs + WIRE_MS };
}

/** One of a batch of eight, whose answer waits for those before it. */
function amongEight(place: number): SeenRequest {
  const outputMs = (place + 1) * ANSWER_MS;
  const totalMs = 5 + BATCH_MS + 3 + outputMs;
  const told = { queueMs: 5, computeMs: 3, batch: 8, responseBytes: 100, variant: "m" };
  return { ...told, totalMs, roundTripMs: totalMs + WIRE_MS };
}

const WORKERS: WorkerSamples = {
  isOfPath: true,
  steadyMs: [SERVICE_MS],
  wokenMs: [SERVICE_MS + WAKE_MS],
  contention: [[[1, 1.5]]],
};

const hotMs = (batches: number) => REQUEST_MS + ANSWER_MS + BATCH_MS * batches;
const SAMPLES: PathSamples = {
  processors: 2,
  requestBytes: 1000,
  single: [window({ requests: Array.from({ length: 50 }, alone), processorMs: 0.6 })],
  many: [
    window({
      requests: Array.from({ length: 80 }, (_, index) => amongEight(index % 8)),
      batches: 1 / 8,
      processorMs: hotMs(1 / 8),
      outputMs: (9 / 2) * ANSWER_MS,
    }),
  ],
  large: null,
  stalls: null,
  workers: WORKERS,
};

test("finds the parts again that the samples were made of", () => {
  const rows = servingRows(SAMPLES);
  expect(rows.requestMs.mean).toBeCloseTo(REQUEST_MS, 6);
  expect(rows.batchMs.mean).toBeCloseTo(BATCH_MS, 6);
  expect(rows.answerMs.mean).toBeCloseTo(ANSWER_MS, 6);
  expect(rows.wakeMs.p50).toBeCloseTo(WAKE_MS, 6);
  expect(rows.wakeMs.p99).toBeCloseTo(WAKE_MS, 6);
  expect(rows.wireMs).toEqual(spreadOf([Math.round(WIRE_MS * 1e6) / 1e6]));
  expect(rows.contention).toEqual([1, 1.5]);
  expect([rows.stealShare, rows.generatorShare, rows.perMiBMs]).toEqual([0, 0.25, 0]);
});

test("the rows add up to the round trip of a request alone, whatever the server takes hot", () => {
  for (const processorMs of [0.02, 0.1, 0.2, 0.5]) {
    const many = SAMPLES.many.map((one) => ({ ...one, processorMs }));
    const rows = servingRows({ ...SAMPLES, many });
    const hot = rows.requestMs.mean + rows.batchMs.mean + rows.answerMs.mean;
    const sum = rows.wireMs.mean + hot + 2 * rows.wakeMs.mean + SERVICE_MS;
    expect(sum).toBeCloseTo(alone().roundTripMs, 5);
  }
});

test("two requests that were interrupted do not make the mean of waking", () => {
  const requests = Array.from({ length: 200 }, (_, index) => {
    const one = alone();
    const laterMs = index < 2 ? 60 : 0;
    return { ...one, totalMs: one.totalMs + laterMs, roundTripMs: one.roundTripMs + laterMs };
  });
  const rows = servingRows({ ...SAMPLES, single: [window({ requests, processorMs: 0.6 })] });
  expect(rows.wakeMs.mean).toBeCloseTo(WAKE_MS, 6);
});

test("where the time of the models is not known, sending is in it and the worker wakes", () => {
  const workers = { ...WORKERS, isOfPath: false, steadyMs: [7], wokenMs: [7 + WAKE_MS] };
  const rows = servingRows({ ...SAMPLES, workers });
  expect(rows.wakeMs.mean).toBeCloseTo(WAKE_MS, 6);
});

test("of a request of several batches, each takes what sending takes, the request the rest", () => {
  const many = SAMPLES.many.map((one) => ({ ...one, batches: 3, processorMs: 1, outputMs: 0.9 }));
  const { requestMs, batchMs, answerMs } = servingRows({ ...SAMPLES, many });
  expect(answerMs.mean).toBeCloseTo(0.2, 6);
  expect(batchMs.mean).toBeCloseTo(BATCH_MS, 6);
  expect(requestMs.mean).toBeCloseTo(1 - 0.2 - 3 * BATCH_MS, 6);
  // But not more than a part of what all takes.
  const slow = many.map((one) => ({ ...one, inputMs: 9 }));
  expect(servingRows({ ...SAMPLES, many: slow }).batchMs.mean).toBeCloseTo(0.4 / 3, 6);
});

test("more bytes take what the same request without them does not", () => {
  const requests = SAMPLES.many.flatMap((one) => one.requests);
  const larger = requests.map((request) => ({ ...request, responseBytes: 100 + MIB / 2 }));
  const processorMs = hotMs(1) + 6;
  const large = {
    bytes: 1000 + MIB / 2,
    windows: [window({ requests: larger, processorMs })],
  };
  expect(servingRows({ ...SAMPLES, large }).perMiBMs).toBeCloseTo(6, 4);
});

test("leaves the steal share out if the system does not report it", () => {
  const unknown = { ...QUIET, steal: null, neighbours: null };
  const blind = (windows: readonly PathWindow[]) =>
    windows.map((one) => ({ ...one, machine: unknown }));
  const rows = servingRows({
    ...SAMPLES,
    single: blind(SAMPLES.single),
    many: blind(SAMPLES.many),
  });
  expect(rows).not.toHaveProperty("stealShare");
});

test("a spread is scaled as a whole, and is flat where nothing has its form", () => {
  const form = { p50: 1, p95: 2, p99: 4, mean: 2 };
  expect(scaledTo(0.5, form)).toEqual({ p50: 0.25, p95: 0.5, p99: 1, mean: 0.5 });
  expect(scaledTo(0.5, spreadOf([]))).toEqual({ p50: 0.5, p95: 0.5, p99: 0.5, mean: 0.5 });
});

test("three parts of a sum add up to its median, and blame one of them for its tail", () => {
  const rng = new Rng(5, 1);
  const sums = Array.from({ length: 20_000 }, () => (rng.nextFloat() < 0.03 ? 9 : 3));
  const part = partOf(sums, 3);
  expect(part).toMatchObject({ p50: 1, p95: 1, p99: 7 });
  const knots = quantileKnots(part.p50, part.p95, part.p99, part.mean);
  let long = 0;
  for (let draw = 0; draw < 20_000; draw++) {
    const drawn = [0, 0, 0].map(() => quantileAt(knots, 0, rng.nextFloat()));
    if (drawn.reduce((sum, ms) => sum + ms, 0) > 6) long++;
  }
  // As often as it was seen, but for what quantiles in between do not tell.
  expect(long / 20_000).toBeGreaterThan(0.02);
  expect(long / 20_000).toBeLessThan(0.1);
});

test("contention is the median of what rounds say, and does not descend", () => {
  const steady = [2, 2.4, 2.2, 6];
  const drifting = steady.map((ms) => 10 * ms);
  const disturbed = [2, 24, 2, 60];
  expect(contentionCurve([[steady, drifting, disturbed]])).toEqual([1, 1.2, 1.2, 3]);
  expect(contentionCurve([])).toEqual([1]);
  expect(contentionCurve([[[5]]])).toEqual([1]);
});
