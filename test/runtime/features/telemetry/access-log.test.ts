/** Ids and traces of requests, in responses and in the access log. */
import { afterEach, expect, test } from "vitest";
import type { Severity } from "../../../../runtime/base/notice.ts";
import { telemetryOf } from "../../../../runtime/features/telemetry/telemetry.ts";
import { Log } from "../../../../runtime/server/logs/log.ts";
import { wallOffset } from "../../../../runtime/server/logs/time-text.ts";
import { call, closeAll, INFER, inferJson, jsonOf, serve } from "../../server/harness.ts";

afterEach(closeAll);

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;
const BODY = inferJson([[1, 2]]);

/** A server that logs requests to a list. */
async function logged(options: Parameters<typeof serve>[0] = {}) {
  const lines: Record<string, unknown>[] = [];
  const accessLog = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const clock = { nowMs: 1000, wallMs: Date.UTC(2026, 0, 1) };
  const nowMs = () => clock.nowMs;
  const epochNowMs = () => Math.floor(clock.wallMs + clock.nowMs);
  const epochOffsetMs = wallOffset(nowMs, epochNowMs, clock.wallMs);
  const features = [telemetryOf({ accessLog, epochOffsetMs })];
  const harness = await serve({ ...options, features, nowMs });
  /** Once there are as many lines. */
  const settled = async (count: number) => {
    while (lines.length < count) await new Promise(setImmediate);
    return lines;
  };
  return { harness, clock, settled };
}

test("times follow a step of the wall clock", async () => {
  const { harness, clock, settled } = await logged();
  for (const hours of [0, 2, -1]) {
    clock.wallMs = Date.UTC(2026, 0, 1, hours);
    await call(harness, INFER, { body: BODY });
  }
  // The wall clock is read in whole milliseconds.
  expect((await settled(3)).map(({ time }) => String(time).slice(0, 19))).toEqual([
    "2026-01-01T00:00:01",
    "2026-01-01T02:00:01",
    "2025-12-31T23:00:01",
  ]);
});

test("a line of the access log has the outcome of a request and its batches", async () => {
  const { harness, clock, settled } = await logged();
  const { executor } = harness;
  executor.isHolding = true;
  const asked = call(harness, `${INFER}?a=b`, {
    body: BODY,
    headers: { "x-request-id": "mine-1", traceparent: TRACEPARENT },
  });
  await executor.ran(1);
  clock.nowMs += 12.5;
  executor.finish();
  const { headers, body } = await asked;
  expect(headers["x-request-id"]).toBe("mine-1");
  const [line] = await settled(1);
  expect(line).toMatchObject({
    time: "2026-01-01T00:00:01.000000Z",
    requestId: "mine-1",
    protocol: "http",
    method: "POST",
    path: INFER,
    model: "tiny",
    status: 200,
    rows: 1,
    requestBytes: BODY.length,
    responseBytes: body.length,
    totalMs: 12.5,
    queueMs: 0,
    computeMs: 12.5,
    variant: "large",
    batch: 1,
    level: 0,
    worker: 0,
    traceId: TRACE,
    parentSpanId: SPAN,
  });
  expect(line?.["client"]).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(typeof line?.["slackMs"]).toBe("number");
  // The answer says which span of that trace it was.
  expect(headers["traceparent"]).toBe(`00-${TRACE}-${line?.["spanId"]}-01`);
});

test("requests without an id get one, which rejections repeat", async () => {
  const { harness, settled } = await logged();
  const good = await call(harness, INFER, { body: BODY });
  const made = String(good.headers["x-request-id"]);
  expect(made).toMatch(/^[\da-f]{32}-[\da-f]{16}$/);
  const bad = await call(harness, INFER, { body: "{" });
  const { id, error } = jsonOf(bad);
  expect([bad.status, id]).toEqual([400, bad.headers["x-request-id"]]);
  // The id of the protocol is the request's, where the header says none.
  const named = await call(harness, INFER, { body: inferJson([[1, 2]], { id: "seven" }) });
  expect([named.headers["x-request-id"], jsonOf(named).id]).toEqual(["seven", "seven"]);
  const unfit = await call(harness, INFER, { body: inferJson([[1, 2]], { id: "sie ben" }) });
  expect(unfit.headers["x-request-id"]).toMatch(/^[\da-f]{32}-/);
  const gone = await call(harness, "/nothing");
  const lines = await settled(5);
  expect(lines.map(({ requestId }) => requestId)).toEqual([
    ...[made, id, "seven", unfit.headers["x-request-id"], gone.headers["x-request-id"]],
  ]);
  expect(lines.map(({ status }) => status)).toEqual([200, 400, 200, 200, 404]);
  expect(lines[1]).toMatchObject({ error, model: "tiny" });
});

test("a client that disconnects before its answer is logged without a status", async () => {
  const { harness, settled } = await logged();
  harness.executor.isHolding = true;
  const asked = call(harness, INFER, {
    body: BODY,
    onRequest: (request) => void harness.executor.ran(1).then(() => request.destroy()),
  });
  await expect(asked).rejects.toThrow();
  const [line] = await settled(1);
  expect(line).toMatchObject({ status: null, error: "the client went away" });
});

test("without logs and traces ids and parents are repeated and none are generated", async () => {
  const harness = await serve();
  const plain = await call(harness, INFER, { body: BODY });
  expect(plain.headers).not.toHaveProperty("x-request-id");
  expect(plain.headers).not.toHaveProperty("traceparent");
  const headers = { "x-request-id": "mine", traceparent: TRACEPARENT, tracestate: "a=b" };
  const named = await call(harness, INFER, { body: BODY, headers });
  expect(named.headers).toMatchObject(headers);
  const bad = await call(harness, INFER, { body: "{", headers });
  expect([bad.status, jsonOf(bad).id]).toEqual([400, "mine"]);
  const wrong = await call(harness, "/v2", {
    headers: { traceparent: "00-what", tracestate: "a" },
  });
  expect([wrong.status, wrong.headers["traceparent"]]).toEqual([200, undefined]);
});

test("the log writes messages from its threshold on, as text or as JSON", () => {
  const told = (level: Severity, format: "text" | "json") => {
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line) };
    const { notice: log } = new Log({ sink, level, format, epochMs: () => 0 });
    log("lost\n1", "warn");
    log("usual");
    log("small", "debug");
    return lines;
  };
  expect(told("info", "text")).toEqual(["lost\n1", "usual"]);
  expect(told("error", "text")).toEqual([]);
  expect(told("debug", "json").map((line) => JSON.parse(line))).toEqual([
    { time: "1970-01-01T00:00:00.000Z", level: "warn", message: "lost\n1" },
    { time: "1970-01-01T00:00:00.000Z", level: "info", message: "usual" },
    { time: "1970-01-01T00:00:00.000Z", level: "debug", message: "small" },
  ]);
});

test("rows that a model rejects are logged at the verbose level", async () => {
  const told: [string, string | undefined][] = [];
  const { harness } = await logged({
    onNotice: (message, severity) => void told.push([message, severity]),
  });
  harness.executor.isHolding = true;
  const asked = call(harness, INFER, { body: BODY, headers: { "x-request-id": "r1" } });
  await harness.executor.ran(1);
  harness.executor.refuse();
  expect((await asked).status).toBe(500);
  expect(told).toEqual([["request r1: 500 small: the model said no", "debug"]]);
});
