/** Triton's log and trace settings over gRPC. */
import { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { Sampling } from "../../../../runtime/features/telemetry/otlp/sampling.ts";
import { telemetryOf } from "../../../../runtime/features/telemetry/telemetry.ts";
import * as pb from "../../../../runtime/server/grpc/pb/inference-pb.ts";
import { Log } from "../../../../runtime/server/logs/log.ts";
import { closeClients, SERVICE, serveGrpc } from "../../server/grpc/client.ts";
import { closeAll } from "../../server/harness.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

const LOG = [pb.LogSettingsRequestSchema, pb.LogSettingsResponseSchema] as const;
const TRACE = [pb.TraceSettingRequestSchema, pb.TraceSettingResponseSchema] as const;

async function served() {
  const sink = { write: () => {} };
  const log = new Log({ sink, level: "info", format: "text", epochMs: () => 0 });
  const sampling = new Sampling("parentbased_always_on", 1);
  const traces = { sampling, take: () => {}, lines: () => [] };
  const features = [telemetryOf({ traces, log, epochOffsetMs: () => 0 })];
  const { client } = await serveGrpc({ log, features });
  return {
    log,
    sampling,
    logSettings: async (settings: Record<string, boolean | number | string | undefined>) => {
      const asked = Object.entries(settings).map(([name, value]) => {
        return [name, { parameterChoice: choiceOf(value) }] as const;
      });
      const request = { settings: Object.fromEntries(asked) };
      const told = await client.call(`${SERVICE}/LogSettings`, LOG, request);
      const values = Object.entries(told.settings).map(([name, { parameterChoice }]) => {
        return [name, [parameterChoice.case, parameterChoice.value]] as const;
      });
      return Object.fromEntries(values);
    },
    traceSetting: async (settings: Record<string, string[]>, modelName = "") => {
      const asked = Object.entries(settings).map(([name, value]) => [name, { value }] as const);
      const request = { settings: Object.fromEntries(asked), modelName };
      const told = await client.call(`${SERVICE}/TraceSetting`, TRACE, request);
      return Object.fromEntries(
        Object.entries(told.settings).map(([name, { value }]) => [name, value]),
      );
    },
  };
}

function choiceOf(value: boolean | number | string | undefined) {
  if (typeof value === "boolean") return { case: "boolParam", value } as const;
  if (typeof value === "number") return { case: "uint32Param", value } as const;
  if (typeof value === "string") return { case: "stringParam", value } as const;
  return { case: undefined };
}

test("LogSettings reads and changes the settings of the log", async () => {
  const { log, logSettings } = await served();
  const info = {
    log_file: ["stringParam", ""],
    log_error: ["boolParam", true],
    log_warning: ["boolParam", true],
    log_info: ["boolParam", true],
    log_verbose_level: ["uint32Param", 0],
    log_format: ["stringParam", "text"],
  };
  expect(await logSettings({})).toEqual(info);
  const verbose = { ...info, log_verbose_level: ["uint32Param", 1] };
  expect(await logSettings({ log_verbose_level: 1 })).toEqual(verbose);
  expect(log.level).toBe("debug");
  for (const refused of [{ log_error: false }, { log_file: "x" }, { log_info: undefined }]) {
    await expect(logSettings(refused)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  }
  expect(await logSettings({})).toEqual(verbose);
});

test("TraceSetting reads and changes the sampling of traces", async () => {
  const { sampling, traceSetting } = await served();
  const on = {
    trace_file: [""],
    trace_level: ["TIMESTAMPS"],
    trace_rate: ["1"],
    trace_count: ["-1"],
    log_frequency: ["0"],
    trace_mode: ["opentelemetry"],
  };
  expect(await traceSetting({}, "tiny")).toEqual(on);
  expect(await traceSetting({ trace_rate: ["4"] })).toEqual({ ...on, trace_rate: ["4"] });
  expect(sampling.state).toEqual({ isOn: true, ratio: 0.25 });
  await expect(traceSetting({ trace_level: ["TENSORS"] })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: 'trace_level: expected "TIMESTAMPS" or "OFF", got "TENSORS"',
  });
  await expect(traceSetting({}, "none")).rejects.toMatchObject({ code: status.NOT_FOUND });
  // A setting without a value is as it was at the beginning.
  expect(await traceSetting({ trace_rate: [] })).toEqual(on);
});
