/** Exports traces and metrics over OTLP/HTTP; loaded only if an endpoint is configured. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { familiesOf, type MetricLine } from "../../../base/exposition.ts";
import type { Notice } from "../../../base/notice.ts";
import type { TraceSink } from "../telemetry.ts";
import { metricsOf } from "./metric-message.ts";
import { OtlpClient } from "./otlp-client.ts";
import type { OtlpSettings } from "./otlp-settings.ts";
import { attributesOf } from "./otlp-values.ts";
import { Sampling } from "./sampling.ts";
import { TraceExporter } from "./trace-exporter.ts";

/** Longest wait for the receiver when the server closes. */
const CLOSE_MS = 3000;

interface OtlpOptions {
  readonly settings: OtlpSettings;
  readonly version: string;
  readonly nowMs: () => number;
  readonly epochOffsetMs: () => number;
  readonly onNotice: Notice;
}

interface Otlp {
  /** Undefined if traces are not exported. */
  readonly traces: TraceSink | undefined;
  /** Starts to export metrics. @param lines returns all metrics of the server. */
  watch(lines: () => readonly MetricLine[]): void;
  /** Sends what is queued; each message is tried once. */
  close(): Promise<void>;
}

export function openOtlp({ settings, version, nowMs, epochOffsetMs, onNotice }: OtlpOptions): Otlp {
  const client = new OtlpClient(settings);
  const resource = resourceOf(settings, version);
  const scope = { name: "stratagem-runtime", version };
  const startMs = nowMs();
  let startEpochMs = epochOffsetMs() + startMs;
  const failed = (what: string) => (reason: string) =>
    onNotice(`${what} cannot be sent over OTLP: ${reason}; retrying`, "warn");
  const { tracesUrl, metricsUrl } = settings;
  const traces =
    tracesUrl === ""
      ? undefined
      : new TraceExporter({
          ...settings,
          client,
          url: tracesUrl,
          sampling: new Sampling(settings.sampler, settings.samplerRatio),
          resource,
          scope,
          epochOffsetMs,
          onFailed: failed("traces"),
        });
  let timer: NodeJS.Timeout | undefined;
  let sendMetrics = async () => {};
  const watch = (lines: () => readonly MetricLine[]) => {
    if (metricsUrl === "") return;
    let isFailing = false;
    sendMetrics = async () => {
      // Receivers take another start for a restart: only a step of the wall clock moves it.
      const movedMs = epochOffsetMs() + startMs;
      if (Math.abs(movedMs - startEpochMs) > 1) startEpochMs = movedMs;
      const times = { startEpochMs, epochMs: epochOffsetMs() + nowMs() };
      const metrics = metricsOf(familiesOf(lines()), times);
      const message = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
      const reason = await client.send(metricsUrl, Buffer.from(JSON.stringify(message)));
      if (reason !== null && !isFailing) failed("metrics")(reason);
      isFailing = reason !== null;
    };
    timer = setInterval(() => void sendMetrics(), settings.metricIntervalMs).unref();
  };
  return {
    traces,
    watch,
    async close() {
      clearInterval(timer);
      client.hurry();
      const sent = Promise.all([traces?.flush(), sendMetrics()]);
      let timeout: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => {
        timeout = setTimeout(resolve, CLOSE_MS);
      });
      await Promise.race([sent, late]);
      clearTimeout(timeout);
      client.close();
    },
  };
}

/** Attributes of the resource, named by OpenTelemetry's semantic conventions. */
function resourceOf({ serviceName, resource }: OtlpSettings, version: string) {
  return {
    attributes: attributesOf({
      "service.name": serviceName,
      "service.version": version,
      "service.instance.id": randomUUID(),
      "host.name": hostname(),
      "process.pid": process.pid,
      "process.runtime.name": "nodejs",
      "process.runtime.version": process.versions.node,
      "telemetry.sdk.language": "nodejs",
      "telemetry.sdk.name": "stratagem",
      "telemetry.sdk.version": version,
      ...resource,
    }),
  };
}
