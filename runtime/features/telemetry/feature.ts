/** Telemetry: a line for every request, traces and metrics by OTLP, and who may change them. */
import { RuntimeError } from "../../base/errors.ts";
import { text } from "../../kinds/kinds.ts";
import { setting } from "../../kinds/setting.ts";
import { droppedLines, LineSink } from "../../server/logs/line-sink.ts";
import { type FeatureSeams, serverFeature } from "../server-feature.ts";

export const telemetry = serverFeature({
  name: "telemetry",
  title: "Requests, traces and metrics",
  settings: {
    accessLog: setting(
      text("<file>", "a file, or - for stderr"),
      null,
      "where a line of JSON goes for every request; - for stderr",
      "none",
    ),
    otlpEndpoint: setting(
      text("<url>", "a URL such as http://127.0.0.1:4318"),
      null,
      "where traces and metrics go by OTLP/HTTP",
      "`OTEL_EXPORTER_OTLP_ENDPOINT`, or nowhere",
    ),
  },
  limits: {},
  open: async ({ accessLog: path, otlpEndpoint }, seams) => {
    const { log, epochOffsetMs } = seams;
    const [{ telemetryOf }, otlp] = await Promise.all([
      import("./telemetry.ts"),
      openedOtlp(otlpEndpoint, seams),
    ]);
    const isShared = path === null || (path === "-" && seams.stderr !== undefined);
    const own = isShared ? undefined : ownSink(path);
    const accessLog = path === null ? undefined : (own ?? seams.stderr);
    const told = telemetryOf({ accessLog, traces: otlp?.traces, log, epochOffsetMs });
    return {
      ...told,
      metricLines: () => [
        ...(own === undefined ? [] : droppedLines("access", own)),
        ...(told.metricLines?.([]) ?? []),
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

/** Nothing of OTLP is loaded where nothing is sent. @throws RuntimeError RUNTIME_USAGE */
async function openedOtlp(
  endpoint: string | null,
  { environment, version, nowMs, epochOffsetMs, onNotice }: FeatureSeams,
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

/** @throws RuntimeError RUNTIME_USAGE for a file that cannot be written. */
function ownSink(path: string): LineSink {
  try {
    return path === "-" ? new LineSink() : new LineSink(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const message = `--access-log: expected a file that can be written, got ${path}: ${reason}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
}
