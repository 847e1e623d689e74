/** Every method over HTTP: ready, asked, replaced and closed, on workers that are not real. */
import { afterEach, describe, expect, test } from "vitest";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import type { HostOptions } from "../../runtime/methods/method.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { ofOneModel } from "../support/metrics-text.ts";
import { serveOne } from "../support/serve-one.ts";
import type { FakeWorkers, ServedSubject } from "./subjects/served.ts";
import { BY_METHOD, SUBJECTS } from "./subjects.ts";

const SHA256 = "ab".repeat(32);
const OTHER_SHA256 = "ef".repeat(32);

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Answer {
  readonly parameters: { readonly variant: string; readonly accuracy: number };
  readonly outputs: readonly object[];
}

interface Counts {
  readonly correct: number;
  readonly wrong: number;
}

interface House {
  readonly subject: ServedSubject;
  readonly server: RunningServer;
  readonly workers: FakeWorkers;
  readonly lost: string[];
}

/** @param isReady whether all workers are. */
async function serving(subject: ServedSubject, isReady = true): Promise<House> {
  const workers = subject.openWorkers();
  const lost: string[] = [];
  const server = await serveOne(
    (options: HostOptions) => methodOf(subject.bundle).host(subject.bundle, options),
    {
      bundleSha256: SHA256,
      host: "127.0.0.1",
      port: 0,
      nowMs: () => 1000,
      version: "0.0.0",
      settings: { feedbackRows: 100 },
      axisNames: subject.axisNames ?? [],
      workers: workers.starter,
      onWorkerLost: (worker, reason) => lost.push(`${worker} ${reason}`),
    },
  );
  open.push(server);
  if (isReady) workers.ready();
  return { subject, server, workers, lost };
}

/** An application of another bundle that may follow one. */
async function another({ openWorkers, axisNames = [] }: ServedSubject, bundle: Bundle) {
  const workers = openWorkers();
  const { starter } = workers;
  const options = { bundleSha256: OTHER_SHA256, nowMs: () => 1000, axisNames, workers: starter };
  return { workers, application: await methodOf(bundle).host(bundle, options) };
}

function infer({ server, subject }: House, extra: object = {}, rows = subject.input.data) {
  const { name, data } = subject.input;
  const shape = [rows.length, data[0]?.length];
  const body = JSON.stringify({
    inputs: [{ name, datatype: "FP32", shape, data: rows }],
    ...extra,
  });
  return fetch(`${server.url}/v2/models/${subject.model}/infer`, { method: "POST", body });
}

async function get({ server }: House, path: string, method = "GET") {
  const reply = await fetch(`${server.url}${path}`, { method });
  return { status: reply.status, text: await reply.text() };
}

/** Lets what runs end until the reply is there. */
async function driven({ workers }: House, reply: Promise<Response>): Promise<Response> {
  const wait: { reply?: Response } = {};
  const arrived = reply.then((response) => {
    wait.reply = response;
  });
  while (wait.reply === undefined) {
    if (workers.runningCount() > 0) await workers.finish();
    await new Promise(setImmediate);
  }
  await arrived;
  return wait.reply;
}

async function running({ workers }: Pick<House, "workers">): Promise<void> {
  while (workers.runningCount() === 0) await new Promise(setImmediate);
}

