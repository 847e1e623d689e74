/** Clients that are slow, or do not read: cut by limits, and what they hold is given back. */
import { afterEach, describe, expect, test } from "vitest";
import { openSlow, SLOW_KINDS } from "../../lab/campaign/wire/slow-clients.ts";
import type { TensorInfo } from "../../runtime/bundle/schema.ts";
import type { ServerLimits } from "../../runtime/server/applications/limits.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  serve,
  servedBundle,
  X,
} from "../runtime/server/harness.ts";
import { reasonOf, Wire } from "../runtime/server/wire.ts";

afterEach(closeAll);

/** All limits far away but those that a test is about. */
const PATIENT: Partial<ServerLimits> = {
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  bodyWindowMs: 60_000,
  sendTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  lingerMs: 60_000,
};
const GET = "GET /v2 HTTP/1.1\r\nHost: h\r\n";
const POST = `POST ${INFER} HTTP/1.1\r\nHost: h\r\n`;

describe("a client is cut that sends", () => {
  test.each([
    ["nothing", "", { headerTimeoutMs: 10 }, "the header of the request took too long"],
    ["half a header", GET, { headerTimeoutMs: 10 }, "the header of the request took too long"],
    [
      "too few bytes of a body in a window",
      `${POST}Content-Length: 900\r\n\r\n{`,
      { bodyWindowMs: 10, minBodyBytesPerS: 1000 },
      "expected at least 1000 bytes of the body per second, got 1 in 10 ms",
    ],
    [
      "chunks that do not go on",
      `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      { bodyWindowMs: 10, minBodyBytesPerS: 1000 },
      "expected at least 1000 bytes of the body per second",
    ],
    [
      "a body that takes too long in all",
      `${POST}Content-Length: 900\r\n\r\n{`,
      { bodyTimeoutMs: 10, minBodyBytesPerS: 0 },
      "expected the body within 10 ms, got 1 bytes",
    ],
  ])("%s", async (_, text, limits, reason) => {
    const wire = await Wire.open(await serve({ limits: { ...PATIENT, ...limits } }));
    wire.send(text);
    await wire.ended;
    const [reply] = wire.replies();
    expect(reply?.status).toBe(408);
    expect(reasonOf(reply)).toContain(reason);
    expect(reply?.headers.get("connection")).toBe("close");
    wire.socket.destroy();
  });

  test("empty lines for ever after its request", async () => {
    const limits = { ...PATIENT, idleTimeoutMs: 20, headerTimeoutMs: 20 };
    const harness = await serve({ limits });
    const wire = await Wire.open(harness);
    wire.send(`${GET}\r\n`);
    const timer = setInterval(() => wire.send("\r\n"), 2);
    await wire.ended;
    clearInterval(timer);
    wire.socket.destroy();
    expect(wire.replies().map(({ status }) => status)).toEqual([200]);
  });

  test("on after it was refused, without an end", async () => {
    const wire = await Wire.open(await serve({ limits: { ...PATIENT, lingerMs: 10 } }));
    const closed = new Promise((resolve) => wire.socket.once("close", resolve));
    wire.send("GARBAGE\r\n\r\n");
    const timer = setInterval(() => wire.send("more"), 2);
    await closed;
    clearInterval(timer);
    expect(wire.text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

test("a body that comes fast enough is waited for through many windows", async () => {
  const limits = { ...PATIENT, bodyWindowMs: 1, minBodyBytesPerS: 0 };
  const wire = await Wire.open(await serve({ limits }));
  const body = inferJson([[1, 2]]);
  wire.send(`${POST}Content-Length: ${body.length}\r\n\r\n`);
  for (const byte of body) {
    wire.send(byte);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await wire.until('"data":[1,2]');
  wire.socket.destroy();
});

describe("answers that clients do not read", () => {
  /** Of one answer: more than the buffers of the system take. */
  const LARGE_BYTES = 16 * 2 ** 20;
  const OUTPUT: TensorInfo = { name: "y", dtype: "float32", shape: [-1, LARGE_BYTES / 4] };
  const body = inferJson([[1, 2]], { parameters: { binary_data_output: true } });
  const text = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`;

  async function serveLarge(limits: Partial<ServerLimits>): Promise<Harness> {
    const bundle = servedBundle({}, [X], [OUTPUT]);
    const harness = await serve({ bundle, limits: { ...PATIENT, ...limits } });
    harness.executor.isHolding = true;
    return harness;
  }

  /** Asks, and has the answer made, without reading it. */
  async function ask({ executor }: Harness, wire: Wire): Promise<void> {
    const ran = executor.ran(executor.batches.length + 1);
    wire.socket.pause();
    wire.send(text);
    await ran;
    const shape = [1, LARGE_BYTES / 4];
    const outputs = [{ shape, bytes: new Uint8Array(LARGE_BYTES) }];
    executor.take().resolve({ outputs, wallMs: 1, cpuMs: 1, cores: 1 });
  }

  async function metric(harness: Harness, name: string): Promise<number> {
    const page = (await call(harness, "/metrics")).body.toString();
    return Number(
      page
        .split("\n")
        .find((line) => line.startsWith(name))
        ?.split(" ")
        .at(-1),
    );
  }

  /** Asks the server until it says so. */
  async function until(harness: Harness, name: string, count: number): Promise<void> {
    while ((await metric(harness, name)) !== count);
  }

  const ENDED = "stratagem_connections_ended_total";

  test("end the connection after a time, and hold no memory any more", async () => {
    const harness = await serveLarge({ sendTimeoutMs: 20 });
    const wire = await Wire.open(harness);
    await ask(harness, wire);
    await until(harness, `${ENDED}{reason="slow reader"}`, 1);
    await until(harness, 'stratagem_buffered_bytes{what="http_answers"}', 0);
    wire.socket.resume();
    await wire.ended;
    expect(wire.text.length).toBeLessThan(LARGE_BYTES);
  });

  test("of all clients have a budget: who has kept the server waiting longest is cut", async () => {
    const harness = await serveLarge({ maxUnsentBytes: 2.5 * LARGE_BYTES });
    const first = await Wire.open(harness);
    const others = [await Wire.open(harness), await Wire.open(harness)];
    for (const wire of [first, ...others]) await ask(harness, wire);
    await until(harness, `${ENDED}{reason="unread answers"}`, 1);
    first.socket.resume();
    await first.ended;
    expect(first.text.length).toBeLessThan(LARGE_BYTES);
    for (const wire of others) {
      wire.socket.end();
      wire.socket.resume();
      await wire.ended;
      expect(wire.replies().map(({ status }) => status)).toEqual([200]);
    }
    await until(harness, 'stratagem_buffered_bytes{what="http_answers"}', 0);
  });

  test("of one connection have a budget, from the second answer on", async () => {
    const harness = await serveLarge({ maxUnsentBytesPerConnection: 1.5 * LARGE_BYTES });
    const wire = await Wire.open(harness);
    await ask(harness, wire);
    await ask(harness, wire);
    await until(harness, `${ENDED}{reason="unread answers"}`, 1);
    wire.socket.resume();
    await wire.ended;
    await until(harness, 'stratagem_buffered_bytes{what="http_answers"}', 0);
  });

  test("are whole where a client reads at last", async () => {
    const harness = await serveLarge({ maxUnsentBytesPerConnection: LARGE_BYTES / 2 });
    const wire = await Wire.open(harness);
    await ask(harness, wire);
    await until(harness, 'stratagem_connections{protocol="http"} ', 2);
    wire.socket.end();
    wire.socket.resume();
    await wire.ended;
    const [reply] = wire.replies();
    expect(Number(reply?.headers.get("content-length"))).toBeGreaterThan(LARGE_BYTES);
  });
});

test("slow clients of all kinds are cut, and nobody beside them is refused", async () => {
  // Long enough for who behaves, though server and clients share a loop and the machine is busy.
  const limits = {
    headerTimeoutMs: 4000,
    bodyWindowMs: 4000,
    sendTimeoutMs: 4000,
    idleTimeoutMs: 4000,
    lingerMs: 100,
  };
  const harness = await serve({ limits, bundle: servedBundle({ workers: 2 }) });
  const { hostname: host, port } = new URL(harness.server.url);
  const target = { host, port: Number(port) };
  const clients = SLOW_KINDS.flatMap((kind) =>
    Array.from({ length: 4 }, () => openSlow(target, kind, "tiny", 5)),
  );
  let isOver = false;
  const statuses = new Set<number>();
  const beside = (async () => {
    while (!isOver) {
      statuses.add((await call(harness, INFER, { body: inferJson([[1, 2]]) })).status);
    }
  })();
  await Promise.all(clients.map(({ cut }) => cut));
  isOver = true;
  await beside;
  expect([...statuses]).toEqual([200]);
});
