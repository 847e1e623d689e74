/** Memory and descriptors of a process and of those it started, as Linux tells them. */
import { readdirSync, readFileSync } from "node:fs";
import { type Fit, lineFit } from "./line-fit.ts";

export interface ProcessSample {
  readonly atMs: number;
  /** Resident memory of the process itself, and of its children together. */
  readonly ownMb: number;
  readonly childrenMb: number;
  /** How many children there are. */
  readonly children: number;
  /** Open descriptors of the process itself. */
  readonly descriptors: number;
}

export class ProcessWatch {
  readonly samples: ProcessSample[] = [];
  readonly #pid: number;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(pid: number, everyMs: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#look();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Of a figure over time, per minute, within two times of `performance.now()`. */
  fit(figure: (sample: ProcessSample) => number, fromMs: number, toMs: number): Fit {
    const late = this.samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    return lineFit(late.map((sample) => [sample.atMs / 60_000, figure(sample)] as const));
  }

  #look(): void {
    const pid = this.#pid;
    try {
      const descriptors = readdirSync(`/proc/${pid}/fd`).length;
      let childrenMb = 0;
      const children = childrenOf(pid);
      for (const child of children) childrenMb += residentMb(child);
      this.samples.push({
        atMs: performance.now(),
        ownMb: residentMb(pid),
        childrenMb,
        children: children.length,
        descriptors,
      });
    } catch {
      // It has ended, or this is no Linux.
    }
  }
}

/** Processes that a process has started and that are still there. */
export function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const texts = tasks.map((task) => textOf(`/proc/${pid}/task/${task}/children`));
  return texts.join(" ").split(" ").filter(Boolean).map(Number);
}

/** Its worker processes, standbys among them, oldest first. */
export function workersOf(pid: number): number[] {
  const isWorker = (child: number) =>
    /\/process\/worker\.js/.test(textOf(`/proc/${child}/cmdline`));
  return childrenOf(pid)
    .filter(isWorker)
    .sort((one, other) => one - other);
}

function residentMb(pid: number): number {
  return Number(/(?<=VmRSS:\s*)\d+/.exec(textOf(`/proc/${pid}/status`))?.[0] ?? 0) / 1024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
