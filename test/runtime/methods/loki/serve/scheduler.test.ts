import { describe, expect, test } from "vitest";
import { lokiPipeline } from "../../../../../runtime/methods/loki/serve/loki-pipeline.ts";
import type { Submission } from "../../../../../runtime/server/requests/request.ts";
import { textOf } from "../../../../support/metrics-text.ts";
import {
  AXIS_NAMES,
  LARGE_ONLY,
  type SceneRow,
  servedPipeline,
} from "../../../server/graph/served-pipeline.ts";
import {
  answerOf,
  expectOwn,
  finishAll,
  scheduled,
  settled,
  WORKERS,
} from "./scheduled-pipeline.ts";

describe("requests", () => {
  test("a row without crops is answered as soon as the detector is done", async () => {
    const { executor, submit, start } = scheduled(servedPipeline({ levels: LARGE_ONLY }));
    start();
    const submission = submit([{ crops: 0, value: 4 }]);
    executor.finish();
    const answer = await answerOf(submission);
    expectOwn(answer, [{ crops: 0, value: 4 }]);
    expect(answer.answerer).toEqual({ variant: "large", accuracy: 1 });
  });

  test("rows come in the order of the request, whichever batch is done first", async () => {
    const { executor, submit, start } = scheduled(servedPipeline({ levels: LARGE_ONLY }));
    start();
    const rows = [
      { crops: 3, value: 1 },
      { crops: 4, value: 2 },
    ];
    const submission = submit(rows);
    executor.finish();
    await settled();
    // Both rows are one batch of the only detector; their crops run on two workers, the last first.
    while (executor.held.length > 0) {
      executor.finish(executor.held.length - 1);
      await settled();
    }
    const answer = await answerOf(submission);
    expectOwn(answer, rows);
    expect(answer.answerer).toEqual({ variant: "large|large", accuracy: 1 });
  });

  test("a worker that has computed has its next batch before its answer is here", async () => {
    const { executor, log, clock, submit, start } = scheduled(
      servedPipeline({ levels: LARGE_ONLY }),
    );
    start();
    const rows = [0, 1, 2].map((value) => ({ crops: 1, value: value + 1 }));
    const requests = rows.map((row) => submit([row]));
    const [first] = executor.held;
    clock.nowMs += 3;
    executor.compute();
    expect(executor.held.map(({ worker }) => worker)).toEqual([first?.worker, first?.worker]);
    expect(log.findLast(({ kind }) => kind === "done")).toMatchObject({ nowMs: clock.nowMs });
    await finishAll(executor);
    for (const [index, request] of requests.entries()) {
      expectOwn(await answerOf(request), [rows[index] ?? { crops: 0, value: 0 }]);
    }
  });

  test("both batches of a worker are tried again where it is lost between them", async () => {
    const { executor, log, scheduler, submit, start } = scheduled(
      servedPipeline({ levels: LARGE_ONLY }),
    );
    start();
    const requests = [1, 2, 3].map((value) => submit([{ crops: 0, value }]));
    executor.compute();
    const worker = executor.held[0]?.worker ?? -1;
    executor.lose(worker);
    await settled();
    scheduler.onWorkerReady(worker);
    await finishAll(executor);
    for (const [index, request] of requests.entries()) {
      expectOwn(await answerOf(request), [{ crops: 0, value: index + 1 }]);
    }
    expect(log.filter(({ kind }) => kind === "retry").length).toBeGreaterThan(1);
    expect(scheduler.pendingCount).toBe(0);
  });

  test("several paths are told with their counts, and the accuracy is their mean", async () => {
    const bundle = servedPipeline({
      levels: [
        {
          loadQps: 30,
          instances: [
            { of: "detect/large", batch: 2, replicas: 1 },
            { of: "classify/large", batch: 1, replicas: 1 },
            { of: "classify/small", batch: 1, replicas: 1 },
          ],
          paths: [
            { along: ["detect/large", "classify/large"], ratio: 0.5 },
            { along: ["detect/large", "classify/small"], ratio: 0.5 },
          ],
        },
      ],
    });
    const { executor, submit, start } = scheduled(bundle);
    start();
    const submission = submit([{ crops: 4, value: 1 }]);
    await finishAll(executor);
    const { answerer } = await answerOf(submission);
    expect(answerer.variant.split(",").sort()).toEqual(["large|large:2", "large|small:2"]);
    expect(answerer.accuracy).toBeCloseTo(0.9, 12);
  });

  test("one dropped query fails its request at once and takes the others back", async () => {
    const bundle = servedPipeline({ levels: LARGE_ONLY, policy: { drop: "deadline" } });
    const { scheduler, executor, clock, submit, start, metrics } = scheduled(bundle);
    start();
    const submission = submit([{ crops: 5, value: 1 }], 100);
    clock.nowMs = 98;
    executor.finish();
    expect(await submission.outcome).toMatchObject({ kind: "failed", reason: "late" });
    await finishAll(executor);
    expect(scheduler.pendingCount).toBe(0);
    const text = textOf(metrics, GAUGES);
    expect(text).toMatch(/queries_dropped_total\{task="classify",reason="late"\} [1-9]/);
    expect(text).toContain('stratagem_queries_total{outcome="dropped"} 1\n');
  });

  test("a batch that is refused, or twice lost, fails its requests only", async () => {
    const { executor, submit, start, scheduler } = scheduled(
      servedPipeline({ levels: LARGE_ONLY }),
    );
    start();
    const refused = submit([{ crops: 1, value: 1 }]);
    const waiting = submit([{ crops: 2, value: 2 }]);
    executor.refuse();
    await settled();
    expect(await refused.outcome).toMatchObject({ kind: "failed", reason: "inference" });
    executor.finish();
    await settled();
    for (let times = 0; times < 2; times++) {
      while (executor.held.length === 0) {
        executor.load();
        await settled();
      }
      executor.lose(executor.held[0]?.worker ?? -1);
      await settled();
    }
    expect(await waiting.outcome).toMatchObject({ kind: "failed", reason: "worker-lost" });
    await finishAll(executor);
    expect(scheduler.pendingCount).toBe(0);
    const next = submit([{ crops: 2, value: 3 }]);
    await finishAll(executor);
    expectOwn(await answerOf(next), [{ crops: 2, value: 3 }]);
  });

  test.each<[string, number[], RegExp]>([
    ["fewer counts than rows", [], /"crop_count" does not count/],
    ["a negative count", [-1], /"crop_count" does not count/],
    [
      "a count that is not the rows there are",
      [3],
      /"crops" has the shape \[1, 2\], expected 3 rows/,
    ],
  ])("%s fails the batch, not the server", async (_, counts, message) => {
    const { executor, submit, start, scheduler } = scheduled(
      servedPipeline({ levels: LARGE_ONLY }),
    );
    start();
    const submission = submit([{ crops: 1, value: 1 }]);
    const { resolve } = executor.take();
    const countBytes = new Uint8Array(BigInt64Array.from(counts, BigInt).buffer);
    resolve({
      outputs: [
        { shape: [1, 2], bytes: new Uint8Array(8) },
        { shape: [counts.length], bytes: countBytes },
        { shape: [1, 1], bytes: new Uint8Array(4) },
        { shape: [1, 1], bytes: new Uint8Array(4) },
      ],
      wallMs: 1,
      cpuMs: 1,
      cores: 1,
    });
    expect(await submission.outcome).toMatchObject({ kind: "failed", reason: "inference" });
    expect(await submission.outcome).toMatchObject({ message: expect.stringMatching(message) });
    expect(scheduler.pendingCount).toBe(0);
  });

  test("more rows than may be pending are refused as a whole", async () => {
    const { submit, start, scheduler, executor } = scheduled(servedPipeline(), 3);
    start();
    const first = submit([{ crops: 0, value: 1 }]);
    const second = submit([1, 2, 3].map((value) => ({ crops: 0, value })));
    expect(await second.outcome).toMatchObject({ kind: "failed", reason: "queue-full" });
    await finishAll(executor);
    expectOwn(await answerOf(first), [{ crops: 0, value: 1 }]);
    expect(scheduler.pendingCount).toBe(0);
  });
});

