/** Traces and metrics as an OTLP receiver gets them. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { familiesOf, Histogram, head } from "../../../../runtime/base/exposition.ts";
import { metricsOf } from "../../../../runtime/features/telemetry/otlp/metric-message.ts";
import { openOtlp } from "../../../../runtime/features/telemetry/otlp/otlp.ts";
import { otlpSettings } from "../../../../runtime/features/telemetry/otlp/otlp-settings.ts";
import { telemetryOf } from "../../../../runtime/features/telemetry/telemetry.ts";
import { call, closeAll, INFER, inferJson, serve } from "../../server/harness.ts";

interface Message {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // Of JSON that another program is to understand.
  readonly body: ReturnType<typeof JSON.parse>;
}

interface Receiver {
  readonly server: Server;
  readonly url: string;
  readonly messages: Message[];
  /** Statuses of the next answers; 200 once there are none. */
  readonly refusals: number[];
}

const receivers: Receiver[] = [];
afterEach(async () => {
  await closeAll();
  for (const { server } of receivers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function receiver(): Promise<Receiver> {
  const messages: Message[] = [];
  const refusals: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const status = refusals.shift() ?? 200;
    if (status === 200) {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      messages.push({ path: request.url ?? "", headers: request.headers, body });
    }
    response.writeHead(status, { "content-type": "application/json", "retry-after": "0.01" });
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made = { server, url, messages, refusals };
  receivers.push(made);
  return made;
}

async function traced(url: string, environment: Record<string, string> = {}) {
  const settings = otlpSettings(url, environment);
  if (settings === undefined) throw new Error("there is an endpoint");
  const clock = { nowMs: 1000 };
  const times = { nowMs: () => clock.nowMs, epochOffsetMs: () => Date.UTC(2026, 0, 1) };
  const notices: string[] = [];
  const onNotice = (message: string) => void notices.push(message);
  const otlp = openOtlp({ settings, version: "0.0.0", ...times, onNotice });
  const features = [telemetryOf({ traces: otlp.traces, ...times })];
  const harness = await serve({ features, nowMs: times.nowMs });
  otlp.watch(() => harness.server.metricLines());
  return { otlp, harness, clock, notices };
}

const BODY = inferJson([[1, 2]]);
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const FROM_CALLER = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=b" };

interface Keyed {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function attributes(list: readonly Keyed[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function spansOf(messages: readonly Message[]) {
  return messages
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => body.resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans);
}

test("a request becomes a span of its caller's trace, with queue, batch and worker", async () => {
  const { url, messages } = await receiver();
  const { otlp, harness, clock } = await traced(url, { OTEL_SERVICE_NAME: "letters" });
  harness.executor.isHolding = true;
  const asked = call(harness, INFER, { body: BODY, headers: FROM_CALLER });
  await harness.executor.ran(1);
  clock.nowMs += 20;
  harness.executor.finish();
  const { headers } = await asked;
  expect(headers["tracestate"]).toBe("a=b");
  await harness.server.close();
  await otlp.close();

  const spans = spansOf(messages);
  const named = (name: string) => spans.find((span) => span.name === name);
  const request = named("POST /v2/models/{model}/infer");
  const [queue, batch, worker] = ["queue", "batch", "worker"].map(named);
  expect(spans).toHaveLength(4);
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, kind: 2, traceState: "a=b" });
  expect(headers["traceparent"]).toBe(`00-${TRACE}-${request.spanId}-01`);
  expect([queue.parentSpanId, batch.parentSpanId]).toEqual([request.spanId, request.spanId]);
  expect(worker.parentSpanId).toBe(batch.spanId);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
  expect(attributes(request.attributes)).toMatchObject({
    "http.request.method": "POST",
    "http.route": "/v2/models/{model}/infer",
    "url.path": INFER,
    "http.response.status_code": "200",
    "client.address": "127.0.0.1",
    "stratagem.model": "tiny",
    "stratagem.variant": "large",
  });
  expect(attributes(batch.attributes)).toMatchObject({
    "stratagem.level": "0",
    "stratagem.variant": "large",
    "stratagem.batch.size": "1",
  });
  expect(attributes(batch.attributes)).toHaveProperty("stratagem.slack");
  expect(attributes(worker.attributes)).toMatchObject({ "stratagem.worker": "0" });
  const start = BigInt(Date.UTC(2026, 0, 1) + 1000) * 1_000_000n;
  expect([request.startTimeUnixNano, request.endTimeUnixNano]).toEqual([
    String(start),
    String(start + 20_000_000n),
  ]);
  // The worker took one of these milliseconds.
  expect(worker.startTimeUnixNano).toBe(String(start + 19_000_000n));
  const ofTraces = messages.find(({ path }) => path === "/v1/traces");
  const { resource } = ofTraces?.body.resourceSpans[0] ?? {};
  expect(attributes(resource.attributes)).toMatchObject({ "service.name": "letters" });
});

test("metrics are the same as for Prometheus: sums, gauges and histograms", async () => {
  const { url, messages } = await receiver();
  const { otlp, harness } = await traced(url, { OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b" });
  for (let count = 0; count < 3; count++) await call(harness, INFER, { body: BODY });
  await otlp.close();
  const message = messages.find(({ path }) => path === "/v1/metrics");
  expect(message?.headers).toMatchObject({ "content-type": "application/json", "api-key": "a b" });
  const metrics = message?.body.resourceMetrics[0].scopeMetrics[0].metrics;
  const named = (name: string) => metrics.find((one: { name: string }) => one.name === name);
  const success = named("nv_inference_request_success").sum;
  expect(success).toMatchObject({ isMonotonic: true, aggregationTemporality: 2 });
  expect(success.dataPoints[0].asDouble).toBe(3);
  expect(attributes(success.dataPoints[0].attributes)).toEqual({ model: "tiny", version: "1" });
  const { unit, histogram } = named("stratagem_request_duration_seconds");
  const [point] = histogram.dataPoints;
  expect([unit, point.count]).toEqual(["s", "3"]);
  expect(point.bucketCounts).toHaveLength(point.explicitBounds.length + 1);
  expect(point.bucketCounts.map(Number).reduce((sum: number, one: number) => sum + one)).toBe(3);
  expect(named("stratagem_pending_requests").gauge.dataPoints[0].asDouble).toBe(0);
  // What is not known has no point, for JSON has no such number.
  expect(JSON.stringify(message?.body)).not.toContain("null");
});

test("expected counts, which are fractions, are sent as whole numbers that keep their sum", () => {
  const histogram = new Histogram([1, 2, 3]);
  histogram.expect(10, (bound) => bound / 3.9, 1.5);
  const lines = [head("x_seconds", "histogram", "x"), ...histogram.lines("x_seconds", {})];
  const times = { startEpochMs: 0, epochMs: 1 };
  const [message] = JSON.parse(JSON.stringify(metricsOf(familiesOf(lines), times)));
  const [point] = message.histogram.dataPoints;
  expect(point).toMatchObject({ count: "10", sum: 15, bucketCounts: ["3", "2", "3", "2"] });
});

test("retryable failures are retried, and rejected messages are not", async () => {
  const { url, messages, refusals } = await receiver();
  const { otlp, harness, notices } = await traced(url, { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1" });
  refusals.push(503, 429);
  const { traces } = otlp;
  const counted = () => traces?.lines().flatMap((one) => (one.kind === "head" ? [] : [one.value]));
  await call(harness, INFER, { body: BODY });
  while (counted()?.[0] !== 1) await new Promise(setImmediate);
  expect(spansOf(messages)).toHaveLength(4);
  refusals.push(400);
  await call(harness, INFER, { body: BODY });
  while (counted()?.[1] !== 1) await new Promise(setImmediate);
  expect(spansOf(messages)).toHaveLength(4);
  expect(notices).toEqual(["traces cannot be sent over OTLP: the receiver answered 400; retrying"]);
  await otlp.close();
});

test("requests beyond the queue's limit are dropped and counted", async () => {
  const { url, refusals } = await receiver();
  // The first message waits for its second try as long as the test goes on.
  refusals.push(...new Array<number>(50).fill(503));
  const { otlp, harness } = await traced(url, {
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
    OTEL_BSP_MAX_QUEUE_SIZE: "4",
  });
  await Promise.all(Array.from({ length: 40 }, () => call(harness, INFER, { body: BODY })));
  await otlp.close();
  const values = otlp.traces?.lines().flatMap((one) => (one.kind === "head" ? [] : [one.value]));
  expect(values).toEqual([0, 40]);
});

test("a request that is not sampled is not exported, and its response says so", async () => {
  const { url, messages } = await receiver();
  const { otlp, harness } = await traced(url, { OTEL_TRACES_SAMPLER: "always_off" });
  const { headers } = await call(harness, INFER, { body: BODY, headers: FROM_CALLER });
  expect(headers["traceparent"]).toMatch(new RegExp(`^00-${TRACE}-[\\da-f]{16}-00$`));
  await otlp.close();
  expect(spansOf(messages)).toEqual([]);
});

test("spans are marked as failed for errors of the server", async () => {
  const { url, messages } = await receiver();
  const { otlp, harness } = await traced(url);
  await call(harness, INFER, { body: "{" });
  harness.executor.isHolding = true;
  const asked = call(harness, INFER, { body: BODY });
  await harness.executor.ran(1);
  harness.executor.refuse();
  await asked;
  await otlp.close();
  const [bad, failed] = spansOf(messages);
  expect([bad.status, failed.status]).toEqual([
    undefined,
    { code: 2, message: "small: the model said no" },
  ]);
  expect(attributes(failed.attributes)).toMatchObject({ "error.type": "500" });
});

test("OpenTelemetry's variables are applied, and invalid values are rejected", () => {
  const of = (environment: Record<string, string>, endpoint: string | null = null) =>
    otlpSettings(endpoint, environment);
  expect(of({})).toBeUndefined();
  expect(of({ OTEL_SDK_DISABLED: "true" }, "http://a:1")).toBeUndefined();
  expect(of({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:4318/" })).toMatchObject({
    tracesUrl: "http://a:4318/v1/traces",
    metricsUrl: "http://a:4318/v1/metrics",
    sampler: "parentbased_always_on",
    samplerRatio: 1,
    serviceName: "stratagem",
    timeoutMs: 10_000,
  });
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://b/t" };
  expect(of(own)).toMatchObject({ tracesUrl: "https://b/t", metricsUrl: "" });
  expect(of({ OTEL_TRACES_EXPORTER: "none" }, "http://a:1")).toMatchObject({ tracesUrl: "" });
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: "service.name=s,zone=a%2Cb,what" };
  expect(of(attributes, "http://a:1")).toMatchObject({
    serviceName: "s",
    resource: { zone: "a,b" },
  });
  const wrong = (environment: Record<string, string>) => () => of(environment, "http://a:1");
  expect(wrong({ OTEL_TRACES_SAMPLER: "some" })).toThrow(
    "OTEL_TRACES_SAMPLER: expected always_on, always_off",
  );
  expect(wrong({ OTEL_TRACES_SAMPLER_ARG: "2" })).toThrow(
    "OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got 2",
  );
  expect(() => of({}, "a:4318")).toThrow("expected a URL such as http://127.0.0.1:4318");
});
