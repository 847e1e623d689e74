/** Tracks which task holds how many cores over time. */
import { MICROS, type Pool, priceMicros } from "stratagem-runtime/internal/bundle/schema";
import { type MeanAndMax, TimeWeighted } from "../../../simulate/graph/time-weighted.ts";

export interface CoreSummary {
  /**
   * Cores that instances hold, over the duration. From its start on, an instance holds the larger
   * of its current and its target cores.
   */
  readonly cores: MeanAndMax;
  readonly coreSeconds: number;
  /** Running and starting instances, over the duration. */
  readonly servers: MeanAndMax;
  /** Cost of the cores, mean over the duration; left out if a pool has no price. */
  readonly costPerHour?: number;
}

const NONE = -1;

/** Task and cores of each worker's instance, over time until the end of the duration. */
export class HeldCores {
  /** Instances that were started and stopped, and those that were resized while ready. */
  up = 0;
  down = 0;
  resizes = 0;
  readonly #durationMs: number;
  readonly #pools: readonly Pool[];
  readonly #poolByWorker: Uint32Array;
  /**
   * [workerCount], each: the task, NONE without; cores in force, 0 until the instance is ready;
   * target cores.
   */
  readonly #task: Int32Array;
  readonly #inForce: Uint16Array;
  readonly #wanted: Uint16Array;
  readonly #servers = new TimeWeighted();
  readonly #cores = new TimeWeighted();
  readonly #serversByTask: readonly TimeWeighted[];
  readonly #coresByTask: readonly TimeWeighted[];
  readonly #coresByPool: readonly TimeWeighted[];

  /** @param poolByWorker index of each worker's pool. */
  constructor(
    pools: readonly Pool[],
    taskCount: number,
    poolByWorker: Uint32Array,
    { durationMs }: { readonly durationMs: number },
  ) {
    const workerCount = poolByWorker.length;
    this.#durationMs = durationMs;
    this.#pools = pools;
    this.#poolByWorker = poolByWorker;
    this.#task = new Int32Array(workerCount).fill(NONE);
    this.#inForce = new Uint16Array(workerCount);
    this.#wanted = new Uint16Array(workerCount);
    this.#serversByTask = Array.from({ length: taskCount }, () => new TimeWeighted());
    this.#coresByTask = Array.from({ length: taskCount }, () => new TimeWeighted());
    this.#coresByPool = pools.map(() => new TimeWeighted());
  }

  get servers(): number {
    return this.#servers.value;
  }

  get cores(): number {
    return this.#cores.value;
  }

  coresOf(task: number): number {
    return this.#coresByTask[task]?.value ?? Number.NaN;
  }

  /** Cores of an instance that are in force, 0 until it is ready. */
  inForce(worker: number): number {
    return this.#inForce[worker] ?? 0;
  }

  /** The task that a worker is an instance of, −1 without. */
  taskOf(worker: number): number {
    return this.#task[worker] ?? NONE;
  }

  isInstance(worker: number): boolean {
    return this.#task[worker] !== NONE;
  }

  /** Starts an instance on a free worker. */
  start(worker: number, task: number, cores: number, nowMs: number): void {
    this.up++;
    this.#task[worker] = task;
    this.#add(worker, task, { servers: 1, cores: 0 }, nowMs);
    this.#change(worker, 0, cores, nowMs);
  }

  stop(worker: number, nowMs: number): void {
    this.down++;
    const task = this.#task[worker] ?? NONE;
    this.#change(worker, 0, 0, nowMs);
    this.#add(worker, task, { servers: -1, cores: 0 }, nowMs);
    this.#task[worker] = NONE;
  }

  want(worker: number, cores: number, nowMs: number): void {
    this.#change(worker, this.inForce(worker), cores, nowMs);
  }

  /** Puts the target cores in force: the instance is ready, or was resized. */
  takeForce(worker: number, nowMs: number): void {
    const before = this.inForce(worker);
    const wanted = this.#wanted[worker] ?? 0;
    if (before !== 0 && before !== wanted) this.resizes++;
    this.#change(worker, wanted, wanted, nowMs);
  }

  /** Excludes the initial instances from the count of changes. */
  startCounting(): void {
    this.up = 0;
    this.down = 0;
    this.resizes = 0;
  }

  summary(): CoreSummary {
    const cores = this.#cores.over(this.#durationMs);
    const costPerHour = this.#costPerHour();
    return {
      cores,
      coreSeconds: (cores.mean * this.#durationMs) / 1000,
      servers: this.#servers.over(this.#durationMs),
      ...(costPerHour === null ? {} : { costPerHour }),
    };
  }

  /** Null unless every pool has a price. */
  #costPerHour(): number | null {
    let micros = 0;
    for (const [index, { pricePerHour, cores: ofMachine }] of this.#pools.entries()) {
      if (pricePerHour === null) return null;
      const { mean = Number.NaN } = this.#coresByPool[index]?.over(this.#durationMs) ?? {};
      micros += (mean / (ofMachine ?? 1)) * priceMicros({ pricePerHour });
    }
    return Math.round(micros) / MICROS;
  }

  ofTask(task: number): { readonly instances: MeanAndMax; readonly cores: MeanAndMax } {
    const nothing = { mean: Number.NaN, max: Number.NaN };
    return {
      instances: this.#serversByTask[task]?.over(this.#durationMs) ?? nothing,
      cores: this.#coresByTask[task]?.over(this.#durationMs) ?? nothing,
    };
  }

  #change(worker: number, inForce: number, wanted: number, nowMs: number): void {
    const before = Math.max(this.inForce(worker), this.#wanted[worker] ?? 0);
    this.#inForce[worker] = inForce;
    this.#wanted[worker] = wanted;
    const cores = Math.max(inForce, wanted) - before;
    this.#add(worker, this.#task[worker] ?? NONE, { servers: 0, cores }, nowMs);
  }

  #add(
    worker: number,
    task: number,
    { servers, cores }: { readonly servers: number; readonly cores: number },
    nowMs: number,
  ): void {
    const untilMs = Math.min(nowMs, this.#durationMs);
    this.#servers.add(servers, untilMs);
    this.#serversByTask[task]?.add(servers, untilMs);
    this.#cores.add(cores, untilMs);
    this.#coresByTask[task]?.add(cores, untilMs);
    this.#coresByPool[this.#poolByWorker[worker] ?? 0]?.add(cores, untilMs);
  }
}
