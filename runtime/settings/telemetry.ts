/** What is told to the outside: the log, the access log, traces and metrics. */
import { LOG_FORMATS } from "../server/telemetry/log.ts";
import { SEVERITIES } from "../server/telemetry/notice.ts";
import { oneOf, text } from "./kinds.ts";
import { setting } from "./setting.ts";

export const TELEMETRY = {
  logLevel: setting(oneOf(SEVERITIES), "info", "what the log on stderr tells at least"),
  logFormat: setting(oneOf(LOG_FORMATS), "text", "how the log on stderr is written"),
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
};
