import { afterEach, expect, test } from "vitest";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { themisApplication } from "../../../../../runtime/methods/themis/serve/themis-application.ts";
import {
  closeServed,
  driven,
  get,
  inferStages,
  loadAll,
  metricsOf,
  served,
} from "../../../server/graph/served-application.ts";
import { type CascadeRow, outputsOf } from "../../../server/graph/served-tasks.ts";
import { servedScales } from "./served.ts";

const ROW: CascadeRow = { escalate: 1, keep: 0, value: 4 };

afterEach(closeServed);

const serving = (bundle: ThemisBundle = servedScales()) =>
  served(themisApplication, bundle, 4, {}, outputsOf);

type Serving = Awaited<ReturnType<typeof serving>>;

/** A request at each of as many times of the clock. */
async function traffic(house: Serving, count: number, gapMs: number): Promise<void> {
  for (let request = 0; request < count; request++) {
    house.clock.nowMs += gapMs;
    expect((await driven(house, inferStages(house, [ROW]))).status).toBe(200);
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
  const first = inferStages(house, [ROW]);
  while (house.executor.held.length === 0) await new Promise(setImmediate);
  const old = inferStages(house, [ROW], { parameters: { timeout: 500_000 } });
  const waiting = "stratagem_pending_queries 2";
  while (!(await metricsOf(house)).includes(waiting)) await new Promise(setImmediate);
  house.clock.nowMs += 600;
  expect((await driven(house, first)).status).toBe(200);
  const reply = await old;
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([504, null]);
  expect(await reply.json()).toEqual({ error: "gate: its deadline can no longer be met" });
  const text = await metricsOf(house);
  expect(text).toContain('stratagem_queries_dropped_total{task="gate",reason="late"} 1');
  expect(text).toContain('stratagem_queries_total{outcome="dropped"} 1');
});

test("tells of instances, cores, what is resized and what is foretold", async () => {
  // At this SLO a beat is a second.
  const house = await serving(servedScales({ sloMs: 100 }));
  loadAll(house);
  for (const line of [
    'stratagem_task_workers{task="slow",state="target"} 2',
    'stratagem_task_workers{task="slow",variant="slow",state="assigned"} 2',
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 2',
    'stratagem_worker_cores_target{task="slow"} 1',
    'stratagem_cores{task="slow",state="held"} 2',
    'stratagem_cores{state="limit"} 8',
    "stratagem_level 2",
    'stratagem_workers{state="planned"} 4',
    'stratagem_workers{state="total"} 4',
    "stratagem_forecast_qps NaN",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  await traffic(house, 60, 500);
  for (const line of [
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 1',
    'stratagem_cores{task="slow",state="held"} 1',
    "stratagem_level 0",
    "stratagem_forecast_qps 2",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  while (house.executor.loading.length === 0) await traffic(house, 20, 12);
  for (const line of [
    'stratagem_task_workers{task="slow",state="target"} 2',
    'stratagem_task_workers{task="slow",variant="slow",state="assigned"} 2',
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 1',
    'stratagem_worker_cores_target{task="slow"} 2',
    // The one that comes up has one core.
    'stratagem_cores{task="slow",state="held"} 3',
    'stratagem_scaling_actions_total{task="slow",resource="cores",direction="up"} 1',
    'stratagem_scaling_actions_total{task="slow",resource="cores",direction="down"} 0',
    'stratagem_scaling_actions_total{task="gate",resource="cores",direction="up"} 0',
    "stratagem_level 2",
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  loadAll(house);
  await traffic(house, 1, 12);
  for (const line of [
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 2',
    'stratagem_cores{task="slow",state="held"} 2',
    'stratagem_scaling_actions_total{task="slow",resource="cores",direction="down"} 1',
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
});
