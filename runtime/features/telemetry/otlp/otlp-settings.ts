/** Settings of the OTLP export, read from OpenTelemetry's environment variables. */
import { RuntimeError } from "../../../base/errors.ts";
import { SAMPLERS } from "./sampler.ts";

export interface OtlpSettings {
  readonly tracesUrl: string;
  readonly metricsUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly sampler: (typeof SAMPLERS)[number];
  readonly samplerRatio: number;
  readonly metricIntervalMs: number;
  /** Longest time that gathered requests wait before they are sent. */
  readonly scheduleDelayMs: number;
  /** Limit of requests that wait to be sent; further ones are dropped. */
  readonly maxQueued: number;
  /** Maximum number of requests per message. */
  readonly maxBatch: number;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param endpoint from the settings; null to use the environment.
 * @returns undefined if nothing is exported.
 * @throws RuntimeError RUNTIME_USAGE for a variable with an invalid value.
 */
export function otlpSettings(
  endpoint: string | null,
  environment: Environment,
): OtlpSettings | undefined {
  const variable = (name: string) => environment[`OTEL_${name}`]?.trim() ?? "";
  if (variable("SDK_DISABLED").toLowerCase() === "true") return undefined;
  const base = endpoint ?? variable("EXPORTER_OTLP_ENDPOINT");
  // A variable of one signal is used as it is; the common one gets the signal's path appended.
  const urlOf = (signal: string, path: string) => {
    const own = endpoint === null ? variable(`EXPORTER_OTLP_${signal}_ENDPOINT`) : "";
    const text =
      own !== ""
        ? own
        : base === ""
          ? ""
          : `${base.endsWith("/") ? base.slice(0, -1) : base}${path}`;
    return text === "" ? "" : checkedUrl(text);
  };
  const isOff = (signal: string) => variable(`${signal}_EXPORTER`) === "none";
  const tracesUrl = isOff("TRACES") ? "" : urlOf("TRACES", "/v1/traces");
  const metricsUrl = isOff("METRICS") ? "" : urlOf("METRICS", "/v1/metrics");
  if (tracesUrl === "" && metricsUrl === "") return undefined;
  const number = (name: string, defaultValue: number, least: number, most = 2 ** 31 - 1) =>
    numberOf(`OTEL_${name}`, variable(name), defaultValue, least, most);
  const resource = pairsOf(variable("RESOURCE_ATTRIBUTES"));
  const { "service.name": named, ...more } = resource;
  return {
    tracesUrl,
    metricsUrl,
    headers: pairsOf(variable("EXPORTER_OTLP_HEADERS")),
    timeoutMs: number("EXPORTER_OTLP_TIMEOUT", 10_000, 1),
    sampler: samplerNamed(variable("TRACES_SAMPLER")),
    samplerRatio: number("TRACES_SAMPLER_ARG", 1, 0, 1),
    metricIntervalMs: number("METRIC_EXPORT_INTERVAL", 60_000, 1),
    scheduleDelayMs: number("BSP_SCHEDULE_DELAY", 5000, 1),
    maxQueued: number("BSP_MAX_QUEUE_SIZE", 2048, 1, 2 ** 20),
    maxBatch: number("BSP_MAX_EXPORT_BATCH_SIZE", 512, 1, 2 ** 16),
    serviceName: variable("SERVICE_NAME") || named || "stratagem",
    resource: more,
  };
}

function checkedUrl(text: string): string {
  const url = URL.parse?.(text) ?? (URL.canParse(text) ? new URL(text) : null);
  if (url?.protocol === "http:" || url?.protocol === "https:") return text;
  const message = `OTLP endpoint: expected a URL such as http://127.0.0.1:4318, got ${text}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

function samplerNamed(text: string): (typeof SAMPLERS)[number] {
  if (text === "") return "parentbased_always_on";
  const found = SAMPLERS.find((name) => name === text);
  if (found !== undefined) return found;
  const message = `OTEL_TRACES_SAMPLER: expected ${SAMPLERS.join(", ")}, got ${text}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

function numberOf(
  name: string,
  text: string,
  defaultValue: number,
  least: number,
  most: number,
): number {
  if (text === "") return defaultValue;
  const value = Number(text);
  if (value >= least && value <= most) return value;
  const message = `${name}: expected a number from ${least} to ${most}, got ${text}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

/** Reads `key=value,key=value`, percent-encoded; skips items that are no pair, as specified. */
function pairsOf(text: string): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) return [];
    return [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
