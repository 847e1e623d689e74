import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { pipelineDispatcherOf } from "../../../../../runtime/methods/loki/core/loki-dispatcher.ts";
import { TreeCourses } from "../../../../../runtime/methods/loki/serve/tree-courses.ts";
import { answererOf } from "../../../../../runtime/server/graph/paths.ts";
import { PipelineMetrics } from "../../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../../runtime/server/graph/pipeline-scheduler.ts";
import { pipelineSignatureOf } from "../../../../../runtime/server/graph/pipeline-signature.ts";
import type { Answer, Outcome, Submission } from "../../../../../runtime/server/request.ts";
import { FakeAssignedExecutor } from "../../../server/graph/fake-executor.ts";
import { type Entry, replayed } from "../../../server/graph/replayed.ts";
import {
  AXIS_NAMES,
  expectedOutputs,
  FACTORS,
  LARGE_ONLY,
  type SceneRow,
  sceneBytes,
  servedPipeline,
} from "../../../server/graph/served-pipeline.ts";

const WORKERS = 6;
const QUERY_CAPACITY = 200;

function scheduled(
  bundle: LokiBundle = servedPipeline(),
  maxPending = 40,
  holdsAllVariants: (task: number) => boolean = () => false,
) {
  const clock = { nowMs: 0 };
  const log: Entry[] = [];
  const signature = pipelineSignatureOf(bundle, AXIS_NAMES);
  const metrics = new PipelineMetrics(signature);
  const scheduler = new PipelineScheduler({
    signature,
    dispatcher: pipelineDispatcherOf(bundle, { queryCapacity: QUERY_CAPACITY }),
    queryCapacity: QUERY_CAPACITY,
    maxPending,
    answererOf: answererOf(bundle, signature),
    courses: new TreeCourses(signature),
    holdsAllVariants,
    nowMs: () => clock.nowMs,
    recorder: (entry) => log.push(entry),
    observer: metrics,
  });
  const executor = new FakeAssignedExecutor({
    onReady: (worker) => scheduler.onWorkerReady(worker),
    onModelReady: (worker, loads) => scheduler.onModelReady(worker, loads),
    onLost: (worker, reason) => scheduler.onWorkerLost(worker, reason),
  });
  scheduler.attach(executor);
  const submit = (rows: readonly SceneRow[], timeMs = 1000) => {
    const request = { rows: rows.length, inputs: [sceneBytes(rows)] };
    return scheduler.submit(request, clock.nowMs + timeMs);
  };
  const start = () => {
    for (let worker = 0; worker < WORKERS; worker++) scheduler.onWorkerReady(worker);
    while (executor.loading.length > 0) executor.load();
  };
  return { scheduler, executor, clock, log, metrics, submit, start };
}

/** Lets promises come to their callbacks. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await Promise.resolve();
}

/** Answers everything that runs, until nothing does. */
async function finishAll(executor: FakeAssignedExecutor): Promise<void> {
  while (executor.held.length > 0 || executor.loading.length > 0) {
    if (executor.loading.length > 0) executor.load();
    else executor.finish();
    await settled();
  }
}

function valuesOf({ outputs }: Answer, index: number): number[] {
  const bytes = Uint8Array.from(Buffer.concat([...(outputs[index]?.parts ?? [])]));
  return [...new Float32Array(bytes.buffer)];
}

/**
 * Checks that an answer has its own rows in order. Outputs: crops, crop_count, boxes, value,
 * logits.
 */
function expectOwn(answer: Answer, rows: readonly SceneRow[]): void {
  const { crops, boxes, value } = expectedOutputs(rows);
  expect(answer.outputs.map(({ shape }) => shape)).toEqual([
    [boxes.length, 2],
    [rows.length],
    [boxes.length, 1],
    [rows.length, 1],
    [boxes.length, 2],
  ]);
  expect(valuesOf(answer, 0)).toEqual(crops);
  expect(valuesOf(answer, 2)).toEqual(boxes);
  expect(valuesOf(answer, 3)).toEqual(value);
  const logits = valuesOf(answer, 4);
  for (let crop = 0; crop < boxes.length; crop++) {
    // The value is not 0, so the first number of a crop tells the variant.
    const factor = (logits[2 * crop] ?? 0) / (crops[2 * crop] ?? 1);
    expect(FACTORS).toContain(factor);
    expect(logits[2 * crop + 1]).toBeCloseTo(factor * (crops[2 * crop + 1] ?? 0), 6);
  }
}

async function answerOf(submission: Submission): Promise<Answer> {
  const outcome: Outcome = await submission.outcome;
  if (outcome.kind === "failed") throw new Error(outcome.message);
  return outcome;
}

