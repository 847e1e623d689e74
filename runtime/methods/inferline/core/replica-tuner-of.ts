/** Makes the tuner that a bundle asks for. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { beatMsOf } from "../../../core/beat.ts";
import { EnvelopeTuner } from "./envelope-tuner.ts";
import { JointTuner } from "./joint-tuner.ts";
import { RecentRates } from "./recent-rates.ts";
import type { ReplicaTuner } from "./replica-tuner.ts";

/**
 * Returns the tuner of a bundle.
 * @param firstLevel index of the level that is followed first.
 * @param isFixed whether it is followed regardless of the traffic.
 */
export function replicaTunerOf(
  bundle: InferlineBundle,
  firstLevel: number,
  isFixed = false,
): ReplicaTuner {
  const { tuner } = bundle.policy;
  if (tuner === "none") return new FixedTuner(bundle, firstLevel);
  if (tuner === "joint") return new JointTuner(bundle, firstLevel, isFixed);
  return new EnvelopeTuner(bundle, tuner, firstLevel);
}

/** Keeps the planned replicas; the rates are still measured, for the choice of the level. */
class FixedTuner implements ReplicaTuner {
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
