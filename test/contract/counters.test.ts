/** Every request that reaches a server of any method is in one counter, whatever became of it. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { HostOptions } from "../../runtime/methods/method.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import type { RunningServer } from "../../runtime/server/serve.ts";
import { serveOne } from "../support/serve-one.ts";
import type { FakeWorkers, ServedSubject } from "./subjects/served.ts";
import { BY_METHOD } from "./subjects.ts";

const CROWD = 200;

const open: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

class House {
  readonly subject: ServedSubject;
  readonly server: RunningServer;
  readonly workers: FakeWorkers;
  readonly clock: { nowMs: number };
  /** What the client counts: answers by status, `none` for those it left. */
  readonly tally = new Map<string, number>();
  /** Requests for inference of the model, those it left included. */
  inferences = 0;
  #open = 0;

  constructor(
    subject: ServedSubject,
    server: RunningServer,
    workers: FakeWorkers,
    clock: { nowMs: number },
  ) {
    this.subject = subject;
    this.server = server;
    this.workers = workers;
    this.clock = clock;
  }

  get path(): string {
    return `/v2/models/${this.subject.model}/infer`;
  }

  get body(): string {
    const { name, data } = this.subject.input;
    const shape = [data.length, data[0]?.length];
    return JSON.stringify({ inputs: [{ name, datatype: "FP32", shape, data }] });
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    this.#open++;
    const reply = await fetch(`${this.server.url}${path}`, init);
    this.#open--;
    this.count(String(reply.status));
    return reply;
  }

  infer(body = this.body): Promise<Response> {
    this.inferences++;
    return this.ask(this.path, { method: "POST", body });
  }

  /** Writes bytes to a connection of their own. @returns what ends it, and its whole answer. */
  raw(text: string) {
    const { hostname, port } = new URL(this.server.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
    socket.write(text);
    const closed = once(socket, "close").then(() => Buffer.concat(chunks).toString());
    return { socket, closed };
  }

  count(code: string): void {
    this.tally.set(code, (this.tally.get(code) ?? 0) + 1);
  }

  /** Lets everything run to its end. */
  async drive(): Promise<void> {
    while (this.#open > 0) {
      if (this.workers.runningCount() > 0) await this.workers.finish();
      await new Promise(setImmediate);
    }
  }

  /** Until a condition that other events bring about. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await condition())) await new Promise(setImmediate);
  }

  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await this.ask("/metrics")).text();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return new Map(
      lines.map((line) => {
        const end = line.lastIndexOf(" ");
        return [line.slice(0, end), Number(line.slice(end + 1))] as const;
      }),
    );
  }

  /** Once nothing but the asking itself is on its way. */
  async settled(): Promise<ReadonlyMap<string, number>> {
    let metrics = await this.metrics();
    while (metrics.get('stratagem_requests_in_flight{protocol="http"}') !== 1) {
      if (this.workers.runningCount() > 0) await this.workers.finish();
      metrics = await this.metrics();
    }
    return metrics;
  }
}

async function serving(subject: ServedSubject): Promise<House> {
  const workers = subject.openWorkers();
  const clock = { nowMs: 1000 };
  const server = await serveOne(
    (options: HostOptions) => methodOf(subject.bundle).host(subject.bundle, options),
    {
      bundleSha256: "ab".repeat(32),
      host: "127.0.0.1",
      port: 0,
      nowMs: () => clock.nowMs,
      version: "0.0.0",
      axisNames: subject.axisNames ?? [],
      workers: workers.starter,
    },
  );
  open.push(server);
  workers.ready();
  return new House(subject, server, workers, clock);
}

function sumOf(metrics: ReadonlyMap<string, number>, ...starts: readonly string[]): number {
  let sum = 0;
  for (const [series, value] of metrics) {
    if (starts.some((start) => series.startsWith(start))) sum += value;
  }
  return sum;
}

