/** Rows that multiply and are gathered again, served by InferLine and by Themis. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { inferlineDispatcherOf } from "../../../../runtime/methods/inferline/core/inferline-dispatcher.ts";
import { inferlinePipeline } from "../../../../runtime/methods/inferline/serve/inferline-pipeline.ts";
import { themisDispatcherOf } from "../../../../runtime/methods/themis/core/themis-dispatcher.ts";
import { themisPipeline } from "../../../../runtime/methods/themis/serve/themis-pipeline.ts";
import { PipelineMetrics } from "../../../../runtime/server/graph/pipeline-metrics.ts";
import { PipelineScheduler } from "../../../../runtime/server/graph/pipeline-scheduler.ts";
import type { ServedPipeline } from "../../../../runtime/server/graph/served-pipeline.ts";
import type { Answer } from "../../../../runtime/server/requests/request.ts";
import { answerOf, finishAll, settled } from "../../methods/inferline/serve/scheduled.ts";
import { FakeAssignedExecutor } from "./fake-executor.ts";
import {
  AXIS_NAMES,
  CUT,
  type CutRow,
  cutBytes,
  cutOutputsOf,
  cutScales,
  cutStages,
  expectedCuts,
  FIND,
  PAIR,
  SUM,
  writeCutModels,
} from "./fanout-tasks.ts";
import { type RealServer, realServer } from "./real-server.ts";
import { type Entry, replayed } from "./replayed.ts";
import { verdicts } from "./served-tasks.ts";

/** A scheduler whose clock stands still. */
function scheduled(pipeline: ServedPipeline, maxPending: number) {
  const log: Entry[] = [];
  const metrics = new PipelineMetrics(pipeline.signature);
  const scheduler = new PipelineScheduler({
    ...pipeline,
    maxPending,
    nowMs: () => 0,
    recorder: (entry) => log.push(entry),
    observer: metrics,
  });
  const executor = FakeAssignedExecutor.of(scheduler, cutOutputsOf);
  const submit = (rows: readonly CutRow[]) =>
    scheduler.submit({ rows: rows.length, inputs: [cutBytes(rows)] }, 1000);
  for (let worker = 0; worker < pipeline.dispatcher.workerCount; worker++) {
    scheduler.onWorkerReady(worker);
  }
  while (executor.loading.length > 0) executor.load();
  return { pipeline, scheduler, executor, log, submit };
}

const stages = (maxPending = 40) =>
  scheduled(inferlinePipeline(cutStages(), maxPending, AXIS_NAMES), maxPending);

function namedOutputs({ outputs }: Answer, { signature }: ServedPipeline) {
  const entries = outputs.map(({ parts }, index) => {
    const { name = "", datatype } = signature.outputs[index] ?? {};
    const { buffer } = Uint8Array.from(Buffer.concat([...parts]));
    const isWhole = datatype === "INT64";
    const values = isWhole ? [...new BigInt64Array(buffer)].map(Number) : new Float32Array(buffer);
    return [name, [...values]] as const;
  });
  return Object.fromEntries(entries);
}

const ROWS: readonly CutRow[] = [
  { count: 5, value: 1 },
  { count: 0, value: 2 },
  { count: 1, value: 4 },
  { count: 4, value: 8 },
];

