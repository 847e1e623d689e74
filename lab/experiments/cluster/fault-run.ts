/** One fault under load: what became of every request, and when a client saw nothing of it. */
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";
import { recordedRuns } from "./marked-rows.ts";
import { isGood, timeToNormalMs } from "./normality.ts";
import { type Fate, RetryingClient, type Template } from "./retrying-client.ts";
import type { System } from "./system.ts";
import { within } from "./within.ts";

/** All machines one by one are the longest of them. */
const LIMIT_MS = 300_000;

export interface FaultOutcome {
  readonly sent: number;
  readonly byFate: Readonly<Record<Fate, number>>;
  readonly late: number;
  /** Attempts beyond the first of each request. */
  readonly retries: number;
  /** Attempts whose row ended a run more than once. */
  readonly doubled: number;
  /** From the fault, and from its end; null where there was none in time. */
  readonly normalMs: number | null;
  readonly healedMs: number | null;
  /** From the fault to its end, in which it was undone too. */
  readonly lastedMs: number;
}

export interface FaultRunOptions {
  readonly template: Template;
  readonly sloMs: number;
  readonly qps: number;
  /** Before the fault, during it, and after it. */
  readonly calmMs: number;
  readonly faultMs: number;
  readonly afterMs: number;
  readonly seed: number;
  /** The numbers of attempts begin behind it. */
  readonly firstNumber: number;
}

/**
 * @returns what came of it, and the last number that an attempt had. @throws Error where more was
 * answered than any model has run.
 */
export async function runFault(
  system: System,
  fault: Fault,
  options: FaultRunOptions,
): Promise<{ readonly outcome: FaultOutcome; readonly lastNumber: number }> {
  const { template, sloMs, seed, firstNumber } = options;
  const client = new RetryingClient(template, system.urls, { seed, firstNumber });
  client.start(options.qps);
  const times = await playFault(system, fault, options).finally(() => client.end());
  const { beganMs, endedMs, healedMs, overMs } = times;
  const { asked } = client;
  const numbers = new Set(asked.flatMap(({ attempts }) => attempts));
  const { ended } = recordedRuns(system.runs);
  const own = [...ended].filter(([number]) => numbers.has(number));
  const answered = asked.filter(({ fate }) => fate === "answered").length;
  if (own.length < answered) throw new Error(`${answered} were answered and ${own.length} ran`);
  const outcome = {
    sent: asked.length,
    byFate: countFates(asked.map(({ fate }) => fate)),
    late: asked.filter((one) => one.fate === "answered" && !isGood(one, sloMs)).length,
    retries: numbers.size - asked.length,
    doubled: own.filter(([, count]) => count > 1).length,
    normalMs: timeToNormalMs(asked, beganMs, endedMs, sloMs),
    healedMs: timeToNormalMs(asked, endedMs, overMs, sloMs),
    lastedMs: healedMs - beganMs,
  };
  return { outcome, lastNumber: client.lastNumber };
}

/** When it began, when it began to end, when it was over, and when looking ended; ms. */
interface FaultTimes {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly healedMs: number;
  readonly overMs: number;
}

async function playFault(
  system: System,
  fault: Fault,
  { calmMs, faultMs, afterMs }: FaultRunOptions,
): Promise<FaultTimes> {
  await pause(calmMs);
  const beganMs = performance.now();
  await within(fault.begin(system), LIMIT_MS, `${fault.name}: its beginning`);
  await pause(Math.max(0, faultMs - (performance.now() - beganMs)));
  const endedMs = performance.now();
  const ending = fault.end?.(system) ?? Promise.resolve();
  await within(ending, LIMIT_MS, `${fault.name}: its end`);
  const healedMs = performance.now();
  await pause(afterMs);
  return { beganMs, endedMs, healedMs, overMs: performance.now() };
}

function countFates(fates: readonly Fate[]): Record<Fate, number> {
  const counts = { answered: 0, refused: 0, lost: 0 };
  for (const fate of fates) counts[fate]++;
  return counts;
}
