/** Keeps the replicas as planned. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { RecentRates } from "./recent-rates.ts";
import type { ReplicaTuner } from "./replica-tuner.ts";

/**
 * Replicas as planned, whatever comes; the rates are measured all the same, for the choice of the
 * level.
 */
export class FixedTuner implements ReplicaTuner {
  readonly targets: Uint32Array;
  readonly #rates: RecentRates;
  readonly #bundle: InferlineBundle;

  /** @param level index of the level that is followed first. */
  constructor(bundle: InferlineBundle, level: number) {
    this.#bundle = bundle;
    this.#rates = new RecentRates(beatMsOf(bundle.slo));
    this.targets = new Uint32Array(bundle.tasks.length);
    this.follow(level);
  }

  get recentMeanQps(): number {
    return this.#rates.recentMeanQps;
  }

  get wakeMs(): number {
    return this.#rates.windowEndMs;
  }

  onArrival(nowMs: number): boolean {
    this.#rates.recordRequest(nowMs);
    return false;
  }

  tick(nowMs: number): boolean {
    this.#rates.advance(nowMs);
    return false;
  }

  follow(level: number): void {
    const { stages } = this.#bundle.levels[level]!.plan;
    for (const [task, { replicas }] of stages.entries()) this.targets[task] = replicas;
  }
}
