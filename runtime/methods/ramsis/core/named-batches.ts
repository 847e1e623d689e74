/**
 * Batch sizes of queries that ask for one variant by name, which the decision tables do not cover.
 */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { decisionSloMs } from "../../../core/decision-slo.ts";

/** Sizes batches by the service times that the decisions of a bundle rest on. */
export class NamedBatches {
  readonly #serviceMs: ArrayLike<number>;
  readonly #maxBatch: number;
  /** The largest batch that the policy may form, by variant; at least one query. */
  readonly #largest: Uint32Array;
  readonly #sloMs: number;

  constructor({ tasks, slo, cluster, decisionSpace }: RamsisBundle) {
    const { decisionMs } = tasks[0]!.serviceTimes;
    this.#serviceMs = decisionMs.data;
    this.#maxBatch = decisionMs.shape[1]!;
    this.#largest = new Uint32Array(decisionMs.shape[0]!).fill(1);
    const actions = decisionSpace.actions.data;
    for (let action = 0; action < actions.length; action += 2) {
      const variant = actions[action]!;
      this.#largest[variant] = Math.max(this.#largest[variant]!, actions[action + 1]!);
    }
    this.#sloMs = decisionSloMs(cluster, slo.latencyMs);
  }

  serviceMs(variant: number, batch: number): number {
    return this.#serviceMs[variant * this.#maxBatch + batch - 1]!;
  }

  /** Time that a variant takes for one query. */
  leastMs(variant: number): number {
    return this.#serviceMs[variant * this.#maxBatch]!;
  }

  /**
   * Returns the largest batch that ends within the slack; 0 if none does. @param queued at least
   * one.
   */
  inTime(variant: number, queued: number, slackMs: number): number {
    let batch = Math.min(queued, this.#largest[variant]!);
    while (batch > 0 && this.#serviceMs[variant * this.#maxBatch + batch - 1]! > slackMs) batch--;
    return batch;
  }

  /**
   * Returns the batch for queries that are late already: the largest that is not late by itself, at
   * least one; 0 if no batch ends within the time left.
   */
  late(variant: number, queued: number, leftMs = Number.POSITIVE_INFINITY): number {
    if (this.leastMs(variant) > leftMs) return 0;
    return Math.max(1, this.inTime(variant, queued, Math.min(this.#sloMs, leftMs)));
  }
}
