import { afterEach, expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { accordionApplication } from "../../../../../runtime/methods/accordion/serve/accordion-application.ts";
import type { RunningServer } from "../../../../../runtime/server/serve.ts";
import { ofOneModel } from "../../../../support/metrics-text.ts";
import { serveOne } from "../../../../support/serve-one.ts";
import type { Entry } from "./driven.ts";
import { answeredRow, DEEP, FakePlaces, SMALL, servedPlaces } from "./fake-places.ts";

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/**
 * A server over HTTP whose models are not real, whose clock stands still, and whose stages wait for
 * the test.
 */
async function serving(bundle: AccordionBundle = servedPlaces(), isUp = true) {
  const clock = { nowMs: 1000 };
  const log: Entry[] = [];
  const lost: string[] = [];
  let executor: FakePlaces | undefined;
  const server = await serveOne(accordionApplication, {
    bundle,
    bundleSha256: "ab".repeat(32),
    host: "127.0.0.1",
    port: 0,
    nowMs: () => clock.nowMs,
    version: "0.0.0",
    limits: { maxRows: 2 },
    recorder: (entry) => log.push(entry),
    onWorkerLost: (worker, reason) => lost.push(`${worker} ${reason}`),
    executorFactory: (handlers) => {
      executor = new FakePlaces(handlers, bundle);
      return executor;
    },
  });
  open.push(server);
  if (executor === undefined) throw new Error("the server made no executor");
  const places = bundle.policy.executionPlaces;
  for (let place = 0; isUp && place < places; place++) executor.ready(place);
  return { server, executor, clock, log, lost };
}

type Serving = Awaited<ReturnType<typeof serving>>;

function infer({ server }: Serving, model: string, values: readonly number[], extra: object = {}) {
  const data = values.map((value) => [value, value + 1, value + 2, value + 3]);
  const input = { name: "x", datatype: "FP32", shape: [values.length, 4], data };
  const body = JSON.stringify({ inputs: [input], ...extra });
  return fetch(`${server.url}/v2/models/${model}/infer`, { method: "POST", body });
}

async function get({ server }: Serving, path: string, method = "GET") {
  const reply = await fetch(`${server.url}${path}`, { method });
  return { status: reply.status, text: await reply.text() };
}

async function jsonAt(house: Serving, path: string, method = "GET") {
  return JSON.parse((await get(house, path, method)).text);
}

/** Lets stages end until the reply is there. */
async function driven(house: Serving, reply: Promise<Response>): Promise<Response> {
  const wait: { reply?: Response } = {};
  const arrived = reply.then((response) => {
    wait.reply = response;
  });
  while (wait.reply === undefined) {
    if (house.executor.held.length > 0) await house.executor.finish();
    await new Promise(setImmediate);
  }
  await arrived;
  return wait.reply;
}

test("every variant is a model of its own", async () => {
  const house = await serving();
  expect(await jsonAt(house, "/v2/repository/index", "POST")).toMatchObject([
    { name: "deep", state: "READY" },
    { name: "small", state: "READY" },
  ]);
  for (const name of ["deep", "small"]) {
    expect(await jsonAt(house, `/v2/models/${name}`)).toMatchObject({
      name,
      inputs: [{ name: "x", datatype: "FP32", shape: [-1, 4] }],
      outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4] }],
    });
    expect(await jsonAt(house, `/v2/models/${name}/config`)).toMatchObject({
      max_batch_size: 8,
      parameters: { variants: { string_value: name } },
    });
  }
  for (const name of ["places", "infer", "other"]) {
    const reply = await get(house, `/v2/models/${name}`);
    expect(reply.status).toBe(404);
    expect(reply.text).toContain(`unknown model: '${name}'`);
  }
});

test("the only variant answers to the names of application and task as well", async () => {
  const house = await serving(servedPlaces({ models: [SMALL] }));
  for (const name of ["small", "places", "infer"]) {
    const reply = await driven(house, infer(house, name, [3]));
    expect(await reply.json()).toMatchObject({ model_name: name });
  }
});

test("answers come from the model that is named, and are counted there", async () => {
  const house = await serving();
  const deep = await driven(house, infer(house, "deep", [1, 2, 3, 4, 5]));
  expect(deep.headers.get("stratagem-variant")).toBe("deep");
  expect(await deep.json()).toMatchObject({
    model_name: "deep",
    parameters: { variant: "deep", accuracy: 0.9 },
    outputs: [
      { name: "y", shape: [5, 4], data: [1, 2, 3, 4, 5].flatMap((row) => answeredRow(row, 6)) },
    ],
  });
  const small = await driven(house, infer(house, "small", [7]));
  expect(await small.json()).toMatchObject({
    parameters: { variant: "small", accuracy: 0.8 },
    outputs: [{ shape: [1, 4], data: answeredRow(7, 2) }],
  });
  const { model_stats: stats } = await jsonAt(house, "/v2/models/stats");
  expect(stats).toMatchObject([
    { name: "deep", inference_count: 5, execution_count: 5 },
    { name: "small", inference_count: 1, execution_count: 1 },
  ]);
  expect((await jsonAt(house, "/v2/models/small/stats")).model_stats).toEqual([stats[1]]);
  const lines = ofOneModel((await get(house, "/metrics")).text).split("\n");
  for (const line of [
    'nv_inference_request_success{model="deep",version="1"} 1',
    'nv_inference_count{model="deep",version="1"} 5',
    'nv_inference_count{model="small",version="1"} 1',
    'stratagem_start_places_count{model="deep"} 1',
    'stratagem_queries_total{model="deep",outcome="satisfied"} 5',
    'stratagem_queries_dropped_total{model="small",reason="late"} 0',
    'stratagem_scaling_actions_total{model="small",resource="places",direction="up"} 0',
    'stratagem_workers{state="ready"} 4',
    'stratagem_workers{state="busy"} 0',
    'stratagem_pending_queries{state="running"} 0',
    'stratagem_pending_queries{state="waiting"} 0',
    'stratagem_workers{state="total"} 4',
    `stratagem_bundle_info{application="places",sha256="${"ab".repeat(32)}"} 1`,
  ]) {
    expect(lines).toContain(line);
  }
  // Every name is explained once.
  const helps = lines.filter((line) => line.startsWith("# HELP"));
  expect(new Set(helps).size).toBe(helps.length);
});