describe("rows that are cut into pieces and gathered", () => {
  test("are answered in their order, with windows that are full and sums of all", async () => {
    const setup = stages();
    const submission = setup.submit(ROWS);
    await finishAll(setup);
    const byName = namedOutputs(await answerOf(submission), setup.pipeline);
    expect(byName).toEqual(expectedCuts(ROWS));
    // Sums are of any number of pieces, so each runs alone; pairs share a batch.
    const batches = setup.executor.batches.map(({ variant, rows }) => [variant, rows]);
    expect(batches.filter(([variant]) => variant === SUM)).toEqual([
      [SUM, 1],
      [SUM, 1],
      [SUM, 1],
    ]);
    expect(batches.filter(([variant]) => variant === PAIR).map(([, rows]) => rows)).toContain(2);
  });

  test("wait for the last of what was made of the same row, not of others", async () => {
    const setup = stages();
    const first = setup.submit([{ count: 5, value: 1 }]);
    const running = () => setup.executor.held.map(({ batch }) => [batch.variant, batch.rows]);
    await settled(setup);
    setup.executor.finish();
    await settled(setup);
    expect(running()).toEqual([
      [FIND, 4],
      [FIND, 1],
    ]);
    setup.executor.finish(0);
    await settled(setup);
    expect(running()).toEqual([[FIND, 1]]);
    setup.executor.finish(0);
    await settled(setup);
    expect(running()).toEqual([
      [SUM, 1],
      [PAIR, 2],
    ]);
    await finishAll(setup);
    await answerOf(first);
  });

  test("are recorded so that a fresh dispatcher says the same", async () => {
    const inferline = stages();
    const themis = scheduled(
      themisPipeline(cutScales(), { maxPending: 40, axisNames: AXIS_NAMES }),
      40,
    );
    for (const setup of [inferline, themis]) {
      const submissions = [ROWS, ROWS.slice(2), ROWS.slice(0, 1)].map((rows) => setup.submit(rows));
      await finishAll(setup);
      for (const submission of submissions) await answerOf(submission);
      expect(setup.log.some((entry) => entry.kind === "fanout" && entry.count === 5)).toBe(true);
    }
    const { queryCapacity } = inferline.pipeline;
    const fresh = inferlineDispatcherOf(cutStages(), { queryCapacity });
    expect(replayed(fresh, queryCapacity, inferline.log)).toEqual(inferline.log);
    const scaled = themisDispatcherOf(cutScales(), {
      queryCapacity: themis.pipeline.queryCapacity,
    });
    expect(replayed(scaled, themis.pipeline.queryCapacity, themis.log)).toEqual(themis.log);
  });

  test("leave nothing behind when their request is given up", async () => {
    const setup = stages(2);
    for (let round = 0; round < 60; round++) {
      const submission = setup.submit(ROWS.slice(0, 1));
      await settled(setup);
      setup.executor.finish();
      await settled(setup);
      submission.cancel();
      await finishAll(setup);
      expect((await submission.outcome).kind).toBe("failed");
    }
    expect(setup.scheduler.pendingCount).toBe(0);
    const last = setup.submit(ROWS.slice(3));
    await finishAll(setup);
    await answerOf(last);
  });
});

describe("a request fails, alone, and says why", () => {
  test("if its rows become more than there is room for", async () => {
    const setup = stages(1);
    const submission = setup.submit([{ count: 40, value: 1 }]);
    await finishAll(setup);
    expect(await submission.outcome).toMatchObject({
      kind: "failed",
      reason: "queue-full",
      message: "queue full: the maximum number of rows that tasks have made is in progress",
    });
    const after = setup.submit([{ count: 3, value: 1 }]);
    await finishAll(setup);
    await answerOf(after);
  });

  test("if a model counts less than nothing", async () => {
    const setup = stages();
    const submission = setup.submit([{ count: 1, value: 1 }]);
    await settled(setup);
    const { batch, resolve } = setup.executor.take();
    expect(batch.variant).toBe(CUT);
    const [, ...others] = cutOutputsOf(batch);
    resolve({ outputs: [verdicts([-1]), ...others], wallMs: 1, cpuMs: 1, cores: 1 });
    await finishAll(setup);
    expect(await submission.outcome).toMatchObject({
      reason: "inference",
      message: expect.stringContaining('"count" does not count rows for 1 rows'),
    });
  });
});

describe("served by workers", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-fanouts-"));
  writeCutModels(folder);
  afterAll(() => rmSync(folder, { recursive: true }));
  let open: RealServer | undefined;
  afterEach(() => open?.server.close());

  test.each([
    ["inferline", { ...cutStages(), slo: { ...cutStages().slo, latencyMs: 30_000 } }],
    ["themis", { ...cutScales(), slo: { ...cutScales().slo, latencyMs: 30_000 } }],
  ])("of %s, are what is expected", async (_, bundle) => {
    open = await realServer(bundle, folder);
    const names = Object.keys(expectedCuts([]));
    const ask = async (rows: readonly CutRow[]) => {
      const data = rows.map(({ count, value }) => [count, value]);
      const input = { name: "x", datatype: "FP32", shape: [rows.length, 2], data };
      const body = JSON.stringify({ inputs: [input], outputs: names.map((name) => ({ name })) });
      const path = `v2/models/${bundle.application}/infer`;
      const reply = await fetch(`${open?.url}/${path}`, { method: "POST", body });
      expect(reply.status).toBe(200);
      const { outputs } = (await reply.json()) as { outputs: { name: string; data: number[] }[] };
      const found = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
      expect(found).toEqual(expectedCuts(rows));
    };
    await Promise.all(
      Array.from({ length: 12 }, (__, client) =>
        ask(
          Array.from({ length: 1 + (client % 3) }, (___, row) => ({
            count: (client + 2 * row) % 7,
            value: 10 * client + row,
          })),
        ),
      ),
    );
  });
});
