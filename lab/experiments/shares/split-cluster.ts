/** Several front ends with a share of the workers each, as one dispatcher of the simulation. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { CommandBuffer, DROP } from "stratagem-runtime/internal/core/command-buffer";
import type { SeenLoad } from "stratagem-runtime/internal/core/load-share";
import type { Rng } from "stratagem-runtime/internal/core/rng";
import type { Dispatcher } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { present } from "../harness/numbers.ts";

/**
 * What front ends know: nothing of each other, with tables of their own; the load of all, with the
 * tables of the whole and queues as they are, or as long as before all workers; or of the load only
 * their own.
 */
export type Knowledge = "own tables" | "plain queues" | "all" | "own load";

export interface SplitOptions {
  /** Of each front end: what it follows, and how many workers it has. */
  readonly shares: readonly { readonly bundle: RamsisBundle; readonly workers: number }[];
  readonly knows: Knowledge;
  /** Of each front end, what part of the requests it gets. */
  readonly requestShares: readonly number[];
  readonly rng: Rng;
}

interface Part {
  readonly core: Dispatcher;
  readonly commands: CommandBuffer;
  readonly firstWorker: number;
  readonly workers: number;
  nextBeatMs: number;
  told: SeenLoad;
  level: number;
}

const BEAT_MS = 500;
const NOTHING: SeenLoad = { qps: 0, variance: 0 };

/** Every request goes to a front end by lot, as a balancer before them would send it. */
export class SplitCluster {
  readonly workerCount: number;
  readonly waitingCapacity: number;
  readonly commandCapacity: number;
  /** How often a front end followed another level than before. */
  levelChanges = 0;
  readonly #parts: readonly Part[];
  readonly #partByWorker: readonly Part[];
  readonly #options: SplitOptions;

  constructor(options: SplitOptions) {
    this.#options = options;
    const beatMs = BEAT_MS / options.shares.length;
    let firstWorker = 0;
    this.#parts = options.shares.map(({ bundle, workers }, index) => {
      const part = partOf(bundle, workers, firstWorker, beatMs * index);
      firstWorker += workers;
      return part;
    });
    this.workerCount = firstWorker;
    this.#partByWorker = this.#parts.flatMap((part) => Array<Part>(part.workers).fill(part));
    this.waitingCapacity = this.#parts.reduce((sum, { core }) => sum + core.waitingCapacity, 0);
    this.commandCapacity = Math.max(...this.#parts.map(({ core }) => core.commandCapacity));
  }

  get wakeMs(): number {
    return Math.min(...this.#parts.map(({ core }) => core.wakeMs));
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, out: CommandBuffer): void {
    const part = this.#drawn();
    this.#exchange(nowMs);
    part.core.onArrival(query, deadlineMs, nowMs, part.commands);
    this.#pass(part, out);
  }

  onBatchDone(worker: number, nowMs: number, out: CommandBuffer): void {
    const part = present(this.#partByWorker[worker], "a share of the worker");
    part.core.onBatchDone(worker - part.firstWorker, nowMs, part.commands);
    this.#pass(part, out);
  }

  onWake(nowMs: number, out: CommandBuffer): void {
    const part = this.#parts.find(({ core }) => core.wakeMs <= nowMs);
    if (part === undefined) return;
    part.core.onWake(nowMs, part.commands);
    this.#pass(part, out);
  }

  #drawn(): Part {
    let left = this.#options.rng.nextFloat();
    for (const [index, share] of this.#options.requestShares.entries()) {
      left -= share;
      if (left < 0) return present(this.#parts[index], "a front end");
    }
    return present(this.#parts.at(-1), "a front end");
  }

  /** Each tells of its load twice a second, one after the other, and hears what was told last. */
  #exchange(nowMs: number): void {
    const { knows } = this.#options;
    if (knows === "own tables") return;
    for (const part of this.#parts) {
      if (nowMs < part.nextBeatMs) continue;
      part.nextBeatMs += BEAT_MS;
      part.told = part.core.seenLoad(nowMs);
      const others = this.#parts.filter((other) => other !== part);
      const sum = (of: (load: SeenLoad) => number) =>
        others.reduce((total, { told }) => total + of(told), 0);
      part.core.onShare({
        othersQps: knows === "own load" ? null : sum(({ qps }) => qps),
        othersVariance: sum(({ variance }) => variance),
        workers: knows === "plain queues" ? this.workerCount : part.workers,
        allWorkers: this.workerCount,
      });
    }
  }

  #pass(part: Part, out: CommandBuffer): void {
    const { commands, firstWorker } = part;
    for (let command = 0; command < commands.count; command++) {
      const worker = commands.worker(command) + firstWorker;
      if (commands.kind(command) === DROP) {
        out.drop(worker, commands.query(command, 0), commands.reason(command));
        continue;
      }
      const level = commands.level(command);
      if (level !== part.level && part.level >= 0) this.levelChanges++;
      part.level = level;
      out.startBatch(worker, commands.variant(command), level, commands.queued(command));
      for (let place = 0; place < commands.queryCount(command); place++) {
        out.appendQuery(commands.query(command, place));
      }
    }
    commands.clear();
  }
}

function partOf(
  bundle: RamsisBundle,
  workers: number,
  firstWorker: number,
  nextBeatMs: number,
): Part {
  const core = dispatcherOf(bundle, { ready: false });
  const commands = new CommandBuffer(core.commandCapacity, core.waitingCapacity);
  for (let worker = 0; worker < workers; worker++) core.onWorkerReady(worker, 0, commands);
  return { core, commands, firstWorker, workers, nextBeatMs, told: NOTHING, level: -1 };
}

/** As even as can be, the larger ones first. */
export function evenShares(workers: number, count: number): number[] {
  const each = Math.floor(workers / count);
  return Array.from({ length: count }, (_, index) => each + (index < workers % count ? 1 : 0));
}
