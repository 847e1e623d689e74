/** Cost of the plans over a day of changing load, and not only at one load. */
import type { InferlineBundle, InferlineLevel } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import type { Trace } from "../../../spec/trace.ts";
import { type InferlineMinute, minutesOf, worstMinute } from "./minutes.ts";
import { simulateInferline } from "./simulate.ts";

/** Differs from the seeds of a level's simulation and of samples. */
const SEED = 3_000;
/** Requests of a synthetic day: enough for its cost, and fast to simulate. */
const DRAWN_REQUESTS = 100_000;
/** Seconds that stand for an hour of it. */
const MOST_HOUR_S = 60;
const LEAST_HOUR_S = 5;
const HOURS = 24;

/** Outcome of one way to follow a day. */
export interface DayRun {
  readonly costPerHour: number;
  readonly violationRate: number;
  readonly worstMinuteViolationRate: number;
  readonly minutes: readonly InferlineMinute[];
}

export interface DayOutcome {
  /** Description of the day. */
  readonly of: string;
  readonly durationMs: number;
  /** The bundle's own way, and the plan of the highest load at any load. */
  readonly followed: DayRun;
  readonly peak: DayRun;
  /**
   * Mean cost of the plan for each minute's requests, if they were known in advance and it took
   * effect at once.
   */
  readonly plannedCostPerHour: number;
  /** Indexed by minute. */
  readonly planned: readonly number[];
}

/**
 * @param day null for a synthetic one: it goes from the lowest load up to the highest and back, an
 * hour in a minute or less.
 * @returns null for a single level without a day.
 */
export function inferlineOverDay(
  bundle: InferlineBundle,
  day: { readonly file: string; readonly trace: Trace } | null,
): DayOutcome | null {
  const trace = day?.trace ?? drawnDay(bundle);
  if (trace === null) return null;
  const durationMs = endOf(trace);
  const followed = runOf(bundle, trace, durationMs);
  const levels = bundle.levels.slice(-1);
  const fixed = { ...bundle, levels, policy: { ...bundle.policy, tuner: "none" } as const };
  const planned = followed.minutes.map(({ requests }, minute) => {
    const seconds = Math.min(60, durationMs / 1000 - 60 * minute);
    return planFor(bundle, requests / seconds).plan.costPerHour;
  });
  return {
    of: day === null ? drawnText(bundle, durationMs) : day.file.replace(/^.*[\\/]/, ""),
    durationMs,
    followed,
    peak: runOf(fixed, trace, durationMs),
    plannedCostPerHour: planned.reduce((sum, cost) => sum + cost, 0) / planned.length,
    planned,
  };
}

function runOf(bundle: InferlineBundle, trace: Trace, durationMs: number): DayRun {
  const { timeline, costPerHour, violationRate } = simulateInferline(bundle, {
    arrivals: { kind: "trace", trace },
    durationMs,
    seed: SEED,
    serviceTimes: "p95",
    timeline: true,
  });
  const minutes = minutesOf(timeline ?? []);
  const worstMinuteViolationRate = worstMinute(minutes);
  return { costPerHour, violationRate, worstMinuteViolationRate, minutes };
}

/** The lowest level whose load covers a minute's rate, allowing for randomness. */
function planFor({ levels }: InferlineBundle, qps: number): InferlineLevel {
  const sure = qps - 2 * Math.sqrt(qps / 60);
  const found = levels[levelForLoad(levels, sure)];
  if (found === undefined) throw new RangeError("bundle without levels");
  return found;
}

/** Linear rise from 0 to 12 o'clock and fall after it. */
function drawnDay({ levels }: InferlineBundle): Trace | null {
  const [from, to] = [levels[0]?.loadQps ?? 0, levels.at(-1)?.loadQps ?? 0];
  if (!(to > from)) return null;
  const hourS = hourOf(from, to);
  const seconds = HOURS * hourS;
  const startMs = Float64Array.from({ length: seconds }, (_, second) => 1000 * second);
  const qps = startMs.map((_, second) => {
    const part = Math.abs(1 - (2 * (second + 0.5)) / seconds);
    return to - part * (to - from);
  });
  return { kind: "rates", startMs, qps, endMs: 1000 * seconds };
}

function hourOf(from: number, to: number): number {
  const wanted = Math.floor(DRAWN_REQUESTS / (HOURS * ((from + to) / 2)));
  return Math.min(MOST_HOUR_S, Math.max(LEAST_HOUR_S, wanted));
}

function drawnText({ levels }: InferlineBundle, durationMs: number): string {
  const [from, to] = [levels[0]?.loadQps ?? 0, levels.at(-1)?.loadQps ?? 0];
  return (
    `from ${numberText(from)} to ${numberText(to)} requests/s and back, ` +
    `an hour in ${durationMs / 1000 / HOURS} s`
  );
}

function endOf(trace: Trace): number {
  if (trace.kind === "rates") return trace.endMs;
  return (trace.arrivalMs.at(-1) ?? 0) + 1;
}

/** At most two decimals. */
function numberText(value: number): string {
  return String(Number(value.toFixed(2)));
}
