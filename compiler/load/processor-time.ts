/** What the processors of this machine did, as Linux counts it, and what a process took of them. */
import { readFileSync } from "node:fs";

/** Times of all processors together since the machine started, in ticks. */
export interface ProcessorTicks {
  readonly total: number;
  /** Doing nothing, or waiting for a disk. */
  readonly idle: number;
  /** That the host gave to other guests while something here wanted to run. */
  readonly steal: number;
}

/** Of the time of all processors, 0..1. */
interface ProcessorShares {
  readonly stealShare: number;
  /** That anything here took. */
  readonly busyShare: number;
}

const STAT = "/proc/stat";

/** Null where the system does not tell. */
export function readProcessorTicks(): ProcessorTicks | null {
  try {
    return parseProcessorTicks(readFileSync(STAT, "utf8"));
  } catch {
    return null;
  }
}

/**
 * The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq and steal, with
 * guests inside user. Source: proc_stat(5).
 */
export function parseProcessorTicks(text: string): ProcessorTicks | null {
  const line = /^cpu +(.*)$/m.exec(text)?.[1];
  const ticks = line?.trim().split(/ +/).slice(0, 8).map(Number) ?? [];
  const [, , , idle = 0, iowait = 0, , , steal = 0] = ticks;
  if (ticks.length < 8 || !ticks.every(Number.isFinite)) return null;
  return { total: ticks.reduce((sum, one) => sum + one, 0), idle: idle + iowait, steal };
}

/** Null where one of them is not known, or no tick lies between. */
export function sharesBetween(
  from: ProcessorTicks | null,
  until: ProcessorTicks | null,
): ProcessorShares | null {
  if (from === null || until === null || until.total <= from.total) return null;
  const total = until.total - from.total;
  const stealShare = (until.steal - from.steal) / total;
  return { stealShare, busyShare: 1 - (until.idle - from.idle) / total - stealShare };
}
