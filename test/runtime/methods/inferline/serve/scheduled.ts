import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { inferlinePipeline } from "../../../../../runtime/methods/inferline/serve/inferline-pipeline.ts";
import { PipelineMetrics } from "../../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../../runtime/server/graph/pipeline-scheduler.ts";
import type {
  Answer,
  Outcome,
  Submission,
} from "../../../../../runtime/server/requests/request.ts";
import { FakeAssignedExecutor } from "../../../server/graph/fake-executor.ts";
import type { Entry } from "../../../server/graph/replayed.ts";
import {
  type CascadeRow,
  outputsByName,
  outputsOf,
  rowBytes,
  servedStages,
} from "../../../server/graph/served-tasks.ts";

export const WORKERS = 6;

/**
 * A scheduler of stages whose clock stands still, and whose batches and loads end when the test
 * says so.
 */
export function scheduledStages(bundle: InferlineBundle = servedStages(), maxPending = 40) {
  const clock = { nowMs: 0 };
  const log: Entry[] = [];
  const pipeline = inferlinePipeline(bundle, maxPending);
  const metrics = new PipelineMetrics(pipeline.signature);
  const scheduler = new PipelineScheduler({
    ...pipeline,
    maxPending,
    nowMs: () => clock.nowMs,
    recorder: (entry) => log.push(entry),
    observer: metrics,
  });
  const executor = FakeAssignedExecutor.of(scheduler, outputsOf);
  const submit = (rows: readonly CascadeRow[], timeMs = 1000) => {
    const request = { rows: rows.length, inputs: [rowBytes(rows)] };
    return scheduler.submit(request, clock.nowMs + timeMs);
  };
  const start = () => {
    for (let worker = 0; worker < WORKERS; worker++) scheduler.onWorkerReady(worker);
    while (executor.loading.length > 0) executor.load();
  };
  const names = pipeline.signature.outputs.map(({ name }) => name);
  const valuesOf = (answer: Answer) => outputsByName(answer, names);
  return { pipeline, scheduler, executor, clock, log, metrics, submit, start, valuesOf };
}

/** A scheduler and the executor whose batches and loads wait for the test. */
export type Setup = Pick<ReturnType<typeof scheduledStages>, "scheduler" | "executor">;

/**
 * Lets promises come to their callbacks, and the scheduler to a batch that it puts off until the
 * events of the time are in.
 */
export async function settled({ scheduler, executor }: Setup): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await Promise.resolve();
  // What is pending with nothing that runs or loads waits for a timer that is due.
  while (scheduler.pendingCount > 0 && executor.held.length + executor.loading.length === 0) {
    await new Promise(setImmediate);
  }
}

/** Answers everything that runs, until nothing does. */
export async function finishAll(setup: Setup): Promise<void> {
  const { executor } = setup;
  await settled(setup);
  while (executor.held.length > 0 || executor.loading.length > 0) {
    if (executor.loading.length > 0) executor.load();
    else executor.finish();
    await settled(setup);
  }
}

export async function answerOf(submission: Submission): Promise<Answer> {
  const outcome: Outcome = await submission.outcome;
  if (outcome.kind === "failed") throw new Error(outcome.message);
  return outcome;
}

/**
 * Ends the batch of a task that was begun first.
 * @param variant with one variant for each task, the task.
 */
export async function finishOf(setup: Setup, variant: number): Promise<void> {
  const index = setup.executor.held.findIndex(({ batch }) => batch.variant === variant);
  setup.executor.finish(index);
  await settled(setup);
}

/** What runs: of each batch the variant and the rows. */
export function running({ executor }: Setup): [variant: number, rows: number][] {
  return executor.held.map(({ batch }) => [batch.variant, batch.rows]);
}

/** A tuner that a few requests make add replicas, and few requests remove them again. */
export function restlessStages() {
  return servedStages({
    policy: { tuner: "relative" },
    levels: [
      {
        loadQps: 1,
        stages: [
          [4, 1],
          [2, 1],
          [4, 1],
        ],
        envelope: [
          [100, 1],
          [60_000, 3],
        ],
      },
    ],
  });
}