/** What the server says of codes, with this last asking, which was not over when it answered. */
function codesOf(metrics: ReadonlyMap<string, number>): Map<string, number> {
  const codes = new Map<string, number>();
  for (const [series, value] of metrics) {
    const code = /^stratagem_requests_total\{protocol="http",code="(\w+)"\}$/.exec(series)?.[1];
    if (code !== undefined) codes.set(code, value);
  }
  codes.set("200", (codes.get("200") ?? 0) + 1);
  return codes;
}

function expectAllCounted(house: House, metrics: ReadonlyMap<string, number>): void {
  expect(codesOf(metrics)).toEqual(house.tally);
  const starts = ["nv_inference_request_success{", "nv_inference_request_failure{"];
  expect(sumOf(metrics, ...starts)).toBe(house.inferences);
}

describe.each(BY_METHOD)("the counters of %s", (_, { served }) => {
  test("hold every request once: answered, refused, malformed, left, lost", async () => {
    const house = await serving(served);
    const asked = [house.infer(), house.infer(), house.infer("{"), house.infer("[]")];
    asked.push(house.ask("/v2/models/other/infer", { method: "POST", body: house.body }));
    asked.push(house.ask(house.path), house.ask("/nothing"), house.ask("/v2/health/live"));
    await house.drive();
    expect((await asked[0])?.status).toBe(200);

    // The parser refuses it.
    expect(await house.raw("what?\r\n\r\n").closed).toMatch(/^HTTP\/1.1 400 /);
    house.count("400");
    // What it refuses within a body is the request that the body is of.
    const start = `POST ${house.path} HTTP/1.1\r\nhost: h\r\n`;
    const chunked = `${start}transfer-encoding: chunked\r\n\r\nno size\r\n`;
    expect(await house.raw(chunked).closed).toMatch(/^HTTP\/1.1 400 /);
    house.inferences++;
    house.count("400");
    // An answer that comes before the whole body is the only one.
    const early = house.raw(
      "POST /v2/models/other/infer HTTP/1.1\r\nhost: h\r\ncontent-length: 99\r\n\r\n{",
    );
    expect(await early.closed).toMatch(/^HTTP\/1.1 404 /);
    house.count("404");
    // A client goes in the middle of a body, and another while its request runs.
    const head = `${start}content-length: ${house.body.length}`;
    const half = house.raw(`${head}\r\n\r\n${house.body.slice(0, 9)}`);
    const whole = house.raw(`${head}\r\n\r\n${house.body}`);
    await house.until(() => house.workers.runningCount() > 0);
    await house.until(async () => {
      return (await house.metrics()).get('stratagem_requests_in_flight{protocol="http"}') === 3;
    });
    for (const { socket } of [half, whole]) {
      // An end alone may come from a client that still reads.
      socket.resetAndDestroy();
      house.inferences++;
      house.count("none");
    }
    await house.settled();

    const running = house.infer();
    await house.until(() => house.workers.runningCount() > 0);
    await house.workers.loseAll();
    expect([500, 503]).toContain((await running).status);
    await house.infer();
    expectAllCounted(house, await house.settled());
  });

  test("hold what is refused at the door after a crowd was late", async () => {
    const house = await serving(served);
    const crowd = () => Array.from({ length: CROWD }, () => house.infer());
    const first = crowd();
    await house.until(() => house.workers.runningCount() > 0);
    await house.until(async () => {
      const metrics = await house.metrics();
      const waiting = metrics.get('stratagem_requests_in_flight{protocol="http"}') ?? 0;
      return waiting - 1 + sumOf(metrics, "nv_inference_request_failure{") >= CROWD;
    });
    house.clock.nowMs += 3 * served.bundle.slo.latencyMs;
    await house.drive();
    await Promise.all(first);

    const second = crowd();
    await house.drive();
    const replies = await Promise.all(second);
    const refused = replies.filter(({ status }) => status === 429 || status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers } of refused) expect(headers.get("retry-after")).toBe("1");
    expectAllCounted(house, await house.settled());
  });
});