describe.each(BY_METHOD)("an endpoint of %s", (method, { served }) => {
  test("is ready once its workers are, and no more when they are lost", async () => {
    const house = await serving(served, false);
    const readiness = async () => (await get(house, "/v2/health/ready")).status;
    expect(await readiness()).toBe(503);
    const early = await infer(house);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "1"]);
    house.workers.ready();
    await house.server.started;
    expect([await readiness(), house.server.isReady()]).toEqual([200, true]);
    await house.workers.loseAll();
    expect([await readiness(), house.server.isReady()]).toEqual([503, false]);
    expect((await infer(house)).status).toBe(503);
    expect(house.lost.length).toBeGreaterThan(0);
    expect(house.lost[0]).toMatch(/^\d killed$/);
  });

  test("says of every batch what it takes by its profile", async () => {
    const house = await serving(served);
    const reply = infer(house);
    await running(house);
    for (const p99Ms of house.workers.p99sMs()) expect(p99Ms).toBeGreaterThan(0);
    await driven(house, reply);
  });

  test("counts for who answered what clients say of answers by their ids", async () => {
    const house = await serving(served);
    const reply = await driven(house, infer(house, { id: "asked" }));
    const { parameters } = (await reply.json()) as Answer;
    const url = `${house.server.url}/v2/models/${served.model}/feedback`;
    const body = JSON.stringify({ id: "asked", correct: [true, false] });
    const fed = await fetch(url, { method: "POST", body });
    const counted = JSON.parse(await fed.text());
    expect(fed.status).toBe(200);
    expect(counted).toEqual({ correct: 1, wrong: 1, variants: expect.any(Object) });
    const told = JSON.parse(await (await fetch(url)).text());
    for (const [variant, { correct, wrong }] of Object.entries<Counts>(counted.variants)) {
      expect(parameters.variant).toContain(variant);
      expect(told.variants[variant]).toMatchObject({ labels: { correct, wrong } });
      expect(told.variants[variant].profiled).toBeGreaterThan(0);
    }
    const again = await fetch(url, { method: "POST", body });
    expect(again.status).toBe(409);
  });

  test("tries a request once more whose worker hangs, and answers it", async () => {
    const house = await serving(served);
    const reply = infer(house);
    await running(house);
    await house.workers.hang();
    expect((await driven(house, reply)).status).toBe(200);
    const text = ofOneModel((await get(house, "/metrics")).text);
    expect(text).toMatch(/^stratagem_workers_lost_total\{reason="ended"\} 0$/m);
    expect(text).toMatch(/^stratagem_workers_lost_total\{reason="hung"\} 1$/m);
    expect(text).toMatch(/^stratagem_queries_retried_total [12]$/m);
  });

  test("tries no request a third time", async () => {
    const house = await serving(served);
    const reply = infer(house, {}, served.input.data.slice(0, 1));
    await running(house);
    await house.workers.hang();
    await running(house);
    await house.workers.hang();
    const { status } = await driven(house, reply);
    expect(status).toBe(500);
    expect(house.workers.runningCount()).toBe(0);
    const next = await driven(house, infer(house));
    expect(next.status).toBe(200);
  });

  test("tells what it takes and gives", async () => {
    const house = await serving(served);
    const { name, data } = served.input;
    const model = JSON.parse((await get(house, `/v2/models/${served.model}`)).text);
    expect(model).toMatchObject({
      name: served.model,
      inputs: [{ name, datatype: "FP32", shape: [-1, data[0]?.length] }],
    });
    for (const { shape } of model.outputs) expect(shape[0]).toBe(-1);
    const index = JSON.parse((await get(house, "/v2/repository/index", "POST")).text);
    expect(index).toContainEqual(expect.objectContaining({ name: served.model, state: "READY" }));
    const other = await get(house, "/v2/models/other");
    expect([other.status, other.text.includes("unknown model: 'other'")]).toEqual([404, true]);
  });

  test("answers a request, and counts it", async () => {
    const house = await serving(served);
    const reply = await driven(house, infer(house, { id: "q" }));
    expect(reply.status).toBe(200);
    const answer = (await reply.json()) as Answer;
    const { variant, accuracy } = answer.parameters;
    expect(answer).toMatchObject({ model_name: served.model, model_version: "1", id: "q" });
    expect(decodeURIComponent(reply.headers.get("stratagem-variant") ?? "")).toBe(variant);
    expect(accuracy).toBeGreaterThan(0);
    expect(answer.outputs.length).toBeGreaterThan(0);
    const stats = JSON.parse((await get(house, `/v2/models/${served.model}/stats`)).text);
    expect(stats.model_stats).toMatchObject([
      { name: served.model, inference_stats: { success: { count: 1 }, fail: { count: 0 } } },
    ]);
    expect(stats.model_stats[0].inference_count).toBeGreaterThanOrEqual(served.input.data.length);
  });

  test("tells Prometheus every line in its form, and every name once", async () => {
    const house = await serving(served);
    await driven(house, infer(house));
    const text = ofOneModel((await get(house, "/metrics")).text);
    const lines = text.trimEnd().split("\n");
    for (const line of lines) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+.\w]+)$/,
      );
    }
    const helps = lines.filter((line) => line.startsWith("# HELP"));
    expect(new Set(helps).size).toBe(helps.length);
    expect(text).toContain(`nv_inference_request_success{model="${served.model}",version="1"} 1\n`);
    expect(text).toMatch(new RegExp(`^stratagem_bundle_info{.*sha256="${SHA256}"} 1$`, "m"));
    expect(text).toMatch(/^stratagem_queries_total\{.*outcome="satisfied"\} 2$/m);
    expect(text).toMatch(/^stratagem_workers\{state="total"\} \d+$/m);
    expect(text).toMatch(/^# TYPE stratagem_event_loop_delay_seconds histogram$/m);
    expect(text).toMatch(/^stratagem_event_loop_delay_seconds_bucket\{le="0.05"\} \d+$/m);
    expect(text).toMatch(/^stratagem_buffered_bytes\{what="requests"\} 0$/m);
  });

  test("refuses what is no request, and what asks for less time than a row takes", async () => {
    const house = await serving(served);
    expect((await infer(house, {}, [])).status).toBe(400);
    const hasty = await infer(house, { parameters: { timeout: served.leastUs - 1 } });
    expect([hasty.status, hasty.headers.get("retry-after")]).toEqual([504, null]);
    const expected = `at least ${served.leastUs} µs`;
    expect(await hasty.json()).toEqual({ error: expect.stringContaining(expected) });
    const patient = infer(house, { parameters: { timeout: served.leastUs } });
    await running(house);
    expect([200, 504]).toContain((await driven(house, patient)).status);
    const { text } = await get(house, "/metrics");
    expect(text).toMatch(/^stratagem_queries_total\{.*outcome="dropped"\} [2-4]$/m);
  });

  test("says why it does not follow another bundle, or follows it", async () => {
    const { server } = await serving(served);
    const refusalOf = (bundle: Bundle) => server.replaceBundle(bundle, "cd".repeat(32));
    expect(refusalOf(served.otherSlo)).toMatch(/it has another slo/i);
    for (const other of SUBJECTS.filter((one) => one.method !== method)) {
      expect(refusalOf(other.served.bundle)).toMatch(/it has another method/);
    }
    if (served.refusal === null) expect(refusalOf(served.otherLevels)).toBeNull();
    else expect(refusalOf(served.otherLevels)).toMatch(served.refusal);
  });

  test("is followed by another application, and answers what it has", async () => {
    const house = await serving(served);
    const first = infer(house);
    await running(house);
    const next = await another(served, served.otherLevels);
    const replacing = house.server.replaceApplication(next.application);
    await new Promise(setImmediate);
    // Its workers are not ready, so the one before answers.
    const meanwhile = infer(house);
    const inFlight = 'stratagem_requests_in_flight{protocol="http"} 3\n';
    while (!(await get(house, "/metrics")).text.includes(inFlight));
    next.workers.ready();
    const { retired } = await replacing;
    const second = infer(house);
    await running(next);
    expect((await get(house, "/metrics")).text).toContain(`sha256="${OTHER_SHA256}"`);
    expect(house.server.isReady()).toBe(true);
    const replies = [await driven(house, first), await driven(house, meanwhile)];
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    await retired;
    expect((await driven({ ...house, workers: next.workers }, second)).status).toBe(200);
  });

  test("stays when the workers of the next do not come up", async () => {
    const house = await serving(served);
    const { application, workers } = await another(served, served.otherLevels);
    const failed = Promise.reject(new Error("the model said no"));
    const replaced = house.server.replaceApplication(application, 0, failed);
    await expect(replaced).rejects.toThrow("the model said no");
    expect(workers.runningCount()).toBe(0);
    expect((await driven(house, infer(house))).status).toBe(200);
  });

  test("waits for one that is to follow before it closes", async () => {
    const house = await serving(served);
    const { application } = await another(served, served.otherLevels);
    const replaced = house.server.replaceApplication(application);
    const closed = house.server.close();
    await expect(replaced).rejects.toThrow("the server is shutting down");
    await closed;
  });

  test("answers what it has accepted before it closes", async () => {
    const house = await serving(served);
    const first = infer(house);
    await running(house);
    const closed = house.server.close();
    expect((await get(house, "/v2/health/ready")).status).toBe(503);
    expect((await driven(house, first)).status).toBe(200);
    await closed;
  });
});