test("a request has as many rows as the policy allows, whatever the server does", async () => {
  const house = await serving();
  const most = await driven(house, infer(house, "deep", [1, 2, 3, 4, 5, 6, 7, 8]));
  expect(most.status).toBe(200);
  for (const values of [[1, 2, 3, 4, 5, 6, 7, 8, 9], []]) {
    const reply = await infer(house, "deep", values);
    expect([reply.status, await reply.json()]).toEqual([
      400,
      { error: `inputs[0].shape[0]: expected 1 to 8 rows, got ${values.length}` },
    ]);
  }
});

test("priorities above 1 are low", async () => {
  const house = await serving(servedPlaces({ models: [DEEP], places: 1 }));
  const priorities = [undefined, 0, 1, 2, 9];
  for (const [index, priority] of priorities.entries()) {
    const parameters = priority === undefined ? {} : { priority };
    let isDone = false;
    const rows = new Array<number>(index + 1).fill(1);
    void infer(house, "deep", rows, { parameters }).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      if (house.executor.held.length > 0) await house.executor.finish();
      await new Promise(setImmediate);
    }
  }
  const priorityOf = (batch: number) => priorities[batch - 1] ?? 0;
  const queries = house.log.filter((entry) => entry.kind === "query");
  expect(queries).toHaveLength(5);
  for (const { batch, isHigh } of queries) expect(isHigh).toBe(priorityOf(batch) <= 1);
  const wrong = await infer(house, "deep", [1], { parameters: { priority: -1 } });
  expect(wrong.status).toBe(400);
});

test("what would be too late is an error at once, to be tried again later", async () => {
  const house = await serving(servedPlaces({ models: [DEEP], places: 1 }));
  const first = infer(house, "deep", [1, 2, 3, 4, 5, 6]);
  while (house.executor.held.length === 0) await new Promise(setImmediate);
  const reply = await infer(house, "deep", [1], { parameters: { priority: 2 } });
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await reply.json()).toEqual({
    error: "deep: of low priority, and too late for its deadline",
  });
  expect((await driven(house, first)).status).toBe(200);
});

test("is ready once all places are, and as long as one is", async () => {
  const house = await serving(servedPlaces({ places: 2 }), false);
  house.executor.ready(0);
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  house.executor.ready(1);
  await house.server.started;
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
  await house.executor.lose(0);
  expect((await get(house, "/v2/health/ready")).status).toBe(200);
  await house.executor.lose(1);
  expect((await get(house, "/v2/health/ready")).status).toBe(503);
  expect((await infer(house, "deep", [1])).status).toBe(503);
  expect(house.lost).toEqual(["0 killed", "1 killed"]);
});

test("a client that disconnects is forgotten", async () => {
  const house = await serving(servedPlaces({ models: [DEEP], places: 1 }));
  const controller = new AbortController();
  const body = JSON.stringify({
    inputs: [{ name: "x", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }],
  });
  const url = `${house.server.url}/v2/models/deep/infer`;
  const gone = fetch(url, { method: "POST", body, signal: controller.signal });
  while (house.executor.held.length === 0) await new Promise(setImmediate);
  controller.abort();
  await expect(gone).rejects.toThrow();
  while (!house.log.some(({ kind }) => kind === "cancel")) await new Promise(setImmediate);
  expect(ofOneModel((await get(house, "/metrics")).text)).toContain(
    'stratagem_workers{state="busy"} 0',
  );
});

test("a bundle without stages of its models is not served", async () => {
  await expect(serving(servedPlaces({ models: [{ ...DEEP, hasModel: false }] }))).rejects.toThrow(
    'variant "deep"',
  );
});

test("the pace of each place is a metric, with the work that it is of", async () => {
  const house = await serving();
  const workOf = (text: string) => {
    const found = /^stratagem_work_seconds_total\{.*time="expected".*\} (\S+)$/m.exec(text);
    return Number(found?.[1]);
  };
  expect(workOf((await get(house, "/metrics")).text)).toBe(0);
  for (let query = 0; query < 12; query++) await driven(house, infer(house, "deep", [query]));
  const { text } = await get(house, "/metrics");
  expect(workOf(text)).toBeGreaterThan(0);
  expect(text.match(/^stratagem_pace\{/gm)).toHaveLength(servedPlaces().policy.executionPlaces);
});
