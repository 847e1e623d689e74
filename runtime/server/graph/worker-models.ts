/** Keeps which workers are up and which models they are to hold. */
import { at, type PipelineServedVariant } from "./signature/pipeline-signature.ts";

/** Which workers are up, what they are to hold, and whether that is enough to serve. */
export class WorkerModels {
  readonly #variants: readonly PipelineServedVariant[];
  readonly #taskCount: number;
  readonly #isUp: boolean[];
  /** Variant that each worker is assigned; null without one. */
  readonly #assigned: (number | null)[];
  readonly #isHeld: boolean[];
  /** The fewest that the next batch may have. */
  readonly #leastCores: number[];
  /** Cores requested last per worker. */
  readonly #wantedCores: number[];
  #hasStarted = false;

  constructor(workerCount: number, taskCount: number, variants: readonly PipelineServedVariant[]) {
    this.#variants = variants;
    this.#taskCount = taskCount;
    this.#isUp = new Array<boolean>(workerCount).fill(false);
    this.#assigned = new Array<number | null>(workerCount).fill(null);
    this.#isHeld = new Array<boolean>(workerCount).fill(false);
    this.#leastCores = new Array<number>(workerCount).fill(1);
    this.#wantedCores = new Array<number>(workerCount).fill(1);
  }

  get workerCount(): number {
    return this.#isUp.length;
  }

  /** Workers that take batches. */
  get readyCount(): number {
    return this.#isHeld.filter((isHeld) => isHeld).length;
  }

  /** Workers that are to hold each variant, and those of them that do. */
  countsByVariant(): readonly { readonly assigned: number; readonly ready: number }[] {
    const counts = this.#variants.map(() => ({ assigned: 0, ready: 0 }));
    for (const [worker, variant] of this.#assigned.entries()) {
      const count = variant === null ? undefined : counts[variant];
      if (count === undefined) continue;
      count.assigned++;
      if (at(this.#isHeld, worker)) count.ready++;
    }
    return counts;
  }

  /** Whether all workers of the first plan were ready once and every task has a worker since. */
  get canServe(): boolean {
    return this.#hasStarted && this.#servesEveryTask();
  }

  isUp(worker: number): boolean {
    return at(this.#isUp, worker);
  }

  isAssigned(worker: number): boolean {
    return at(this.#assigned, worker) !== null;
  }

  up(worker: number): void {
    this.#isUp[worker] = true;
  }

  down(worker: number): void {
    this.#isUp[worker] = false;
    this.release(worker);
  }

  assign(worker: number, variant: number, cores = 1): void {
    this.#assigned[worker] = variant;
    this.#isHeld[worker] = false;
    this.#leastCores[worker] = cores;
    this.#wantedCores[worker] = cores;
  }

  /** The worker is to have other cores: a batch may run on these or on those. */
  resize(worker: number, cores: number): void {
    this.#wantedCores[worker] = cores;
    this.#leastCores[worker] = Math.min(this.leastCores(worker), cores);
  }

  /** Called when the requested cores are in force. */
  resized(worker: number): void {
    this.#leastCores[worker] = at(this.#wantedCores, worker);
  }

  /** Minimum number of cores for the worker's next batch; 1 by default. */
  leastCores(worker: number): number {
    return at(this.#leastCores, worker);
  }

  release(worker: number): void {
    this.#assigned[worker] = null;
    this.#isHeld[worker] = false;
  }

  /** The worker holds what it is assigned. @returns whether it is assigned anything. */
  hold(worker: number): boolean {
    if (this.#assigned[worker] === null) return false;
    this.#isHeld[worker] = true;
    const isComplete = this.#assigned.every(
      (variant, w) => variant === null || at(this.#isHeld, w),
    );
    this.#hasStarted ||= isComplete && this.#servesEveryTask();
    return true;
  }

  #servesEveryTask(): boolean {
    const tasks = new Set<number>();
    for (const [worker, variant] of this.#assigned.entries()) {
      if (variant !== null && at(this.#isHeld, worker)) tasks.add(at(this.#variants, variant).task);
    }
    return tasks.size === this.#taskCount;
  }
}
