import { afterEach, expect, test } from "vitest";
import type { LokiBundle } from "../../../../../runtime/bundle/schema.ts";
import { lokiApplication } from "../../../../../runtime/methods/loki/serve/loki-application.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import {
  closeServed,
  driven,
  get,
  inferRows,
  loadAll,
  served,
} from "../../../server/graph/served-application.ts";
import {
  AXIS_NAMES,
  LARGE_ONLY,
  type SceneRow,
  servedPipeline,
} from "../../../server/graph/served-pipeline.ts";

afterEach(closeServed);

const serving = (bundle: LokiBundle = servedPipeline({ levels: LARGE_ONLY })) =>
  served(lokiApplication, bundle, 6, { axisNames: AXIS_NAMES });

type Serving = Awaited<ReturnType<typeof serving>>;

function infer(house: Serving, rows: readonly SceneRow[], extra: object = {}) {
  const data = rows.map(({ crops, value }) => [crops, value]);
  return inferRows(house, "pipeline", data, extra);
}

test("refuses a request that names a variant, since several answer a row", async () => {
  const house = await serving();
  const reply = await infer(house, [{ crops: 1, value: 1 }], { parameters: { variant: "any" } });
  expect(reply.status).toBe(400);
  expect(await reply.text()).toContain("parameters.variant: expected nothing");
});

test("is ready once the workers of the first plan hold their models", async () => {
  const house = await serving();
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  loadAll(house);
  await house.server.started;
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
  expect(JSON.parse((await get(house, "/v2/models/pipeline")).text)).toMatchObject({
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 2] }],
    outputs: [
      { name: "detect.crops", shape: [-1, 2] },
      { name: "detect.crop_count", datatype: "INT64", shape: [-1] },
      { name: "detect.boxes" },
      { name: "detect.value" },
      { name: "classify.logits" },
    ],
  });
  expect((await get(house, "/v2/models/classify")).status).toBe(404);
  // The only detector goes: there is nothing to answer with.
  const detector = house.executor.told.find((told) => told.endsWith(": 1"))?.split(":")[0];
  house.executor.lose(Number(detector));
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  expect(house.lost).toEqual([`${detector} killed`]);
});

test("counts by task and variant", async () => {
  const house = await serving();
  loadAll(house);
  const rows = [
    { crops: 3, value: 1 },
    { crops: 0, value: 2 },
  ];
  const reply = await driven(house, infer(house, rows));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("stratagem-variant")).toBe("large%7Clarge");
  const text = ofOneModel((await get(house, "/metrics")).text);
  for (const line of [
    'nv_inference_request_success{model="pipeline",version="1"} 1',
    'nv_inference_count{model="pipeline",version="1"} 5',
    // The two rows are one batch, and so are the three crops.
    'stratagem_batch_size_count{task="detect",variant="large"} 1',
    'stratagem_batch_size_count{task="classify",variant="large"} 1',
    'stratagem_batch_size_count{task="classify",variant="small"} 0',
    'stratagem_batch_size_sum{task="classify",variant="large"} 3',
    'stratagem_fanout{task="detect",variant="large",child="classify"} 1.5',
    'stratagem_queries_total{outcome="satisfied"} 2',
    'stratagem_queries_dropped_total{task="classify",reason="late"} 0',
    'stratagem_workers{state="planned"} 3',
    "stratagem_level 0",
    'stratagem_workers{state="total"} 6',
    'stratagem_workers{state="ready"} 3',
    "stratagem_pending_queries 0",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("what is dropped on its way is an error at once, to be tried again later", async () => {
  const house = await serving(servedPipeline({ levels: LARGE_ONLY, policy: { drop: "deadline" } }));
  loadAll(house);
  const reply = infer(house, [{ crops: 2, value: 1 }]);
  while (house.executor.held.length === 0) await new Promise(setImmediate);
  house.clock.nowMs += 999;
  house.executor.finish();
  const { status, headers } = await reply;
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await (await reply).json()).toEqual({
    error: "classify: its deadline can no longer be met",
  });
});

test("beyond what the plans carry the excess is refused", async () => {
  // At this SLO a beat is a second, in which the clock stands still until all are answered.
  const house = await serving(
    servedPipeline({ levels: LARGE_ONLY, sloMs: 100, policy: { routing: "auto" } }),
  );
  loadAll(house);
  const statuses: number[] = [];
  for (let beat = 0; beat < 6; beat++) {
    const replies = Array.from({ length: 90 }, async () => {
      const reply = await infer(house, [{ crops: 0, value: 1 }]);
      statuses.push(reply.status);
      if (reply.status !== 200) {
        expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
        expect(await reply.json()).toEqual({ error: expect.stringContaining("beyond") });
      }
    });
    let isDone = false;
    const all = Promise.all(replies).then(() => {
      isDone = true;
    });
    while (!isDone) {
      if (house.executor.held.length > 0) house.executor.finish();
      await new Promise(setImmediate);
    }
    await all;
    house.clock.nowMs += 1000;
  }
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(100);
  expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(100);
}, 60_000);
