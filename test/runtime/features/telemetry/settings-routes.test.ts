/** Triton's logging and trace extensions: current settings and allowed changes. */
import { afterEach, expect, test } from "vitest";
import { Sampling } from "../../../../runtime/features/telemetry/otlp/sampling.ts";
import { telemetryOf } from "../../../../runtime/features/telemetry/telemetry.ts";
import { Log } from "../../../../runtime/server/logs/log.ts";
import type { RequestRecord } from "../../../../runtime/server/requests/request-record.ts";
import type { OpenOptions } from "../../../../runtime/server/serve.ts";
import {
  call,
  closeAll,
  type Harness,
  INFER,
  inferJson,
  jsonOf,
  serve,
} from "../../server/harness.ts";

afterEach(closeAll);

const LOGGING = "/v2/logging";
const TRACE = "/v2/trace/setting";
const TRACE_OF_MODEL = "/v2/models/tiny/trace/setting";
const BODY = inferJson([[1, 2]]);

async function served(options: Partial<OpenOptions> = {}) {
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line) };
  const log = new Log({ sink, level: "info", format: "text", epochMs: () => 0 });
  const harness = await serve({ log, onNotice: log.notice, ...options });
  return { harness, log, lines };
}

async function traced(sampling: Sampling) {
  const taken: RequestRecord[] = [];
  const traces = { sampling, take: (one: RequestRecord) => void taken.push(one), lines: () => [] };
  const features = [telemetryOf({ traces, epochOffsetMs: () => 0 })];
  const { harness } = await served({ features });
  const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  /** How many of ten requests are traced. */
  const sampled = async (traceparent?: string) => {
    const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
    taken.length = 0;
    for (let count = 0; count < 10; count++) await call(harness, INFER, { body: BODY, headers });
    return taken.filter(({ path }) => path === INFER).length;
  };
  return { harness, sampled, parent };
}

async function got(harness: Harness, path: string) {
  const reply = await call(harness, path);
  return [reply.status, jsonOf(reply)];
}

/** The status, and the settings or why they are not changed. */
async function posted(harness: Harness, path: string, asked: object) {
  const reply = await call(harness, path, { body: JSON.stringify(asked) });
  const json = jsonOf(reply);
  return [reply.status, json.error ?? json];
}

const INFO = {
  log_file: "",
  log_error: true,
  log_warning: true,
  log_info: true,
  log_verbose_level: 0,
  log_format: "text",
};

test("the settings of the log can be read and changed while the server runs", async () => {
  const { harness, log, lines } = await served();
  expect(jsonOf(await call(harness, "/v2")).extensions).toContain("logging");
  expect(await got(harness, LOGGING)).toEqual([200, INFO]);
  log.notice("before", "debug");
  const verbose = [200, { ...INFO, log_verbose_level: 1 }];
  expect(await posted(harness, `${LOGGING}/`, { log_verbose_level: 1 })).toEqual(verbose);
  expect(await got(harness, LOGGING)).toEqual(verbose);
  log.notice("after", "debug");
  const quiet = { log_verbose_level: 0, log_info: false, log_warning: false };
  expect(await posted(harness, LOGGING, quiet)).toEqual([200, { ...INFO, ...quiet }]);
  log.notice("lost", "warn");
  log.notice("broken", "error");
  expect(lines).toEqual([
    "the log settings were changed: it writes debug and more severe messages, as text",
    "after",
    "the log settings were changed: it writes errors, as text",
    "broken",
  ]);
  expect(await posted(harness, LOGGING, { log_format: "json" })).toEqual([
    200,
    { ...INFO, ...quiet, log_format: "json" },
  ]);
  log.notice("broken", "error");
  expect(lines.at(-1)).toMatch(/^\{.*"message":"broken"\}$/);
});

const ONE_THRESHOLD = "expected true together with";

