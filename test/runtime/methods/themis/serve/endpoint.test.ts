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
