/** Counts the changes of a tuner. */
import type { ReplicaTuner, StageState } from "../core/replica-tuner.ts";

/** A tuner whose changes are counted. */
export class WatchedTuner implements ReplicaTuner {
  readonly tuner: ReplicaTuner;
  /**
   * [taskCount], each: replicas by which the target of a task has risen, and fallen, all changes
   * together.
   */
  readonly ups: Uint32Array;
  readonly downs: Uint32Array;
  readonly #known: Uint32Array;

  constructor(tuner: ReplicaTuner) {
    this.tuner = tuner;
    this.#known = tuner.targets.slice();
    this.ups = new Uint32Array(this.#known.length);
    this.downs = new Uint32Array(this.#known.length);
  }

  get targets(): Uint32Array {
    return this.tuner.targets;
  }

  get level(): number | undefined {
    return this.tuner.level;
  }

  get isLateLast(): boolean | undefined {
    return this.tuner.isLateLast;
  }

  get recentMeanQps(): number {
    return this.tuner.recentMeanQps;
  }

  get wakeMs(): number {
    return this.tuner.wakeMs;
  }

  onArrival(nowMs: number): boolean {
    const isChanged = this.tuner.onArrival(nowMs);
    if (isChanged) this.#count();
    return isChanged;
  }

  onQuery(task: number): void {
    this.tuner.onQuery?.(task);
  }

  tick(nowMs: number, state: StageState): boolean {
    const isChanged = this.tuner.tick(nowMs, state);
    if (isChanged) this.#count();
    return isChanged;
  }

  follow(level: number, nowMs: number): void {
    this.tuner.follow(level, nowMs);
    this.#count();
  }

  #count(): void {
    for (const [task, target] of this.targets.entries()) {
      const rise = target - (this.#known[task] ?? 0);
      const changes = rise > 0 ? this.ups : this.downs;
      changes[task] = (changes[task] ?? 0) + Math.abs(rise);
      this.#known[task] = target;
    }
  }
}
