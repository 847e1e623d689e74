/** Use of the processors that this process may use from Linux, and use by a process. */
import { readFileSync } from "node:fs";
import { ownStat } from "stratagem-runtime/internal/base/control-groups";

/** Totals of all processors since the machine started, in ticks. */
export interface ProcessorTicks {
  readonly total: number;
  /** Idle, or waiting for I/O. */
  readonly idle: number;
  /** Taken by the host for other guests while this one had work. */
  readonly steal: number;
}

/** Shares of the time of all processors, 0..1. */
interface ProcessorShares {
  readonly stealShare: number;
  /** Used by all processes. */
  readonly busyShare: number;
}

const STAT = "/proc/stat";

/** Returns null if the system does not report them. */
export function readProcessorTicks(): ProcessorTicks | null {
  try {
    return parseProcessorTicks(ownStat(readFileSync(STAT, "utf8")));
  } catch {
    return null;
  }
}

/**
 * Parses the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq and steal;
 * guests are included in user. Source: proc_stat(5).
 */
export function parseProcessorTicks(text: string): ProcessorTicks | null {
  const line = /^cpu +(.*)$/m.exec(text)?.[1];
  const ticks = line?.trim().split(/ +/).slice(0, 8).map(Number) ?? [];
  const [, , , idle = 0, iowait = 0, , , steal = 0] = ticks;
  if (ticks.length < 8 || !ticks.every(Number.isFinite)) return null;
  return { total: ticks.reduce((sum, one) => sum + one, 0), idle: idle + iowait, steal };
}

/** Returns null if one of them is unknown, or no tick lies between. */
export function sharesBetween(
  from: ProcessorTicks | null,
  until: ProcessorTicks | null,
): ProcessorShares | null {
  if (from === null || until === null || until.total <= from.total) return null;
  const total = until.total - from.total;
  const stealShare = (until.steal - from.steal) / total;
  return { stealShare, busyShare: 1 - (until.idle - from.idle) / total - stealShare };
}
