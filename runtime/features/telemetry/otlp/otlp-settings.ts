/** Where OTLP goes and how, by the variables that OpenTelemetry has for it. */
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
  /** After this time at most what was gathered is sent. */
  readonly scheduleDelayMs: number;
  /** Requests that wait to be sent; those beyond are dropped. */
  readonly maxQueued: number;
  /** Requests of one message. */
  readonly maxBatch: number;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param endpoint of the settings; null for what the environment says.
 * @returns undefined where nothing is to be sent.
 * @throws RuntimeError RUNTIME_USAGE for a variable with a value that it cannot have.
 */
export function otlpSettings(
  endpoint: string | null,
  environment: Environment,
): OtlpSettings | undefined {
  const of = (name: string) => environment[`OTEL_${name}`]?.trim() ?? "";
  if (of("SDK_DISABLED").toLowerCase() === "true") return undefined;
  const base = endpoint ?? of("EXPORTER_OTLP_ENDPOINT");
  // A variable of a signal is used as it is; of the common one the signal's path is a part.
  const urlOf = (signal: string, path: string) => {
    const own = endpoint === null ? of(`EXPORTER_OTLP_${signal}_ENDPOINT`) : "";
    const text =
      own !== ""
        ? own
        : base === ""
          ? ""
          : `${base.endsWith("/") ? base.slice(0, -1) : base}${path}`;
    return text === "" ? "" : checkedUrl(text);
  };
  const isOff = (signal: string) => of(`${signal}_EXPORTER`) === "none";
  const tracesUrl = isOff("TRACES") ? "" : urlOf("TRACES", "/v1/traces");
  const metricsUrl = isOff("METRICS") ? "" : urlOf("METRICS", "/v1/metrics");
  if (tracesUrl === "" && metricsUrl === "") return undefined;
  const number = (name: string, usual: number, least: number, most = 2 ** 31 - 1) =>
    numberOf(`OTEL_${name}`, of(name), usual, least, most);
  const resource = pairsOf(of("RESOURCE_ATTRIBUTES"));
  const { "service.name": named, ...more } = resource;
  return {
    tracesUrl,
    metricsUrl,
    headers: pairsOf(of("EXPORTER_OTLP_HEADERS")),
    timeoutMs: number("EXPORTER_OTLP_TIMEOUT", 10_000, 1),
    sampler: samplerNamed(of("TRACES_SAMPLER")),
    samplerRatio: number("TRACES_SAMPLER_ARG", 1, 0, 1),
    metricIntervalMs: number("METRIC_EXPORT_INTERVAL", 60_000, 1),
    scheduleDelayMs: number("BSP_SCHEDULE_DELAY", 5000, 1),
    maxQueued: number("BSP_MAX_QUEUE_SIZE", 2048, 1, 2 ** 20),
    maxBatch: number("BSP_MAX_EXPORT_BATCH_SIZE", 512, 1, 2 ** 16),
    serviceName: of("SERVICE_NAME") || named || "stratagem",
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

function numberOf(name: string, text: string, usual: number, least: number, most: number): number {
  if (text === "") return usual;
  const value = Number(text);
  if (value >= least && value <= most) return value;
  const message = `${name}: expected a number from ${least} to ${most}, got ${text}`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

/** `key=value,key=value`, percent-encoded. What is no pair is left out, as specified. */
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
