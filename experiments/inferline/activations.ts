/**
 * How long replicas took from being assigned to holding their model, of a server that is recorded.
 */
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { present } from "../harness/numbers.ts";
import type { StageEntry } from "../harness/stage-entry.ts";

export class Activations {
  readonly lines: string[] = [];
  /** Variants are counted over all tasks, one after another. */
  readonly #taskByVariant: readonly string[];
  readonly #assigned = new Map<number, { task: string; sinceMs: number }>();
  #startMs = Number.NaN;

  constructor({ tasks }: InferlineBundle) {
    this.#taskByVariant = tasks.flatMap(({ name, variants }) => variants.map(() => name));
  }

  onEntry({ kind, nowMs, worker, variant = -1 }: StageEntry): void {
    if (Number.isNaN(this.#startMs)) this.#startMs = nowMs;
    if (kind === "assign") {
      const task = present(this.#taskByVariant[variant], "a variant");
      this.#assigned.set(worker, { task, sinceMs: nowMs });
    }
    const assigned = this.#assigned.get(worker);
    if (kind !== "model-ready" || assigned === undefined) return;
    this.#assigned.delete(worker);
    const { task, sinceMs } = assigned;
    const at = `${((sinceMs - this.#startMs) / 1000).toFixed(1)} s after the first`;
    const took = (nowMs - sinceMs).toFixed(1);
    this.lines.push(`activation: ${task} on worker ${worker}, assigned ${at}: ${took} ms`);
  }
}
