import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  type ThemisPipelineOptions,
  themisPipeline,
} from "../../../../../runtime/methods/themis/serve/themis-pipeline.ts";
import { PipelineMetrics } from "../../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../../runtime/server/graph/pipeline-scheduler.ts";
import type { Answer } from "../../../../../runtime/server/requests/request.ts";
import { FakeAssignedExecutor } from "../../../server/graph/fake-executor.ts";
import type { Entry } from "../../../server/graph/replayed.ts";
import {
  type CascadeRow,
  outputsByName,
  outputsOf,
  rowBytes,
} from "../../../server/graph/served-tasks.ts";
import { settled } from "../../inferline/serve/scheduled.ts";
import { levelsAt, servedScales } from "./served.ts";

/**
 * A scheduler of scaled stages whose clock stands still, and whose batches and loads end when the
 * test says so; its resizes are done at once.
 */
export function scheduledScales(
  bundle: ThemisBundle = servedScales(),
  options: Partial<ThemisPipelineOptions> = {},
  answer = outputsOf,
) {
  const clock = { nowMs: 0 };
  const log: Entry[] = [];
  const pipeline = themisPipeline(bundle, { maxPending: 40, ...options });
  const metrics = new PipelineMetrics(pipeline.signature);
  const scheduler = new PipelineScheduler({
    ...pipeline,
    maxPending: options.maxPending ?? 40,
    nowMs: () => clock.nowMs,
    recorder: (entry) => {
      pipeline.watch?.(entry);
      log.push(entry);
    },
    observer: metrics,
  });
  const executor = FakeAssignedExecutor.of(scheduler, answer);
  const submit = (rows: readonly CascadeRow[], timeMs = 1000) => {
    const request = { rows: rows.length, inputs: [rowBytes(rows)] };
    return scheduler.submit(request, clock.nowMs + timeMs);
  };
  const start = () => {
    const { workerCount } = scheduler.workers;
    for (let worker = 0; worker < workerCount; worker++) scheduler.onWorkerReady(worker);
    while (executor.loading.length > 0) executor.load();
  };
  const names = pipeline.signature.outputs.map(({ name }) => name);
  const valuesOf = (answer: Answer) => outputsByName(answer, names);
  return { pipeline, scheduler, executor, clock, log, metrics, submit, start, valuesOf };
}

export type ScaleSetup = ReturnType<typeof scheduledScales>;

const KEPT: CascadeRow = { escalate: 0, keep: 1, value: 5 };

/**
 * Requests at a rate for as many seconds of the clock, each answered before the next; what is to be
 * loaded is left.
 */
export async function traffic(setup: ScaleSetup, seconds: number, qps: number): Promise<void> {
  const { clock, executor, submit } = setup;
  for (let request = 0; request < seconds * qps; request++) {
    clock.nowMs += 1000 / qps;
    const submission = submit([KEPT]);
    await settled(setup);
    while (executor.held.length > 0) {
      executor.finish();
      await settled(setup);
    }
    await submission.outcome;
  }
}

/** Looks so frequent, and plans that follow so soon, that a few requests change everything. */
export function restlessScales() {
  const policy = { tickMs: 10, stableTicks: 1, scaling: "vertical" } as const;
  return servedScales({ levels: levelsAt([1, 10, 80]), policy });
}
