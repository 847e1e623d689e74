/** Looks every so often at what the processors and a process do. */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { type ProcessorTicks, readProcessorTicks, sharesBetween } from "../load/processor-time.ts";
import { familyOf, processesMs } from "../profile/serving/machine-time.ts";
import type { MachineSample } from "./timeline.ts";

/** Between two looks. */
const LOOK_MS = 250;
/** Of Linux, per second of one processor: USER_HZ. */
const TICKS_PER_SECOND = 100;

interface Look {
  readonly epochMs: number;
  readonly ticks: ProcessorTicks | null;
  /** That the process has used, null where the system does not tell. */
  readonly processTicks: number | null;
  /** That all that belongs to the run has used, by process; none where nothing tells. */
  readonly ownMs: ReadonlyMap<number, number>;
}

export interface MachineWatch {
  /**
   * What was seen between two moments, ms since 1970.
   * @returns times since the first of them.
   */
  between(fromEpochMs: number, untilEpochMs: number): MachineSeen;
  end(): void;
}

export interface MachineSeen {
  readonly samples: readonly MachineSample[];
  readonly stealShare: number | null;
  readonly busyShare: number | null;
  /** Of one processor. */
  readonly serverShare: number | null;
  /** What neither server, workers, load generator nor this process took of the processors. */
  readonly neighbourShare: number | null;
}

/**
 * @param pid of the server. @param others processes that belong to the run beside it, its workers
 * and this one. @param every calls back until what it gives is called.
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
    const ownMs = processesMs([...familyOf(pid), process.pid, ...others]);
    looks.push({ epochMs: epochMs(), ticks: readProcessorTicks(), processTicks, ownMs });
  };
  look();
  const end = every(LOOK_MS, look);
  return { between: (from, until) => seenBetween(looks, from, until), end };
}

/** Of looks whose middle lies in the time. */
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
  };
}

/** Of processes that ended meanwhile, what they took last counts as that of neighbours. */
function neighbourShare(
  before: Look | undefined,
  after: Look | undefined,
  busyShare: number | null,
): number | null {
  if (before === undefined || after === undefined || busyShare === null) return null;
  const allMs = (after.epochMs - before.epochMs) * cpus().length;
  if (allMs <= 0 || after.ownMs.size === 0) return null;
  let ownMs = 0;
  for (const [pid, ms] of after.ownMs) ownMs += ms - (before.ownMs.get(pid) ?? 0);
  return Math.max(0, busyShare - ownMs / allMs);
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
 * User and system time, the 14th and 15th field; the name before them is in brackets and may hold
 * anything. Source: proc_pid_stat(5).
 */
export function parseProcessTicks(text: string): number | null {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return Number.isFinite(user) && Number.isFinite(system) ? user + system : null;
}
