/** How large a body may be, how many bytes all of them may hold, and how much is done in a turn. */
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { exposition } from "../../../../runtime/base/exposition.ts";
import { ByteSink } from "../../../../runtime/server/bodies/body.ts";
import {
  ByteBudget,
  bodyLimit,
  HEADER_BYTES,
  inferLimits,
} from "../../../../runtime/server/bodies/body-memory.ts";
import { TurnShare } from "../../../../runtime/server/http/infer.ts";
import { LoopDelay } from "../../../../runtime/server/metrics/loop-delay.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  type Reply,
  serve,
  servedBundle,
} from "../harness.ts";

afterEach(closeAll);

async function gauge(harness: Harness, name: string): Promise<number> {
  const text = (await call(harness, "/metrics")).body.toString();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

describe("the limit of a body", () => {
  const X = { name: "x", datatype: "FP32", rowShape: [2] } as const;
  const PIXELS = { name: "p", datatype: "UINT8", rowShape: [64, 64] } as const;

  test("is what the shapes take as JSON, or as bytes behind a header of its length", () => {
    const limits = inferLimits([X, PIXELS], 10, 2 ** 30);
    expect(limits.json.bytes).toBe(HEADER_BYTES + 10 * 2 * 32 + 10 * 4096 * 16);
    expect(limits.maxBinaryBytes).toBe(10 * (2 * 4 + 4096));
    expect(bodyLimit(limits, "300").bytes).toBe(300 + limits.maxBinaryBytes);
    expect(bodyLimit(limits, "999999999").bytes).toBe(limits.json.bytes);
    expect(bodyLimit(limits, "x").bytes).toBe(limits.json.bytes);
    const IMAGE = { name: "image", datatype: "BYTES", rowShape: [] } as const;
    for (const length of [undefined, "0", "300"]) {
      expect(bodyLimit(inferLimits([X, IMAGE], 1, 2 ** 20), length).bytes).toBe(2 ** 20);
    }
    expect(inferLimits([PIXELS], 1e6, 1000).json).toEqual({
      bytes: 1000,
      why: "the limit of this server",
    });
  });

  /** Larger than two rows of two numbers can be. */
  const LARGE = `{"inputs":[]}`.padEnd(HEADER_BYTES + 64 * 2 * 32 + 1);

  test.each([
    ["said", LARGE, {}],
    ["found while inflating", gzipSync(LARGE), { "content-encoding": "gzip" }],
    [
      "found behind the first 62 MB",
      gzipSync(Buffer.alloc(62e6, "[")),
      {
        "content-encoding": "gzip",
      },
    ],
    ["with a header", `{}${"0".repeat(600)}`, { "inference-header-content-length": "2" }],
  ])("is told when it is %s to be above it", async (_, body, headers) => {
    const harness = await serve();
    const reply = await call(harness, INFER, { body, headers });
    expect(reply.status).toBe(413);
    const [asJson, behindJson] = [
      /as JSON, 32 bytes per element of FP32, and 65536 bytes beside them/,
      /in 512 bytes after 2 of JSON/,
    ];
    const why = `(${asJson.source}|${behindJson.source})`;
    expect(jsonOf(reply).error).toMatch(
      new RegExp(`^request: expected a body of at most \\d+ bytes, 64 rows ${why}, got \\w+$`),
    );
    expect(await gauge(harness, 'stratagem_buffered_bytes{what="requests"}')).toBe(0);
  });

  test("is small for the index", async () => {
    const harness = await serve();
    const body = "{}".padEnd(5000);
    const reply = await call(harness, "/v2/repository/index", { body });
    expect([reply.status, jsonOf(reply).error]).toEqual([
      413,
      "request: expected a body of at most 4096 bytes, " + "the limit of such requests, got 5000",
    ]);
  });
});

describe("the bytes of all requests", () => {
  test("are held until there is an answer, and not beyond", async () => {
    const harness = await serve();
    harness.executor.isHolding = true;
    const body = inferJson([[1, 2]]);
    const first = call(harness, INFER, { body });
    await harness.executor.ran(1);
    // Of JSON what is kept is the tensor.
    expect(await gauge(harness, 'stratagem_buffered_bytes{what="requests"}')).toBe(8);
    harness.executor.finish();
    expect((await first).status).toBe(200);
    expect(await gauge(harness, 'stratagem_buffered_bytes{what="requests"}')).toBe(0);
  });

  test("beyond what the server holds at most are refused, to be sent again", async () => {
    const body = inferJson([[1, 2]]);
    const harness = await serve({ limits: { maxBytesInFlight: body.length + 8 } });
    harness.executor.isHolding = true;
    const first = call(harness, INFER, { body });
    await harness.executor.ran(1);
    const second = call(harness, INFER, { body });
    // It waits for the worker, with its tensor.
    while ((await gauge(harness, 'stratagem_buffered_bytes{what="requests"}')) < 16);
    const check = (refused: Reply) => {
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
      expect(jsonOf(refused).error).toMatch(
        /^request: expected at most the \d+ bytes that are free of \d+ for .*, got \d+ more$/,
      );
    };
    check(await call(harness, INFER, { body }));
    const headers = { "transfer-encoding": "chunked" };
    check(await call(harness, INFER, { body, headers }));
    check(
      await call(harness, INFER, {
        body: gzipSync(body.padEnd(2000)),
        headers: { "content-encoding": "gzip" },
      }),
    );
    expect(
      await gauge(harness, 'stratagem_refused_total{what="request",reason="request_bytes"}'),
    ).toBe(3);
    harness.executor.isHolding = false;
    harness.executor.finish();
    expect((await first).status).toBe(200);
    expect((await second).status).toBe(200);
    expect((await call(harness, INFER, { body })).status).toBe(200);
    expect(await gauge(harness, 'stratagem_buffered_bytes{what="requests"}')).toBe(0);
  });

  test("add up", () => {
    const budget = new ByteBudget(100);
    const [one, other] = [budget.hold(), budget.hold()];
    one.growTo(60);
    one.growTo(10);
    other.growTo(40);
    expect(() => other.growTo(41)).toThrow();
    expect([budget.heldBytes, other.bytes, budget.refusedCount]).toEqual([100, 40, 1]);
    one.settle(70);
    expect(budget.heldBytes).toBe(110);
    one.release();
    one.release();
    other.release();
    expect(budget.heldBytes).toBe(0);
  });
});

test("a connection holds a quarter of the memory, a token half, unless by one request", () => {
  const budget = new ByteBudget(400);
  const [one, other] = [{}, {}];
  const first = budget.hold(one, "token");
  first.growTo(150);
  expect(() => budget.hold(one).growTo(1)).toThrow(
    "0 bytes that are free of 400 for the requests of a connection",
  );
  first.settle(60);
  const second = budget.hold(one, "token");
  second.growTo(40);
  expect(() => second.growTo(41)).toThrow(expect.objectContaining({ status: 429 }));
  const third = budget.hold(other, "token");
  third.growTo(100);
  expect(() => budget.hold({}, "token").growTo(1)).toThrow("requests of a token");
  budget.hold({}, "another").growTo(200);
  expect(() => budget.hold({}).growTo(1)).toThrow(expect.objectContaining({ status: 503 }));
  for (const hold of [first, second, third]) hold.release();
  expect(budget.heldBytes).toBe(200);
  budget.hold(one, "token").growTo(200);
});

test("chunks become the body, whatever their lengths and whether the sum was told", () => {
  const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
  for (const step of [1, 7, 4096, 9999, 10_000]) {
    for (const expected of [undefined, 10_000, 12_000]) {
      const sink = new ByteSink(expected, 20_000);
      for (let at = 0; at < bytes.length; at += step) sink.push(bytes.subarray(at, at + step));
      expect(sink.finish().equals(bytes)).toBe(true);
    }
  }
  expect(new ByteSink(undefined, 10).finish()).toHaveLength(0);
});

test("in one turn of the loop no more is read than its share, and nobody is left out", async () => {
  const share = new TurnShare(100);
  const begun: number[] = [];
  const countByTurn: number[] = [];
  const all = Array.from({ length: 20 }, async (_, index) => {
    const turn = share.take(30);
    if (turn !== undefined) await turn;
    begun.push(index);
  });
  while (begun.length < 20) {
    const before = begun.length;
    await new Promise(setImmediate);
    countByTurn.push(begun.length - before);
  }
  await Promise.all(all);
  expect(begun).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(Math.max(...countByTurn)).toBeLessThanOrEqual(8);
});

test("the delay of the loop is how late its timer was", () => {
  let nowMs = 0;
  const delay = new LoopDelay(() => nowMs);
  delay.start();
  for (const lateMs of [0, 3, 60]) {
    nowMs += 10 + lateMs;
    delay.tick();
  }
  delay.stop();
  const lines = exposition(delay.lines()).trimEnd().split("\n");
  const bucket = (bound: string) =>
    lines.find((line) => line.includes(`le="${bound}"`))?.split(" ")[1];
  expect(["0.001", "0.005", "0.05", "0.075", "+Inf"].map(bucket)).toEqual([
    "1",
    "2",
    "2",
    "3",
    "3",
  ]);
  expect(lines.at(-2)).toBe("stratagem_event_loop_delay_seconds_sum 0.063");
});

test("outputs of many numbers are the same text that few are", async () => {
  const width = 20_000;
  const wide = (name: string) => ({ name, dtype: "float32", shape: [-1, width] });
  const bundle = servedBundle({}, [wide("x")], [wide("y")]);
  const harness = await serve({ bundle });
  const data = Array.from({ length: width }, (_, index) => index / 4);
  const body = JSON.stringify({
    inputs: [{ name: "x", datatype: "FP32", shape: [1, width], data }],
    id: "wide",
  });
  const reply = await call(harness, INFER, { body });
  expect(jsonOf(reply)).toMatchObject({ id: "wide", outputs: [{ name: "y", data }] });
  expect(Number(reply.headers["content-length"])).toBe(reply.body.length);
});