describe("plans", () => {
  test("are followed by assigning and releasing workers; under load nothing is lost", async () => {
    // At this SLO a beat is a second.
    const setup = scheduled(servedPipeline({ sloMs: 100 }), 80);
    const { scheduler, executor, clock, submit, start, metrics } = setup;
    start();
    const before = scheduler.level;
    const told = executor.told.length;
    const submissions: { submission: Submission; rows: SceneRow[] }[] = [];
    // Sixty requests a second for eight seconds: the lowest level carries them.
    for (let request = 0; request < 480; request++) {
      clock.nowMs += 1000 / 60;
      const rows = [{ crops: request % 4, value: 1 + request }];
      submissions.push({ submission: submit(rows, 5000), rows });
      await settled();
      if (executor.loading.length > 0 && request % 3 === 0) executor.load();
      while (executor.held.length > 1) {
        executor.finish();
        await settled();
      }
    }
    await finishAll(executor);
    expect(scheduler.level).not.toBe(before);
    expect(executor.told.length).toBeGreaterThan(told);
    for (const { submission, rows } of submissions) expectOwn(await answerOf(submission), rows);
    expect(scheduler.pendingCount).toBe(0);
    const text = textOf(metrics, GAUGES);
    expect(text).toContain('stratagem_queries_total{outcome="satisfied"} 480\n');
    expect(text).toMatch(/stratagem_fanout\{task="detect",variant="\w+",child="classify"\} 1\.5/);
  });

  test("make a worker hold all variants of a task where batches choose among them", () => {
    const bundle = servedPipeline({ levels: LARGE_ONLY });
    const { executor, start } = scheduled(bundle, 40, (task) => task === 1);
    start();
    const models = executor.told.map((told) => told.split(": ")[1]).sort();
    expect(models).toEqual(["1", "2 3", "2 3"]);
  });

  test("can be served once every worker of the first one is ready", () => {
    const { scheduler, executor } = scheduled(servedPipeline({ levels: LARGE_ONLY }));
    for (let worker = 0; worker < WORKERS; worker++) scheduler.onWorkerReady(worker);
    expect(executor.loading).toHaveLength(3);
    executor.load();
    executor.load();
    expect(scheduler.workers.canServe).toBe(false);
    executor.load();
    expect(scheduler.workers.canServe).toBe(true);
    expect([scheduler.workers.readyCount, scheduler.servers]).toEqual([3, 3]);
  });
});

const GAUGES = {
  loadQps: 1,
  pendingQueries: 0,
  readyWorkers: 1,
  workers: 1,
  servers: 1,
  workersByVariant: [],
  level: 0,
  topLevelQps: 1,
  bundleSha256: "ab",
  promise: { violationRate: 0.01 },
};

test("a cluster of any size has names for the queries that it runs", () => {
  const bundle = servedPipeline({ levels: LARGE_ONLY, workers: [20_000] });
  const { dispatcher, queryCapacity } = lokiPipeline(bundle, AXIS_NAMES, 100);
  expect(dispatcher.workerCount).toBe(20_000);
  expect(queryCapacity).toBeGreaterThan(20_000);
});
