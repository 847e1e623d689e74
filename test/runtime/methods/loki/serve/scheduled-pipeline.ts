/**
 * A pipeline's scheduler whose clock stands still, and whose batches and loads end when a test says
 * so.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { pipelineDispatcherOf } from "../../../../../runtime/methods/loki/core/loki-dispatcher.ts";
import { TreeCourses } from "../../../../../runtime/methods/loki/serve/tree-courses.ts";
import { PipelineMetrics } from "../../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../../runtime/server/graph/pipeline-scheduler.ts";
import { answererOf } from "../../../../../runtime/server/graph/requests/paths.ts";
import { pipelineSignatureOf } from "../../../../../runtime/server/graph/signature/pipeline-signature.ts";
import type {
  Answer,
  Outcome,
  Submission,
} from "../../../../../runtime/server/requests/request.ts";
import { FakeAssignedExecutor } from "../../../server/graph/fake-executor.ts";
import type { Entry } from "../../../server/graph/replayed.ts";
import {
  AXIS_NAMES,
  expectedOutputs,
  FACTORS,
  type SceneRow,
  sceneBytes,
  servedPipeline,
} from "../../../server/graph/served-pipeline.ts";

export const WORKERS = 6;
export const QUERY_CAPACITY = 200;

export function scheduled(
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
  const executor = FakeAssignedExecutor.of(scheduler);
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
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await Promise.resolve();
}

/** Answers everything that runs, until nothing does. */
export async function finishAll(executor: FakeAssignedExecutor): Promise<void> {
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
export function expectOwn(answer: Answer, rows: readonly SceneRow[]): void {
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

export async function answerOf(submission: Submission): Promise<Answer> {
  const outcome: Outcome = await submission.outcome;
  if (outcome.kind === "failed") throw new Error(outcome.message);
  return outcome;
}

export const STEP = fc.oneof(
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
      kind: fc.constant("compute"),
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
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("refuse", "refuse rows", "lose", "lose", "lose", "cancel", "second"),
      n: fc.nat({ max: 9 }),
      crops: fc.constant(0),
    }),
  },
);
type Step = typeof STEP extends fc.Arbitrary<infer Each> ? Each : never;

export const DROP_MODES = ["none", "last-task", "per-task", "reroute", "deadline"] as const;

/**
 * Runs the steps, then brings everything to its end: lost workers come back, or more of them go for
 * good.
 */
export async function played(
  setup: ReturnType<typeof scheduled>,
  steps: readonly Step[],
  gone: readonly number[] = [],
) {
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
    else if (kind === "compute" && executor.held.length > 0)
      executor.compute(n % executor.held.length);
    else if (kind === "finish" && executor.held.length > 0)
      executor.finish(n % executor.held.length);
    else if (kind === "refuse" && executor.held.length > 0)
      executor.refuse(n % executor.held.length);
    else if (kind === "refuse rows" && executor.held.length > 0)
      executor.refuseRows([n, 2 * n], n % executor.held.length);
    await settled();
  }
  for (const worker of lost) if (!gone.includes(worker)) scheduler.onWorkerReady(worker);
  for (const worker of gone) if (worker < WORKERS && !lost.has(worker)) executor.lose(worker);
  await finishAll(executor);
  return submissions;
}
