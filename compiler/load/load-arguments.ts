/** Options of the load on the command line. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import { readQuantity } from "../spec/document/quantity.ts";
import { readTrace, spreadPart, spreadTexts } from "../spec/trace.ts";
import type { ClosedLoop } from "./run-load.ts";

const DEFAULT_DURATION_MS = 30_000;

/**
 * Reads a value of `--arrivals`.
 * @param seed for a trace whose times are spread.
 * @throws RuntimeError RUNTIME_USAGE, InputError for a trace.
 */
export function parseArrivals(text: string, seed: number): ArrivalProcess {
  const colon = text.indexOf(":");
  const [kind, value] = [text.slice(0, Math.max(0, colon)), text.slice(colon + 1)];
  if (kind === "poisson") return { kind, qps: parseRate("--arrivals poisson:QPS", value) };
  if (kind === "trace" && value !== "") return { kind, trace: readTrace(value, seed) };
  const [qps = "", cv2 = "", ...rest] = value.split(",");
  if (kind !== "gamma" || rest.length > 0) {
    throw usage("--arrivals poisson:QPS, gamma:QPS,CV2 or trace:FILE", `"${text}"`);
  }
  return {
    kind,
    qps: parseRate("--arrivals gamma:QPS", qps),
    cv2: parsePositive("--arrivals gamma:QPS,CV2", "a number above 0 such as 4", cv2, "none", true),
  };
}

/** Says how a trace of `--arrivals` was spread, if it was: as text and as data. */
export function spreadOf(text: string, arrivals: ArrivalProcess | ClosedLoop): [string[], object] {
  if (arrivals.kind !== "trace") return [[], {}];
  const { trace } = arrivals;
  const file = text.slice(text.indexOf(":") + 1);
  return [spreadTexts({ file, trace }), spreadPart(trace)];
}

/** Returns the duration of the load; by default that of the whole trace. @throws RuntimeError */
export function parseDurationMs(
  text: string | undefined,
  arrivals: ArrivalProcess | ClosedLoop,
): number {
  if (text !== undefined) return parseTimeMs("--duration", text);
  if (arrivals.kind !== "trace") return DEFAULT_DURATION_MS;
  const { trace } = arrivals;
  return trace.kind === "rates" ? trace.endMs : (trace.arrivalMs.at(-1) ?? 0) + 1;
}

/** Parses a time with its unit. @throws RuntimeError */
export function parseTimeMs(option: string, text: string): number {
  return parsePositive(option, "a time above 0 such as 30s", text, "time", false);
}

/** Parses a seed. @throws RuntimeError */
export function parseSeed(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text) && seed < 2 ** 32) return seed;
  throw usage("--seed a whole number below 2^32", `"${text}"`);
}

/** Parses an integer of at least 0. @throws RuntimeError */
export function parseCount(option: string, text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw usage(`${option} a whole number such as 100`, `"${text}"`);
}

function parseRate(option: string, text: string): number {
  return parsePositive(option, "a rate above 0 such as 2000", text, "rate", true);
}

function parsePositive(
  option: string,
  allowed: string,
  text: string,
  dimension: "time" | "rate" | "none",
  bare: boolean,
): number {
  const reading = readQuantity(text, dimension, bare);
  if (reading.ok && reading.value > 0) return reading.value;
  throw usage(`${option} ${allowed}`, `"${text}"`);
}

function usage(expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `expected ${expected}, got ${found}`);
}
