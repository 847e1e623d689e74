/** Servers one of whose workers fails its batches at once, by every method. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { compileEcho } from "../support/echo-bundle.ts";
import { metricSum, rowRequest } from "../support/live-server.ts";
import { startStratagem, urlOf } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-failing-workers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function started(...args: string[]): Promise<string> {
  const child = startStratagem(...args);
  ends.push(() => child.kill("SIGKILL"));
  return urlOf(child);
}

type Failure = (response: ServerResponse) => void;

const FAILURES: Readonly<Record<string, Failure>> = {
  "with 500": (response) => response.writeHead(500).end('{"error":"broken"}'),
  "with 400": (response) => response.writeHead(400).end('{"error":"broken"}'),
  "with 301": (response) => response.writeHead(301, { location: "/elsewhere" }).end(),
  "with no tensors": (response) => response.writeHead(200).end('{"outputs":[]}'),
  "with a wrong shape": (response) => {
    const outputs = [{ name: "y", datatype: "FP32", shape: [7, 3], data: new Array(21).fill(0) }];
    response.writeHead(200).end(JSON.stringify({ model_name: "small", outputs }));
  },
  "with no JSON": (response) => response.writeHead(200).end("<html>"),
  "by closing the connection": (response) => response.destroy(),
};

/** A worker's own server between it and the front end: it fails batches on demand. */
class Failing {
  failure: Failure | null = null;
  failed = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async listen(): Promise<string> {
    const server = createServer((incoming, response) => this.#onRequest(incoming, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  #onRequest(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = "" } = incoming;
    const { failure } = this;
    if (failure !== null && url.endsWith("/infer")) {
      this.failed++;
      incoming.resume().once("end", () => failure(response));
      return;
    }
    const passed = request(`${this.#url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.once("error", () => response.destroy());
    incoming.pipe(passed);
  }
}

/** Statuses of requests, three at a time, so that each of two workers has some. */
async function statusesOf(url: string, count: number): Promise<Map<number, number>> {
  const { inferUrl, body } = await rowRequest(url);
  const statuses = new Map<number, number>();
  let left = count;
  const ask = async () => {
    while (left > 0) {
      left--;
      const { status } = await fetch(inferUrl, { method: "POST", body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all([ask(), ask(), ask()]);
  return statuses;
}

/** A front end over agents, the first of which fails on demand. @param folder of the models. */
async function site(bundle: string, folder: string, workerCount: number) {
  const models = ["--models", folder];
  const agent = ["worker", "--http", "127.0.0.1:0", "--json", ...models];
  const urls: string[] = [];
  for (let worker = 0; worker < workerCount; worker++) urls.push(await started(...agent));
  const failing = new Failing(urls[0] ?? "");
  urls[0] = await failing.listen();
  const own = ["--policy", bundle, "--http", "127.0.0.1:0", "--json", ...models];
  const rest = ["--accept-other-hardware", "--no-means-check", "--workers", urls.join(",")];
  return { url: await started("serve", ...own, ...rest), failing };
}

describe("a worker that fails its batches at once", () => {
  test("takes no traffic, whatever it answers, and serves again once it is mended", async () => {
    const { url, failing } = await site(compileEcho(folder, 2), folder, 2);
    await expect.poll(() => metricSum(url, READY), POLL).toBe(2);
    for (const [name, failure] of Object.entries(FAILURES)) {
      failing.failure = failure;
      failing.failed = 0;
      const statuses = await statusesOf(url, 100);
      // A busy machine may refuse a request that it cannot answer in time.
      const late = (statuses.get(429) ?? 0) + (statuses.get(503) ?? 0);
      const words = `${name}: ${JSON.stringify([...statuses])}`;
      expect((statuses.get(200) ?? 0) + late, words).toBe(100);
      expect(late, words).toBeLessThan(50);
      expect(failing.failed, name).toBeGreaterThan(0);
      expect(failing.failed, name).toBeLessThan(20);
      failing.failure = null;
      await expect.poll(() => metricSum(url, READY), POLL).toBe(2);
      await statusesOf(url, 20);
    }
    expect(await metricSum(url, FAILING)).toBeGreaterThan(0);
    expect(await metricSum(url, "stratagem_queries_retried_total")).toBeGreaterThan(0);
  });

  test.each([
    ["loki", "scenes", 2],
    ["inferline", "cascade", 6],
    ["themis", "scaling", 2],
    ["accordion", "malleable", 4, "policies/malleable"],
  ])("costs %s a few requests at most", async (_, policy, workerCount, models?: string) => {
    const bundle = `policies/${policy}/bundle.msgpack`;
    const { url, failing } = await site(bundle, models ?? `models/${policy}`, workerCount);
    await statusesOf(url, 20);
    failing.failure = FAILURES["with 500"] ?? null;
    const statuses = await statusesOf(url, 200);
    // A busy machine may refuse a request that it cannot answer in time.
    const [answered = 0, failed = 0] = [statuses.get(200), statuses.get(500)];
    const words = JSON.stringify([...statuses]);
    expect(failing.failed, words).toBeLessThan(50);
    expect(failed, words).toBeLessThanOrEqual(10);
    expect(answered, words).toBeGreaterThan(failed);
  });
});

const READY = 'stratagem_workers{model="echo",state="ready"}';
const FAILING = 'stratagem_workers_lost_total{model="echo",reason="failing"}';
const POLL = { timeout: 60_000, interval: 100 };
