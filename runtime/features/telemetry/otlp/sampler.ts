/** Samplers that decide which requests are traced, named as in OpenTelemetry's variables. */
import type { TraceParent } from "../../../server/requests/trace-context.ts";

/** @returns whether a request is traced; `parent` is undefined for the root of a trace. */
export type Sampler = (traceId: string, parent: TraceParent | undefined) => boolean;

export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Digits of the trace id that decide; 52 bits are exact as a number. */
const DIGITS = 13;
const SPAN = 16 ** DIGITS;

/**
 * @param name one of `SAMPLERS`. @param ratio share of the requests, 0 to 1, for sampling by ratio.
 * Source: OpenTelemetry specification, `OTEL_TRACES_SAMPLER`.
 */
export function samplerOf(name: (typeof SAMPLERS)[number], ratio: number): Sampler {
  const base = name.replace("parentbased_", "");
  const root = (traceId: string) => {
    if (base !== "traceidratio") return base === "always_on";
    // Every service samples the same traces, because the digits of the trace id decide.
    return Number.parseInt(traceId.slice(-DIGITS), 16) < ratio * SPAN;
  };
  if (!name.startsWith("parentbased_")) return root;
  return (traceId, parent) => parent?.isSampled ?? root(traceId);
}