const STEP = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("submit"),
      n: fc.integer({ min: 1, max: 3 }),
      crops: fc.integer({ min: 0, max: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("finish"),
      n: fc.nat({ max: 5 }),
      crops: fc.constant(0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("load", "ready"),
      n: fc.nat({ max: WORKERS - 1 }),
      crops: fc.constant(0),
    }),
  },
  fc.record({
    kind: fc.constantFrom("refuse", "lose", "cancel", "second"),
    n: fc.nat({ max: 9 }),
    crops: fc.constant(0),
  }),
);
type Step = typeof STEP extends fc.Arbitrary<infer Each> ? Each : never;

const DROP_MODES = ["none", "last-task", "per-task", "reroute", "deadline"] as const;

/** Runs the steps, then brings everything to its end. */
async function played(setup: ReturnType<typeof scheduled>, steps: readonly Step[]) {
  const { scheduler, executor, clock, submit, start } = setup;
  const submissions: { submission: Submission; rows: SceneRow[] }[] = [];
  const lost = new Set<number>();
  start();
  for (const { kind, n, crops } of steps) {
    clock.nowMs += 7;
    if (kind === "submit") {
      const rows = Array.from({ length: n }, (_, row) => ({
        crops: (crops + row) % 5,
        value: 1 + 10 * submissions.length + row,
      }));
      submissions.push({ submission: submit(rows, 300), rows });
    } else if (kind === "cancel") submissions[n]?.submission.cancel();
    else if (kind === "load") executor.load();
    else if (kind === "second") clock.nowMs += 1000;
    else if (kind === "lose" && n < WORKERS && !lost.has(n)) {
      lost.add(n);
      executor.lose(n);
    } else if (kind === "ready" && lost.delete(n)) scheduler.onWorkerReady(n);
    else if (kind === "finish" && executor.held.length > 0)
      executor.finish(n % executor.held.length);
    else if (kind === "refuse" && executor.held.length > 0)
      executor.refuse(n % executor.held.length);
    await settled();
  }
  for (const worker of lost) scheduler.onWorkerReady(worker);
  await finishAll(executor);
  return submissions;
}

test("always settles every request once, with its own rows, and loses no slot", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...DROP_MODES),
      fc.array(STEP, { maxLength: 80 }),
      async (drop, steps) => {
        const setup = scheduled(servedPipeline({ policy: { drop } }));
        const submissions = await played(setup, steps);
        for (const { submission, rows } of submissions) {
          const outcome = await submission.outcome;
          if (outcome.kind === "answered") expectOwn(outcome, rows);
        }
        expect(setup.scheduler.pendingCount).toBe(0);
      },
    ),
    { numRuns: 150 },
  );
});

function replay(bundle: LokiBundle, log: readonly Entry[]): Entry[] {
  const dispatcher = pipelineDispatcherOf(bundle, { queryCapacity: QUERY_CAPACITY });
  return replayed(dispatcher, QUERY_CAPACITY, log);
}

test("a recorded pipeline replays to identical commands", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
      const bundle = servedPipeline({ policy: { drop: "deadline" } });
      const setup = scheduled(bundle);
      await played(setup, steps);
      expect(replay(bundle, setup.log)).toEqual(setup.log);
    }),
    { numRuns: 50 },
  );
});

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
    const text = metrics.text(GAUGES);
    expect(text).toMatch(/queries_dropped_total\{task="classify",reason="late"\} [1-9]/);
    expect(text).toContain('stratagem_queries_total{outcome="dropped"} 1\n');
  });

  test("a batch that is refused, or whose worker is lost, fails its requests only", async () => {
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
    const [running] = executor.held;
    executor.lose(running?.worker ?? -1);
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

  test("stopping settles what is open", async () => {
    const { submit, start, scheduler } = scheduled();
    start();
    const { outcome } = submit([{ crops: 1, value: 1 }]);
    scheduler.abort();
    expect(await outcome).toMatchObject({ kind: "failed", reason: "closed" });
  });
});

describe("plans", () => {
  test("are followed by assigning and releasing workers; under load nothing is lost", async () => {
    const { scheduler, executor, clock, submit, start, metrics } = scheduled(servedPipeline(), 80);
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
    const text = metrics.text(GAUGES);
    expect(text).toMatch(/stratagem_plan_switches_total [1-9]/);
    expect(text).toMatch(/stratagem_model_loads_total \d+/);
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
  level: 0,
  levelCount: 1,
  topLevelQps: 1,
  bundleSha256: "ab",
};
