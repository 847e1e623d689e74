/** The live document of every method: what /metrics tells, beside what the bundle promises. */
import { afterEach, describe, expect, test } from "vitest";
import type { LiveApplication, LiveDocument } from "../../runtime/features/live-page/live.ts";
import type { HostOptions } from "../../runtime/methods/method.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { serveOne } from "../support/serve-one.ts";
import type { FakeWorkers, ServedSubject } from "./subjects/served.ts";
import { BY_METHOD } from "./subjects.ts";

const SHA256 = "ab".repeat(32);
/** More than a document is kept. */
const LATER_MS = 1000;

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface House {
  readonly server: RunningServer;
  readonly workers: FakeWorkers;
  readonly clock: { nowMs: number };
  readonly infer: () => Promise<Response>;
}

async function serving(subject: ServedSubject): Promise<House> {
  const workers = subject.openWorkers();
  const clock = { nowMs: 1000 };
  const server = await serveOne(
    (options: HostOptions) => methodOf(subject.bundle).host(subject.bundle, options),
    {
      ...{ bundleSha256: SHA256, host: "127.0.0.1", port: 0, version: "0.0.0" },
      nowMs: () => clock.nowMs,
      axisNames: subject.axisNames ?? [],
      workers: workers.starter,
    },
  );
  open.push(server);
  const { name, data } = subject.input;
  const shape = [data.length, data[0]?.length];
  const body = JSON.stringify({ inputs: [{ name, datatype: "FP32", shape, data }] });
  const path = `${server.url}/v2/models/${subject.model}/infer`;
  return { server, workers, clock, infer: () => fetch(path, { method: "POST", body }) };
}

/** A document that was made now. */
async function liveOf({ server, clock }: House): Promise<LiveDocument> {
  clock.nowMs += LATER_MS;
  return (await fetch(`${server.url}/v2/stratagem/live`)).json() as Promise<LiveDocument>;
}

async function applicationOf(house: House): Promise<LiveApplication> {
  const [application] = (await liveOf(house)).applications;
  if (application === undefined) throw new Error("the document has no application");
  return application;
}

async function answered(house: House): Promise<void> {
  const wait: { reply?: Response } = {};
  const asked = house.infer().then((reply) => {
    wait.reply = reply;
  });
  while (wait.reply === undefined) {
    if (house.workers.runningCount() > 0) await house.workers.finish();
    await new Promise(setImmediate);
  }
  await asked;
  expect(wait.reply.status).toBe(200);
}

/** Sum of the samples of a metric whose labels hold a text. */
async function metricOf({ server }: House, name: string, label = ""): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
  return lines
    .filter((line) => line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

describe.each(BY_METHOD)("the live document of %s", (method, { served }) => {
  test("has the promises of all levels, and nothing measured before a request", async () => {
    const house = await serving(served);
    const live = await liveOf(house);
    expect(live).toMatchObject({ format: "stratagem-live/1", state: "starting" });
    const [application] = live.applications;
    expect(application).toMatchObject({
      ...{ name: served.bundle.application, method, bundleSha256: SHA256, isReady: false },
      slo: { latencyMs: served.bundle.slo.latencyMs },
      ...{ levelCount: served.bundle.levels.length, pending: 0 },
      rows: { satisfied: 0, late: 0, dropped: 0 },
    });
    expect(application?.levels.map(({ loadQps }) => loadQps)).toEqual(
      served.bundle.levels.map(({ loadQps }) => loadQps),
    );
    for (const { violationRate } of application?.levels ?? []) {
      expect(violationRate).toBeGreaterThanOrEqual(0);
    }
    house.workers.ready();
    expect(await liveOf(house)).toMatchObject({ state: "ready" });
  });

  test("tells what /metrics tells", async () => {
    const house = await serving(served);
    house.workers.ready();
    await answered(house);
    const { rows, requests, workers, variants, slack, latency, ...application } =
      await applicationOf(house);
    const satisfied = await metricOf(house, "stratagem_queries_total", 'outcome="satisfied"');
    expect(rows).toEqual({ satisfied, late: 0, dropped: 0 });
    expect(satisfied).toBe(2);
    expect(application.satisfiedAccuracy ?? 0).toBeCloseTo(
      await metricOf(house, "stratagem_satisfied_accuracy_total"),
    );
    expect(requests).toMatchObject({ answered: 1, failed: 0 });
    expect(workers.count).toBe(await metricOf(house, "stratagem_workers", '"total"'));
    expect(workers.ready).toBe(await metricOf(house, "stratagem_workers", '"ready"'));
    const counted = ({ counts = [] as readonly number[] }) => counts.reduce((a, b) => a + b, 0);
    expect(counted(latency ?? {})).toBe(1);
    expect(counted(slack ?? {})).toBe(
      await metricOf(house, "stratagem_dispatch_slack_seconds_count"),
    );
    const ran = variants.reduce((sum, one) => sum + one.rows, 0);
    expect(ran).toBe(await metricOf(house, "nv_inference_count"));
    expect(ran).toBeGreaterThanOrEqual(satisfied);
  });

  test("tells which workers are for what, and which were lost", async () => {
    const house = await serving(served);
    house.workers.ready();
    const { variants, workers, places } = await applicationOf(house);
    const assigned = variants.reduce((sum, one) => sum + (one.assigned ?? 0), 0);
    const ready = variants.reduce((sum, one) => sum + (one.ready ?? 0), 0);
    // Of plans every ready worker holds a variant; of the others any may run any.
    if (variants.some((one) => one.assigned !== null)) expect(ready).toBe(workers.ready);
    else expect(assigned).toBe(0);
    if (places !== null) expect(places).toMatchObject({ count: workers.count, busy: 0 });
    void house.infer().catch(() => {});
    while (house.workers.runningCount() === 0) await new Promise(setImmediate);
    await house.workers.hang();
    expect((await applicationOf(house)).workers).toMatchObject({ lost: 1, hung: 1 });
    while (house.workers.runningCount() > 0) {
      await house.workers.finish();
      await new Promise(setImmediate);
    }
  });

  test("says that it drains", async () => {
    const house = await serving(served);
    house.workers.ready();
    const asked = house.infer();
    while (house.workers.runningCount() === 0) await new Promise(setImmediate);
    // A connection that is open is answered until the last request is.
    await liveOf(house);
    const closed = house.server.close();
    expect(await liveOf(house)).toMatchObject({ state: "draining" });
    const wait = { isOver: false };
    void asked.finally(() => {
      wait.isOver = true;
    });
    while (!wait.isOver) {
      if (house.workers.runningCount() > 0) await house.workers.finish();
      await new Promise(setImmediate);
    }
    await closed;
  });
});
