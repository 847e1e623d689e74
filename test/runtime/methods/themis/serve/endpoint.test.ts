import { afterEach, expect, test } from "vitest";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { themisApplication } from "../../../../../runtime/methods/themis/serve/themis-application.ts";
import type { RunningServer } from "../../../../../runtime/server/serve.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import { serveOne } from "../../../../support/serve-one.ts";
import { FakeAssignedExecutor } from "../../../server/graph/fake-executor.ts";
import { type CascadeRow, outputsOf } from "../../../server/graph/served-tasks.ts";
import { servedScales } from "./served.ts";

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const ROW: CascadeRow = { escalate: 1, keep: 0, value: 4 };

/**
 * A server over HTTP whose models are not real, whose clock stands still, and whose batches and
 * loads wait for the test.
 */
async function serving(bundle: ThemisBundle = servedScales()) {
  const clock = { nowMs: 1000 };
  let executor: FakeAssignedExecutor | undefined;
  const server = await serveOne(themisApplication, {
    bundle,
    bundleSha256: "ab".repeat(32),
    host: "127.0.0.1",
    port: 0,
    nowMs: () => clock.nowMs,
    version: "0.0.0",
    executorFactory: (handlers) => {
      executor = new FakeAssignedExecutor(handlers, outputsOf);
      return executor;
    },
  });
  open.push(server);
  if (executor === undefined) throw new Error("the server made no executor");
  for (let worker = 0; worker < 4; worker++) executor.handlers.onReady(worker);
  return { server, executor, clock };
}

type Serving = Awaited<ReturnType<typeof serving>>;

function infer({ server }: Serving, rows: readonly CascadeRow[], extra: object = {}) {
  const data = rows.map(({ escalate, keep, value }) => [escalate, keep, value]);
  const input = { name: "x", datatype: "FP32", shape: [rows.length, 3], data };
  const body = JSON.stringify({ inputs: [input], ...extra });
  return fetch(`${server.url}/v2/models/stages/infer`, { method: "POST", body });
}

async function get({ server }: Serving, path: string) {
  const reply = await fetch(`${server.url}${path}`);
  return { status: reply.status, text: await reply.text() };
}

async function metricsOf(house: Serving): Promise<string[]> {
  return ofOneModel((await get(house, "/metrics")).text).split("\n");
}

/** Ends batches until the reply is there. */
async function driven(house: Serving, reply: Promise<Response>): Promise<Response> {
  const wait: { reply?: Response } = {};
  const arrived = reply.then((response) => {
    wait.reply = response;
  });
  while (wait.reply === undefined) {
    if (house.executor.held.length > 0) house.executor.finish();
    await new Promise(setImmediate);
  }
  await arrived;
  return wait.reply;
}

function loadAll({ executor }: Serving): void {
  while (executor.loading.length > 0) executor.load();
}

/** A request at each of as many times of the clock. */
async function traffic(house: Serving, count: number, gapMs: number): Promise<void> {
  for (let request = 0; request < count; request++) {
    house.clock.nowMs += gapMs;
    expect((await driven(house, infer(house, [ROW]))).status).toBe(200);
  }
}

test("is ready while every task of the plan has an instance that holds its model", async () => {
  const house = await serving();
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  loadAll(house);
  await house.server.started;
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
  house.executor.lose(0);
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  house.executor.handlers.onReady(0);
  loadAll(house);
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
});

test("a request that is given up for its own timeout answers 504 without Retry-After", async () => {
  const house = await serving();
  loadAll(house);
  const first = infer(house, [ROW]);
  while (house.executor.held.length === 0) await new Promise(setImmediate);
  const old = infer(house, [ROW], { parameters: { timeout: 500_000 } });
  const waiting = "stratagem_pending_queries 2";
  while (!(await metricsOf(house)).includes(waiting)) await new Promise(setImmediate);
  house.clock.nowMs += 600;
  expect((await driven(house, first)).status).toBe(200);
  const reply = await old;
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([504, null]);
  expect(await reply.json()).toEqual({ error: "gate: its deadline cannot be met any more" });
  const text = await metricsOf(house);
  expect(text).toContain('stratagem_queries_dropped_total{task="gate",reason="late"} 1');
  expect(text).toContain('stratagem_queries_total{outcome="dropped"} 1');
});

test("tells of instances, cores, what is resized and what is foretold", async () => {
  // At this SLO a beat is a second.
  const house = await serving(servedScales({ sloMs: 100 }));
  loadAll(house);
  for (const line of [
    'stratagem_instances_target{task="slow"} 2',
    'stratagem_instances_assigned{task="slow"} 2',
    'stratagem_instances_ready{task="slow"} 2',
    'stratagem_instance_cores_target{task="slow"} 1',
    'stratagem_cores_held{task="slow"} 2',
    "stratagem_cores 8",
    "stratagem_level 2",
    "stratagem_goal_level 2",
    "stratagem_servers 4",
    "stratagem_workers 4",
    "stratagem_looks_total 0",
    "stratagem_bursts_total 0",
    "stratagem_forecast_qps NaN",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  await traffic(house, 60, 500);
  for (const line of [
    'stratagem_instances_ready{task="slow"} 1',
    'stratagem_cores_held{task="slow"} 1',
    "stratagem_level 0",
    "stratagem_goal_level 0",
    "stratagem_plans_settled_total 1",
    "stratagem_forecast_qps 2",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  while (house.executor.loading.length === 0) await traffic(house, 20, 12);
  for (const line of [
    'stratagem_instances_target{task="slow"} 2',
    'stratagem_instances_assigned{task="slow"} 2',
    'stratagem_instances_ready{task="slow"} 1',
    'stratagem_instance_cores_target{task="slow"} 2',
    // The one that comes up has one core.
    'stratagem_cores_held{task="slow"} 3',
    'stratagem_resizes_total{task="slow",direction="up"} 1',
    'stratagem_resizes_total{task="slow",direction="down"} 0',
    'stratagem_resizes_total{task="gate",direction="up"} 0',
    'stratagem_resize_ms_count{task="slow"} 1',
    'stratagem_resize_ms_sum{task="slow"} 0',
    "stratagem_level 2",
    "stratagem_goal_level 2",
    "stratagem_bursts_total 1",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  loadAll(house);
  await traffic(house, 1, 12);
  for (const line of [
    'stratagem_instances_ready{task="slow"} 2',
    'stratagem_cores_held{task="slow"} 2',
    'stratagem_resizes_total{task="slow",direction="down"} 1',
    "stratagem_plans_settled_total 2",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
});
