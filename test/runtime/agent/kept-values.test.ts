/** Tensors that go from worker to worker, and not by the front end. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { KeptValues } from "../../../runtime/agent/kept-values.ts";
import { agentWith, type Reply } from "./built-agent.ts";

describe("kept values", () => {
  test("make room by the oldest, and those that nobody took in time go", () => {
    let nowMs = 0;
    const values = new KeptValues(100, () => nowMs);
    const keys = [1, 2, 3].map((fill) => values.put(new Uint8Array(40).fill(fill)));
    expect(keys.map((key) => values.get(key)?.[0])).toEqual([undefined, 2, 3]);
    expect(values.bytes).toBe(80);
    nowMs = 60_000;
    const last = values.put(new Uint8Array(1));
    expect(values.bytes).toBe(1);
    expect(values.get(last)).toHaveLength(1);
    expect(() => values.put(new Uint8Array(101))).toThrow(expect.objectContaining({ status: 413 }));
  });

  test("hold no memory that lies beside them", () => {
    const values = new KeptValues(1000, () => 0);
    const frame = new Uint8Array(1000);
    expect(values.get(values.put(frame.subarray(0, 10)))?.buffer.byteLength).toBe(10);
    expect(values.get(values.put(frame.subarray(0, 900)))?.buffer).toBe(frame.buffer);
  });
});

function keyOf({ json }: Reply): string {
  return json.outputs[0].parameters.stratagem_value;
}

test("a worker takes what another has kept, and gives what it makes of it to a third", async () => {
  const rows = [1, 2, 3, 4, 5, 6, 7, 8];
  const [first, second] = await Promise.all([agentWith({}), agentWith({})]);
  const sent = await first.client.keep("m", rows);
  expect(sent).toMatchObject({ status: 200, json: { outputs: [{ name: "y", shape: [2, 4] }] } });
  expect(sent.json.outputs[0]).not.toHaveProperty("data");
  await first.client.untilMetric('stratagem_buffered_bytes{what="kept_tensors"}', 32);
  const at = { key: keyOf(sent), source: first.url, rows: 2 };
  const passed = await second.client.keep("m", at);
  expect(passed.status).toBe(200);
  // The second time it is where it is needed.
  const here = await second.client.keep("m", { key: keyOf(passed), rows: 2 });
  const value = await fetch(`${second.url}/v2/stratagem/values/${keyOf(here)}`);
  expect([...new Float32Array(await value.arrayBuffer())]).toEqual(rows);

  const other = await second.client.keep("m", { ...at, rows: 3 });
  expect(other).toMatchObject({ status: 400 });
  expect(other.json.error).toContain("stratagem_value: expected 48, 12 elements of FP32");
  const unknown = "01234567-89ab-cdef-0123-456789abcdef";
  expect(await second.client.keep("m", { ...at, key: unknown })).toMatchObject({ status: 424 });
  expect(await second.client.keep("m", { key: unknown, rows: 2 })).toMatchObject({ status: 424 });
  await first.close();
  const gone = await second.client.keep("m", at);
  expect(gone).toMatchObject({ status: 424 });
  expect(gone.json.error).toContain(`expected a value that ${first.url} keeps`);
  await second.close();
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that says with what headers it was asked, and leads elsewhere or to a value. */
async function asked(location?: string) {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    if (location !== undefined) response.writeHead(307, { location }).end();
    else response.end(Buffer.alloc(32));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const KEY = "01234567-89ab-cdef-0123-456789abcdef";
const CALLER = { authorization: "Bearer of-the-caller", cookie: "c=1" };

describe("a worker that is told where a tensor is", () => {
  async function workerOf(...origins: string[]) {
    const readToken = () => Promise.resolve("Bearer its-own");
    const peers = { includes: (origin: string) => origins.includes(origin), readToken };
    const worker = await agentWith({ peers });
    closing.push(() => worker.close());
    return worker;
  }

  test("asks its peers, with its own token and nothing of the caller's", async () => {
    const peer = await asked();
    const { client } = await workerOf(peer.url);
    const at = { key: KEY, source: peer.url, rows: 2 };
    expect(await client.keep("m", at, CALLER)).toMatchObject({ status: 200 });
    expect(peer.seen).toHaveLength(1);
    expect(peer.seen[0]?.authorization).toBe("Bearer its-own");
    expect(JSON.stringify(peer.seen)).not.toMatch(/of-the-caller|cookie/);
  });

  test("asks no other server", async () => {
    const [peer, other] = [await asked(), await asked()];
    const { client } = await workerOf(peer.url);
    const port = new URL(other.url).port;
    for (const source of [other.url, `http://localhost:${port}`, "http://169.254.169.254"]) {
      const { status, json } = await client.keep("m", { key: KEY, source, rows: 2 }, CALLER);
      expect(status, source).toBe(403);
      expect(json.error).toContain(`expected one of this worker's --peers, got ${source}`);
    }
    expect([...peer.seen, ...other.seen]).toEqual([]);
  });

  test("follows no redirect of a peer", async () => {
    const other = await asked();
    const peer = await asked(`${other.url}/x`);
    const { client } = await workerOf(peer.url, other.url);
    const { status, json } = await client.keep("m", { key: KEY, source: peer.url, rows: 2 });
    expect([status, json.error]).toEqual([424, expect.stringContaining("it answered 307")]);
    expect(other.seen).toEqual([]);
  });

  test("without peers says so, and has its own tensors only", async () => {
    const { client, url, close } = await agentWith({ peers: null });
    closing.push(close);
    expect((await client.get("/v2")).json.extensions).not.toContain("stratagem_values");
    const own = keyOf(await client.keep("m", [1, 2, 3, 4]));
    const source = "http://10.0.0.7:8000";
    expect(await client.keep("m", { key: own, source, rows: 1 })).toMatchObject({ status: 200 });
    expect(await client.keep("m", { key: KEY, source: url, rows: 1 })).toMatchObject({
      status: 403,
    });
  });
});
