import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ExecutorHandlers } from "../../../runtime/exec/models/executor.ts";
import type {
  RecordedCommand,
  RecordedEvent,
} from "../../../runtime/methods/ramsis/serve/recorded-dispatcher.ts";
import { JsonThread } from "../../../runtime/server/json/json-thread.ts";
import { ofOneModel } from "../../support/metrics-text.ts";
import {
  call,
  closeAll,
  FakeExecutor,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
  servedBundle,
} from "./harness.ts";

afterEach(closeAll);

const ONE_ROW = { body: inferJson([[1, 2]]) };

describe("long JSON before a server is ready", () => {
  afterEach(() => vi.restoreAllMocks());
  const LONG = { name: "x", dtype: "float32", shape: [-1, 40_000] };

  test("has been read and written where a request may be long, and nowhere else", async () => {
    let finish = () => {};
    const begun = new Promise<void>((begin) => {
      vi.spyOn(JsonThread.prototype, "warm").mockImplementation(() => {
        begin();
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      });
    });
    await serve();
    expect(JsonThread.prototype.warm).not.toHaveBeenCalled();
    let isReady: boolean | undefined;
    let handlers: ExecutorHandlers | undefined;
    const opening = serve({
      bundle: servedBundle({}, [LONG], [LONG]),
      executorFactory: (made) => {
        handlers = made;
        return new FakeExecutor(made, [LONG]);
      },
    }).then(({ server }) => {
      isReady = server.isReady();
    });
    await begun;
    for (let turn = 0; turn < 100 || handlers === undefined; turn++)
      await new Promise(setImmediate);
    expect(isReady).toBeUndefined();
    finish();
    await opening;
    expect(isReady).toBe(true);
  });
});

