/** What a server and the system say of its event loop and its memory. */
import { readFileSync } from "node:fs";

/** Delays of the event loop: how many in all, up to 50 ms, and the bucket of the longest. */
export interface LoopDelays {
  readonly count: number;
  readonly within50Ms: number;
  /** Upper bound of the longest, s; `+Inf` beyond the last bucket; "unknown" if it is not told. */
  readonly longest: string;
}

const BUCKET = /^stratagem_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm;

/** @param since counts from there on; left out, since the server started. */
export async function loopDelays(url: string, since?: Buckets): Promise<LoopDelays> {
  const buckets = await loopBuckets(url);
  const counts = buckets.map(([bound, count], index) => {
    return [bound, count - (since?.[index]?.[1] ?? 0)] as const;
  });
  const count = counts.at(-1)?.[1] ?? 0;
  const within = counts.find(([bound]) => bound === "0.05")?.[1] ?? 0;
  const longest = counts.find(([, cumulative]) => cumulative === count)?.[0] ?? "unknown";
  return { count, within50Ms: within, longest };
}

export type Buckets = readonly (readonly [bound: string, count: number])[];

export async function loopBuckets(url: string): Promise<Buckets> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(BUCKET)].map(([, bound = "", count]) => [bound, Number(count)] as const);
}

/** Resident memory of a process, MB: now, and at most so far. */
export function residentMb(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kb = (name: string) => Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1]);
  return { now: kb("VmRSS") / 1024, peak: kb("VmHWM") / 1024 };
}

/** How long the thread of the event loop was ready to run and had no core, s. */
export function waitedForCoreS(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(waitedNs) / 1e9;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
