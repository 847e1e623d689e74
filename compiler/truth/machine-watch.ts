/** Samples the use of the processors and of a process periodically. */
import { readFileSync } from "node:fs";
import {
  processorsOf,
  type Throttling,
  throttledShare,
  throttlingOf,
} from "stratagem-runtime/internal/base/control-groups";
import { type ProcessorTicks, readProcessorTicks, sharesBetween } from "../load/processor-time.ts";
import { familyOf, processesMs } from "../profile/serving/machine-time.ts";
import type { MachineSample } from "./timeline.ts";

/** Interval of samples. */
const LOOK_MS = 250;
/** Clock ticks per second on Linux: USER_HZ. */
const TICKS_PER_SECOND = 100;

/** Processors of this process, which do not change while it runs. */
const PROCESSORS = processorsOf();

interface Look {
  readonly epochMs: number;
  readonly ticks: ProcessorTicks | null;
  /** Total of the process; null if the system does not report it. */
  readonly processTicks: number | null;
  /** Totals of the processes of the run by process id; empty if unknown. */
  readonly runMs: ReadonlyMap<number, number>;
  /** Null without a quota. */
  readonly throttling: Throttling | null;
}

export interface MachineWatch {
  /**
   * Summarizes the samples between two times in ms since 1970.
   * @returns times since the first of them.
   */
  between(fromEpochMs: number, untilEpochMs: number): MachineSeen;
  end(): void;
}

export interface MachineSeen {
  readonly samples: readonly MachineSample[];
  readonly stealShare: number | null;
  readonly busyShare: number | null;
  /** Share of one processor. */
  readonly serverShare: number | null;
  /** Share of the processors used by processes outside the run. */
  readonly neighbourShare: number | null;
  /** Share of the periods of a quota in which the control group was stopped; null without one. */
  readonly throttledShare: number | null;
}

/**
 * @param pid of the server. @param others other processes of the run: workers and this one.
 * @param every calls back periodically until the returned function is called.
 */
export function watchMachine(
  pid: number,
  others: readonly number[],
  epochMs: () => number,
  every: (intervalMs: number, callback: () => void) => () => void,
): MachineWatch {
  const looks: Look[] = [];
  const look = (): void => {
    const processTicks = readProcessTicks(pid);
    const runMs = processesMs([...familyOf(pid), process.pid, ...others]);
    const [ticks, throttling] = [readProcessorTicks(), throttlingOf()];
    looks.push({ epochMs: epochMs(), ticks, processTicks, runMs, throttling });
  };
  look();
  const end = every(LOOK_MS, look);
  return { between: (from, until) => seenBetween(looks, from, until), end };
}

/** Summarizes samples whose middle lies in the interval. */
export function seenBetween(looks: readonly Look[], from: number, until: number): MachineSeen {
  const own = looks.filter(({ epochMs }) => {
    return epochMs >= from - LOOK_MS / 2 && epochMs <= until + LOOK_MS / 2;
  });
  const [first, last] = [own[0], own.at(-1)];
  const whole = sharesBetween(first?.ticks ?? null, last?.ticks ?? null);
  return {
    samples: own.slice(1).flatMap((look, index) => {
      const before = own[index];
      return before === undefined ? [] : [sampleOf(before, look, from)];
    }),
    stealShare: whole?.stealShare ?? null,
    busyShare: whole?.busyShare ?? null,
    serverShare: processShare(first, last),
    neighbourShare: neighbourShare(first, last, whole?.busyShare ?? null),
    throttledShare: throttledShare(first?.throttling ?? null, last?.throttling ?? null),
  };
}

/**
 * The last use of processes that ended in between counts as the neighbours'. Under a quota they
 * disturb by what they take of it: the other processors would stay unused.
 */
function neighbourShare(
  before: Look | undefined,
  after: Look | undefined,
  busyShare: number | null,
): number | null {
  if (before === undefined || after === undefined || busyShare === null) return null;
  const { count, quota } = PROCESSORS;
  const passedMs = after.epochMs - before.epochMs;
  const allMs = passedMs * count;
  if (allMs <= 0 || after.runMs.size === 0) return null;
  let usedMs = 0;
  for (const [pid, ms] of after.runMs) usedMs += ms - (before.runMs.get(pid) ?? 0);
  const spareMs = passedMs * Math.max(0, count - quota);
  return Math.max(0, busyShare * allMs - usedMs - spareMs) / (allMs - spareMs);
}

function sampleOf(before: Look, after: Look, startMs: number): MachineSample {
  return {
    fromMs: before.epochMs - startMs,
    untilMs: after.epochMs - startMs,
    stealShare: sharesBetween(before.ticks, after.ticks)?.stealShare ?? null,
    serverShare: processShare(before, after),
  };
}

function processShare(before: Look | undefined, after: Look | undefined): number | null {
  if (before === undefined || after === undefined) return null;
  if (before.processTicks === null || after.processTicks === null) return null;
  const seconds = (after.epochMs - before.epochMs) / 1000;
  if (seconds <= 0) return null;
  return (after.processTicks - before.processTicks) / TICKS_PER_SECOND / seconds;
}

function readProcessTicks(pid: number): number | null {
  try {
    return parseProcessTicks(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/**
 * Sums user and system time, fields 14 and 15. The process name before them is in parentheses and
 * may hold any characters. Source: proc_pid_stat(5).
 */
export function parseProcessTicks(text: string): number | null {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return Number.isFinite(user) && Number.isFinite(system) ? user + system : null;
}