describe("description", () => {
  test("tells of server, model, configuration and repository", async () => {
    const harness = await serve();
    const get = async (path: string) => jsonOf(await call(harness, path));
    expect(await get("/v2")).toMatchObject({ name: "stratagem", version: "0.0.0" });
    const tensor = { datatype: "FP32", shape: [-1, 2] };
    expect(await get("/v2/models/tiny")).toEqual({
      name: "tiny",
      versions: ["1"],
      platform: "onnxruntime_onnx",
      inputs: [{ name: "x", ...tensor }],
      outputs: [{ name: "y", ...tensor }],
    });
    expect(await get("/v2/models/tiny/versions/1/config")).toMatchObject({
      max_batch_size: 64,
      input: [{ name: "x", data_type: "TYPE_FP32", dims: [2] }],
    });
    const index = await call(harness, "/v2/repository/index", { method: "POST" });
    expect(jsonOf(index)).toContainEqual({
      name: "tiny",
      version: "1",
      state: "READY",
      reason: "",
    });
  });

  test("counts what it did in statistics and metrics", async () => {
    const harness = await serve();
    await call(harness, INFER, {
      body: inferJson([
        [1, 2],
        [3, 4],
      ]),
    });
    const [stats] = jsonOf(await call(harness, "/v2/models/tiny/stats")).model_stats;
    expect(stats).toMatchObject({ inference_count: 2, inference_stats: { success: { count: 1 } } });
    const text = ofOneModel((await call(harness, "/metrics")).body.toString());
    expect(text).toContain('nv_inference_request_success{model="tiny",version="1"} 1\n');
    expect(text).toContain('nv_inference_count{model="tiny",version="1"} 2\n');
    expect(text).toContain('stratagem_queries_total{outcome="satisfied"} 2\n');
    // Both rows arrive together, so one batch answers them.
    expect(text).toContain('stratagem_batch_size_count{variant="large"} 1\n');
    expect(text).toContain(`sha256="${"ab".repeat(32)}"} 1\n`);
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+.\w]+)$/,
      );
    }
  });

  test.each([
    ["/v2/models/other/infer", 404, "Request for unknown model: 'other' is not found"],
    ["/v2/models/other", 404, "Request for unknown model: 'other' is not found"],
    ["/v2/models/tiny/versions/2", 404, "Request for unknown model: 'tiny' version 2 is not found"],
    ["/v2/models/tiny/constructor", 404, "no such path"],
    ["/nowhere", 404, "no such path"],
    ["/v2/health/well", 404, "no such path"],
    ["/v2/models/%zz", 400, "expected a path with valid escapes"],
    [INFER, 405, "expected POST, got GET"],
  ])("refuses GET %s with %i", async (path, status, message) => {
    const reply = await call(await serve(), path);
    expect([reply.status, jsonOf(reply).error]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe("readiness", () => {
  test("comes with the last worker and goes with a lost one", async () => {
    const harness = await serve({ bundle: servedBundle({ workers: 2 }) }, { ready: false });
    const { handlers } = harness.executor;
    const ready = async () => {
      const reply = await call(harness, "/v2/health/ready");
      const model = await call(harness, "/v2/models/tiny/ready");
      expect(jsonOf(model)).toEqual({ name: "tiny", ready: reply.status === 200 });
      expect(jsonOf(reply)).toEqual({ ready: reply.status === 200 });
      return reply.status;
    };
    expect(await ready()).toBe(503);
    expect(jsonOf(await call(harness, "/v2/health/live"))).toEqual({ live: true });
    const early = await call(harness, INFER, ONE_ROW);
    expect([early.status, early.headers["retry-after"]]).toEqual([503, "1"]);
    handlers.onReady(0);
    expect(await ready()).toBe(503);
    handlers.onReady(1);
    expect(await ready()).toBe(200);
    handlers.onLost(0, "killed");
    expect(await ready()).toBe(503);
    expect((await call(harness, INFER, ONE_ROW)).status).toBe(200);
    handlers.onReady(0);
    expect(await ready()).toBe(200);
  });

  test("a worker that is ready before the executor is there counts", async () => {
    const executorFactory = async (handlers: ExecutorHandlers) => {
      handlers.onReady(0);
      return new FakeExecutor(handlers);
    };
    const harness = await serve({ executorFactory }, { ready: false });
    expect((await call(harness, INFER, ONE_ROW)).status).toBe(200);
  });

  test("an executor that cannot be made leaves nothing open", async () => {
    const executorFactory = () => Promise.reject(new Error("no such device"));
    await expect(serve({ executorFactory })).rejects.toThrow("no such device");
  });
});

describe("failures", () => {
  test("a refused batch fails its requests and no other", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    harness.executor.isHolding = false;
    harness.executor.refuse();
    const reply = await first;
    expect([reply.status, jsonOf(reply).error]).toEqual([500, "small: the model said no"]);
    expect((await call(harness, INFER, ONE_ROW)).status).toBe(200);
  });

  test("a lost worker fails its batch at once; the next one serves", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    harness.executor.lose();
    const reply = await first;
    expect([reply.status, jsonOf(reply).error]).toEqual([500, expect.stringContaining("killed")]);
    expect((await call(harness, INFER, ONE_ROW)).status).toBe(503);
    harness.executor.handlers.onReady(0);
    harness.executor.isHolding = false;
    expect((await call(harness, INFER, ONE_ROW)).status).toBe(200);
  });

  test("a full queue answers 429 with Retry-After and takes back the rows that wait", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    const reply = await call(harness, INFER, { body: inferJson(Array(9).fill([1, 2])) });
    expect([reply.status, reply.headers["retry-after"]]).toEqual([429, "1"]);
    expect(ofOneModel((await call(harness, "/metrics")).body.toString())).toContain(
      "stratagem_pending_queries 1\n",
    );
    harness.executor.finish();
    expect((await first).status).toBe(200);
    expect(harness.executor.batches).toHaveLength(1);
  });

  test("more rows than there are slots are refused as a whole", async () => {
    const harness = await serve({ limits: { maxPending: 2 } });
    const reply = await call(harness, INFER, { body: inferJson(Array(3).fill([1, 2])) });
    expect(reply.status).toBe(429);
    expect(harness.executor.batches).toEqual([]);
  });

  test("a timeout below the fastest variant answers 504", async () => {
    const harness = await serve();
    const body = inferJson([[1, 2]], { parameters: { timeout: 14_999 } });
    const reply = await call(harness, INFER, { body });
    expect([reply.status, jsonOf(reply).error]).toEqual([
      504,
      expect.stringMatching(/^parameters\.timeout: expected at least 15000/),
    ]);
    const enough = inferJson([[1, 2]], { parameters: { timeout: 15_000 } });
    const served = jsonOf(await call(harness, INFER, { body: enough }));
    expect(served.parameters.variant).toBe("small");
  });

  test("a client that disconnects while it waits is dropped", async () => {
    const log: (RecordedEvent | RecordedCommand)[] = [];
    let onCancel: () => void = () => {};
    const harness = await serve({
      recorder: (entry) => {
        log.push(entry);
        if (entry.kind === "cancel") onCancel();
      },
    });
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    const cancelled = new Promise<void>((resolve) => {
      onCancel = resolve;
    });
    let destroy = () => {};
    const second = call(harness, INFER, {
      ...ONE_ROW,
      onRequest: (request) => {
        destroy = () => request.destroy();
      },
    }).catch((error: Error) => error);
    while (log.filter(({ kind }) => kind === "arrival").length < 2) await turn();
    destroy();
    expect(await second).toBeInstanceOf(Error);
    await cancelled;
    harness.executor.finish();
    expect((await first).status).toBe(200);
    expect(harness.executor.batches).toHaveLength(1);
    expect(log.map(({ kind }) => kind)).toEqual([
      "ready",
      "arrival",
      "start-batch",
      "arrival",
      "cancel",
      "done",
    ]);
  });
});