test.each([
  [{ log_error: false }, "log_error: expected true, got false"],
  [{ log_warning: false }, `log_warning: ${ONE_THRESHOLD} log_info, because the log has one`],
  [{ log_info: false, log_verbose_level: 1 }, `log_info: ${ONE_THRESHOLD} log_verbose_level`],
  [{ log_verbose_level: 2 }, "log_verbose_level: expected 0 or 1, got 2"],
  [{ log_verbose_level: true }, "log_verbose_level: expected 0 or 1, got true"],
  [{ log_info: "no" }, 'log_info: expected true or false, got "no"'],
  [{ log_info: null }, "log_info: expected true or false, got null"],
  [{ log_file: "/tmp/log" }, 'log_file: expected "", got "/tmp/log"'],
  [{ log_format: "ISO8601" }, 'log_format: expected "text" or "json", got "ISO8601"'],
  [{ log_warnings: true }, "log_warnings: expected one of log_file, log_error, log_warning,"],
  [{ toString: true }, "toString: expected one of"],
])("%j is rejected and does not change the log", async (asked, reason) => {
  const { harness } = await served();
  expect(await posted(harness, LOGGING, { log_format: "json", ...asked })).toEqual([
    400,
    expect.stringContaining(reason),
  ]);
  expect(await got(harness, LOGGING)).toEqual([200, INFO]);
  expect(await posted(harness, LOGGING, [])).toEqual([
    400,
    expect.stringContaining("request: expected a JSON object"),
  ]);
});

const ON = {
  trace_file: "",
  trace_level: ["TIMESTAMPS"],
  trace_rate: "1",
  trace_count: "-1",
  log_frequency: "0",
  trace_mode: "opentelemetry",
};

test("the sampling of traces can be read and changed while requests arrive", async () => {
  const { harness, sampled, parent } = await traced(new Sampling("parentbased_always_on", 1));
  expect(jsonOf(await call(harness, "/v2")).extensions).toContain("trace");
  expect(await got(harness, TRACE)).toEqual([200, ON]);
  expect(await got(harness, TRACE_OF_MODEL)).toEqual([200, ON]);
  expect(await sampled()).toBe(10);
  const rare = [200, { ...ON, trace_rate: "490000000049" }];
  expect(await posted(harness, TRACE, { trace_rate: "490000000049" })).toEqual(rare);
  expect(await got(harness, TRACE_OF_MODEL)).toEqual(rare);
  expect([await sampled(), await sampled(parent)]).toEqual([0, 10]);
  const off = { trace_level: ["OFF"] };
  expect(await posted(harness, TRACE, off)).toEqual([
    200,
    { ...ON, ...off, trace_rate: "490000000049" },
  ]);
  expect([await sampled(), await sampled(parent)]).toEqual([0, 0]);
  const reset = { trace_rate: null, trace_level: null, trace_file: null };
  expect(await posted(harness, TRACE, reset)).toEqual([200, ON]);
  expect(await sampled()).toBe(10);
  // What is told can be asked for, and one level needs no list.
  const [, told] = await got(harness, TRACE);
  expect(await posted(harness, TRACE, told)).toEqual([200, ON]);
  expect(await posted(harness, TRACE, { trace_level: "OFF" })).toEqual([200, { ...ON, ...off }]);
});

test.each([
  ["parentbased_always_on", 1, "TIMESTAMPS", "1"],
  ["parentbased_always_off", 1, "TIMESTAMPS", "0"],
  ["always_off", 1, "OFF", "1"],
  ["traceidratio", 0.25, "TIMESTAMPS", "4"],
  ["traceidratio", 1 / 49, "TIMESTAMPS", "49"],
  ["parentbased_traceidratio", 0, "TIMESTAMPS", "0"],
] as const)("the sampler %s of %d is %s of one in %s", async (name, ratio, level, rate) => {
  const { harness } = await traced(new Sampling(name, ratio));
  const told = { ...ON, trace_level: [level], trace_rate: rate };
  expect(await got(harness, TRACE)).toEqual([200, told]);
});

