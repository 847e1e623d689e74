import { afterEach, expect, test } from "vitest";
import type { InferlineBundle } from "../../../../../runtime/bundle/schema.ts";
import { beatMsOf } from "../../../../../runtime/core/beat.ts";
import { inferlineApplication } from "../../../../../runtime/methods/inferline/serve/inferline-application.ts";
import type { InferlineLevelSketch } from "../../../../support/inferline-bundle.ts";
import {
  closeServed,
  driven,
  get,
  inferStages,
  loadAll,
  metricsOf,
  served,
} from "../../../server/graph/served-application.ts";
import { outputsOf, servedStages } from "../../../server/graph/served-tasks.ts";

afterEach(closeServed);

const serving = (bundle: InferlineBundle = servedStages()) =>
  served(inferlineApplication, bundle, 6, {}, outputsOf);

test("is ready once the plan holds its models, and tells what it takes and gives", async () => {
  const house = await serving();
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  loadAll(house);
  await house.server.started;
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
  expect(JSON.parse((await get(house, "/v2/models/stages")).text)).toMatchObject({
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 3] }],
    outputs: [
      { name: "gate.escalate", datatype: "INT64", shape: [-1] },
      { name: "gate.keep" },
      { name: "gate.image" },
      { name: "gate.quick" },
      { name: "slow.score" },
      { name: "slow.request_row", datatype: "INT64", shape: [-1] },
      { name: "last.total" },
      { name: "last.request_row" },
    ],
  });
  // The only gate goes: there is nothing to answer with.
  const gate = house.executor.told.find((told) => told.endsWith(": 0"))?.split(":")[0];
  house.executor.lose(Number(gate));
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
});

test("gives what is sent on and what counts tell only to those who ask for it", async () => {
  const house = await serving();
  loadAll(house);
  const rows = [
    { escalate: 1, keep: 0, value: 4 },
    { escalate: 0, keep: 0, value: 5 },
  ];
  const reply = await driven(house, inferStages(house, rows, { id: "q" }));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("stratagem-variant")).toBe("gate:1,last:1");
  expect(await reply.json()).toEqual({
    model_name: "stages",
    model_version: "1",
    id: "q",
    parameters: { variant: "gate:1,last:1", accuracy: 0.602 },
    outputs: [
      { name: "gate.escalate", datatype: "INT64", shape: [2], data: [1, 0] },
      { name: "gate.keep", datatype: "INT64", shape: [2], data: [0, 0] },
      { name: "last.total", datatype: "FP32", shape: [1, 1], data: [80] },
    ],
  });
  const outputs = [{ name: "gate.quick" }, { name: "last.request_row" }];
  const asked = await driven(house, inferStages(house, rows, { outputs }));
  expect(await asked.json()).toMatchObject({
    outputs: [
      { name: "gate.quick", shape: [2, 1], data: [4, 5] },
      { name: "last.request_row", shape: [1], data: [0] },
    ],
  });
});

/** Made for so little traffic that a dozen rows make the tuner want all there is. */
const RESTLESS: InferlineLevelSketch = {
  loadQps: 1,
  stages: [
    [4, 1],
    [2, 1],
    [4, 1],
  ],
  envelope: [
    [1000, 1],
    [60_000, 60],
  ],
};

const BURST = Array.from({ length: 12 }, (_, value) => ({ escalate: value & 1, keep: 0, value }));

test("tells of replicas, the envelope, what is scaled and what it costs", async () => {
  const house = await serving(
    servedStages({ policy: { tuner: "relative" }, prices: [0.1], levels: [RESTLESS] }),
  );
  loadAll(house);
  const rows = [{ escalate: 1, keep: 0, value: 1 }];
  expect((await driven(house, inferStages(house, rows))).status).toBe(200);
  for (const line of [
    'stratagem_task_workers{task="slow",state="target"} 1',
    'stratagem_task_workers{task="slow",variant="slow",state="assigned"} 1',
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 1',
    'stratagem_scaling_actions_total{task="slow",resource="workers",direction="up"} 0',
    "stratagem_cost_per_hour 0.3",
    'stratagem_workers{state="planned"} 3',
    'stratagem_workers{state="total"} 6',
    'stratagem_workers{state="ready"} 3',
    'stratagem_batch_size_count{task="slow",variant="slow"} 1',
    'stratagem_queries_total{outcome="satisfied"} 1',
  ]) {
    expect(await metricsOf(house)).toContain(line);
  }
  expect((await driven(house, inferStages(house, BURST))).status).toBe(200);
  const risen = await metricsOf(house);
  for (const line of [
    'stratagem_task_workers{task="slow",state="target"} 6',
    'stratagem_task_workers{task="slow",variant="slow",state="assigned"} 2',
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 1',
    'stratagem_scaling_actions_total{task="slow",resource="workers",direction="up"} 5',
    'stratagem_scaling_actions_total{task="slow",resource="workers",direction="down"} 0',
    "stratagem_cost_per_hour 0.6",
    'stratagem_workers{state="planned"} 6',
  ]) {
    expect(risen).toContain(line);
  }
  loadAll(house);
  expect(await metricsOf(house)).toContain(
    'stratagem_task_workers{task="slow",variant="slow",state="ready"} 2',
  );
});

test("a replica that is too many goes when its batch is done, not before", async () => {
  const bundle = servedStages({ policy: { tuner: "relative" }, levels: [RESTLESS] });
  const house = await serving(bundle);
  loadAll(house);
  await driven(house, inferStages(house, BURST));
  loadAll(house);
  const { held, told } = house.executor;
  const rows = [{ escalate: 0, keep: 0, value: 1 }];
  // Two gates are busy when 60 beats are over and one of them is too many.
  const replies: Promise<Response>[] = [];
  for (let count = 1; count <= 2; count++) {
    replies.push(inferStages(house, rows));
    while (held.length < count) await new Promise(setImmediate);
  }
  const busy = held.map(({ worker }) => worker);
  const isOff = (worker: number) => told.includes(`${worker}: off`);
  house.clock.nowMs += 61 * beatMsOf(bundle.slo);
  replies.push(inferStages(house, rows));
  const target = 'stratagem_task_workers{task="gate",state="target"} 1';
  while (!(await metricsOf(house)).includes(target)) await new Promise(setImmediate);
  expect(await metricsOf(house)).toContain(
    'stratagem_task_workers{task="gate",variant="gate",state="assigned"} 2',
  );
  expect(busy.some(isOff)).toBe(false);
  const statuses = replies.map(async (reply) => (await driven(house, reply)).status);
  expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
  expect(busy.filter(isOff)).toHaveLength(1);
  const after = await metricsOf(house);
  expect(after).toContain('stratagem_task_workers{task="gate",variant="gate",state="assigned"} 1');
  expect(after).toContain(
    'stratagem_scaling_actions_total{task="gate",resource="workers",direction="down"} 5',
  );
});

test("another share of the requests that take one entry is not followed", async () => {
  const { server } = await serving();
  const other = servedStages({ entryBranch: "exclusive" });
  expect(server.replaceBundle(other, "cd".repeat(32))).toMatch(/it has another entryBranch/);
});