describe("closing", () => {
  test("answers what was accepted, then ends the workers", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    const closed = harness.server.close();
    expect(harness.server.isReady()).toBe(false);
    expect(harness.executor.isClosed).toBe(false);
    harness.executor.finish();
    expect((await first).status).toBe(200);
    await closed;
    expect(harness.executor.isClosed).toBe(true);
    await expect(call(harness, "/v2/health/live")).rejects.toThrow("ECONNREFUSED");
  });

  test("gives up on what is not answered within the drain timeout", async () => {
    const harness = await serve({ limits: { drainTimeoutMs: 1 } });
    harness.executor.isHolding = true;
    const first = call(harness, INFER, ONE_ROW);
    await harness.executor.ran(1);
    await harness.server.close();
    expect((await first).status).toBe(503);
  });

  test("a port that is taken is an error that says so", async () => {
    const harness = await serve();
    const port = Number(new URL(harness.server.url).port);
    await expect(serve({ port })).rejects.toMatchObject({
      code: "RUNTIME_LISTEN",
      message: expect.stringContaining(`127.0.0.1:${port}: expected an address to listen on`),
    });
  });
});

describe("the wire", () => {
  test("takes requests in pieces, several on one connection, and chunked bodies", async () => {
    const harness = await serve();
    const { body } = ONE_ROW;
    const text =
      `POST ${INFER} HTTP/1.1\r\nHost: h\r\nContent-Length: ` + `${body.length}\r\n\r\n${body}`;
    const wire = await open(harness);
    for (const piece of text.match(/.{1,7}/gs) ?? []) {
      wire.socket.write(piece);
      await turn();
    }
    await wire.until('"data":[1,2]}]}');
    const half = body.length >> 1;
    const chunks = [body.slice(0, half), body.slice(half), ""]
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join("");
    wire.text = "";
    wire.socket.write(
      `POST ${INFER} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
    await wire.until('"data":[1,2]}]}');
    expect(wire.text).toContain("HTTP/1.1 200 OK");
    wire.socket.destroy();
  });

  test.each([
    [
      "a body that does not come",
      `POST ${INFER} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{`,
      408,
    ],
    ["a header that does not end", `POST ${INFER} HTTP/1.1\r\nHost: h\r\n`, 408],
    [
      "a body that is too large",
      `POST ${INFER} HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n`,
      413,
    ],
    [
      "chunks that are too large",
      `POST ${INFER} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: ` +
        `chunked\r\n\r\n400\r\n${"x".repeat(1024)}\r\n1\r\nx\r\n`,
      413,
    ],
    ["what is not HTTP", "hello\r\n\r\n", 400],
    ["a header that is too large", `GET /v2 HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, 431],
  ])("refuses %s and ends the connection", async (_, text, status) => {
    // Short only where it is waited for, so that a slow machine changes no other answer.
    const times = status === 408 ? { bodyTimeoutMs: 20, headerTimeoutMs: 20 } : {};
    const limits = { maxBodyBytes: 1024, ...times };
    const wire = await open(await serve({ limits }));
    wire.socket.write(text);
    await wire.ended;
    expect(wire.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(wire.text).toMatch(/\{"error":".+"\}$/);
  });

  test("refuses a small body that becomes large, and one that is not compressed", async () => {
    const harness = await serve({ limits: { maxBodyBytes: 1024 } });
    const headers = { "content-encoding": "gzip" };
    const bomb = gzipSync(Buffer.alloc(1025));
    expect((await call(harness, INFER, { body: bomb, headers })).status).toBe(413);
    expect((await call(harness, INFER, { body: "plain", headers })).status).toBe(400);
    const unknown = { "content-encoding": "br" };
    expect((await call(harness, INFER, { body: "x", headers: unknown })).status).toBe(415);
  });
});

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface Wire {
  readonly socket: Socket;
  readonly ended: Promise<void>;
  text: string;
  until(part: string): Promise<void>;
}

async function open(harness: Harness): Promise<Wire> {
  const { hostname, port } = new URL(harness.server.url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  const wire: Wire = {
    socket,
    text: "",
    ended: new Promise((resolve) => socket.once("close", () => resolve())),
    async until(part) {
      while (!wire.text.includes(part)) {
        await new Promise((resolve) => socket.once("data", resolve));
      }
    },
  };
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    wire.text += chunk.toString();
  });
  return wire;
}