test.each([
  [{ trace_level: ["TENSORS"] }, 'trace_level: expected "TIMESTAMPS" or "OFF", got "TENSORS"'],
  [{ trace_level: ["TIMESTAMPS", "TENSORS"] }, 'trace_level: expected "TIMESTAMPS" or "OFF"'],
  [{ trace_level: [] }, 'trace_level: expected "TIMESTAMPS" or "OFF"'],
  [{ trace_rate: "0.5" }, 'trace_rate: expected "0" or a number >= "1", got "0.5"'],
  [{ trace_rate: "-1" }, "trace_rate: expected"],
  [{ trace_rate: "" }, "trace_rate: expected"],
  [{ trace_rate: { toString: 1 } }, "trace_rate: expected"],
  [{ trace_file: "/tmp/t" }, 'trace_file: expected "", got "/tmp/t"'],
  [{ trace_count: "5" }, 'trace_count: expected "-1", got "5"'],
  [{ log_frequency: "5" }, 'log_frequency: expected "0", got "5"'],
  [{ trace_mode: "triton" }, 'trace_mode: expected "opentelemetry", got "triton"'],
  [{ trace_rates: "1" }, "trace_rates: expected one of trace_file, trace_level, trace_rate,"],
])("%j is rejected and does not change the traces", async (asked, reason) => {
  const { harness } = await traced(new Sampling("parentbased_always_on", 1));
  expect(await posted(harness, TRACE, { trace_level: "OFF", ...asked })).toEqual([
    400,
    expect.stringContaining(reason),
  ]);
  expect(await got(harness, TRACE)).toEqual([200, ON]);
});

test("a model has the trace settings of the server, which cannot be overridden", async () => {
  const { harness } = await traced(new Sampling("parentbased_always_on", 1));
  const same = { trace_level: ["TIMESTAMPS"], trace_rate: null };
  expect(await posted(harness, TRACE_OF_MODEL, same)).toEqual([200, ON]);
  expect(await posted(harness, TRACE_OF_MODEL, { trace_rate: "7" })).toEqual([
    400,
    'trace_rate: expected "1" (a model has the settings of the server), got "7"',
  ]);
  const [status] = await got(harness, "/v2/models/other/trace/setting");
  expect(status).toBe(404);
  expect(await got(harness, TRACE)).toEqual([200, ON]);
});

test("without an OTLP endpoint traces are off and cannot be switched on", async () => {
  const { harness } = await served();
  expect(jsonOf(await call(harness, "/v2")).extensions).not.toContain("trace");
  const off = { ...ON, trace_level: ["OFF"] };
  expect(await got(harness, TRACE)).toEqual([200, off]);
  expect(await posted(harness, TRACE, { trace_level: "OFF", trace_rate: null })).toEqual([
    200,
    off,
  ]);
  expect(await posted(harness, TRACE, { trace_level: ["TIMESTAMPS"] })).toEqual([
    400,
    'trace_level: expected "OFF" (traces need an OTLP endpoint, --otlp-endpoint), ' +
      'got "TIMESTAMPS"',
  ]);
});

test("a server without a log of its own responds with 501", async () => {
  const harness = await serve();
  expect(jsonOf(await call(harness, "/v2")).extensions).not.toContain("logging");
  const reason = "this server writes no log of its own: the program that embeds it writes the log";
  expect(await got(harness, LOGGING)).toEqual([501, { error: reason }]);
});

test("other paths and methods are rejected", async () => {
  const { harness } = await served();
  for (const path of [
    "/v2/trace",
    "/v2/logging/more",
    "/v2/trace/setting/more",
    "/v2/models/tiny/trace",
    "/v2/models//trace/setting",
    "/v2/models/tiny/versions/1/trace/setting",
    "/v2/models/tiny/logging",
  ]) {
    expect([path, (await call(harness, path)).status]).toEqual([path, 404]);
  }
  const put = await call(harness, LOGGING, { method: "PUT", body: "{}" });
  expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD, POST"]);
  expect((await call(harness, LOGGING, { method: "HEAD" })).status).toBe(200);
});

test("with an admin listener the settings are served only there", async () => {
  const { harness } = await served({ adminAt: { host: "127.0.0.1", port: 0 } });
  for (const path of [LOGGING, TRACE, TRACE_OF_MODEL]) {
    const { url, adminUrl } = harness.server;
    expect([(await fetch(url + path)).status, (await fetch(adminUrl + path)).status]).toEqual([
      404, 200,
    ]);
  }
});
