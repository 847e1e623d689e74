/**
 * Telemetry: access log, traces and metrics over OTLP, and the routes that change their settings.
 */
import { RuntimeError } from "../../base/errors.ts";
import { text } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { droppedLines, LineSink } from "../../server/logs/line-sink.ts";
import { type FeatureContext, serverFeature } from "../server-feature.ts";

export const telemetry = serverFeature({
  name: "telemetry",
  title: "Requests, traces and metrics",
  settings: {
    accessLog: setting(
      text("<file>", "a file, or - for stderr"),
      null,
      "file for the access log, one line of JSON per request; - for stderr",
      "none",
    ),
    otlpEndpoint: setting(
      text("<url>", "a URL such as http://127.0.0.1:4318"),
      null,
      "OTLP/HTTP endpoint for traces and metrics",
      "`OTEL_EXPORTER_OTLP_ENDPOINT`, else none",
    ),
  },
  limits: {},
  open: async ({ accessLog: path, otlpEndpoint }, context) => {
    const { log, epochOffsetMs } = context;
    const [{ telemetryOf }, otlp] = await Promise.all([
      import("./telemetry.ts"),
      openedOtlp(otlpEndpoint, context),
    ]);
    const isShared = path === null || (path === "-" && context.stderr !== undefined);
    const own = isShared ? undefined : ownSink(path, context);
    const accessLog = path === null ? undefined : (own ?? context.stderr);
    const feature = telemetryOf({ accessLog, traces: otlp?.traces, log, epochOffsetMs });
    return {
      ...feature,
      metricLines: () => [
        ...(own === undefined ? [] : droppedLines("access", own)),
        ...(feature.metricLines?.([]) ?? []),
      ],
      serving: ({ server }) => otlp?.watch(() => server.metricLines()),
      reopened: () => own?.reopen(),
      close: async () => {
        await otlp?.close();
        await own?.close();
      },
    };
  },
});

/** Loads the OTLP modules only if an endpoint is configured. @throws RuntimeError RUNTIME_USAGE */
async function openedOtlp(
  endpoint: string | null,
  { environment, version, nowMs, epochOffsetMs, onNotice }: FeatureContext,
) {
  const isAsked =
    endpoint !== null || Object.keys(environment).some((key) => key.startsWith("OTEL_"));
  if (!isAsked) return undefined;
  const { otlpSettings } = await import("./otlp/otlp-settings.ts");
  const settings = otlpSettings(endpoint, environment);
  if (settings === undefined) return undefined;
  const { openOtlp } = await import("./otlp/otlp.ts");
  return openOtlp({ settings, version, nowMs, epochOffsetMs, onNotice });
}

/** @throws RuntimeError RUNTIME_USAGE if the file cannot be written. */
function ownSink(path: string, { onNotice, nowMs }: FeatureContext): LineSink {
  try {
    const reports = { name: `access log ${path}`, onNotice, nowMs };
    return path === "-" ? new LineSink() : new LineSink(path, reports);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const message = `--access-log: expected a writable file, got ${path}: ${reason}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
}
