/** Draws the classes of the queries of a simulation, or of a load. */
import type { RamsisBundle, Slo } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";

/**
 * Next to the streams of `simulate`, so that one seed gives a simulation and a load the same
 * classes.
 */
export const CLASS_STREAM = 3;

/** Class of each query, drawn by share, and its SLO; one class if all queries have the same SLO. */
export class QueryClasses {
  /** One empty name for a bundle without classes. */
  readonly names: readonly string[];
  readonly #latencyMs: Float64Array;
  /** Cumulative shares; the last one is above any draw. */
  readonly #upTo: Float64Array;
  readonly #rng: Rng;

  /** @param rng used only if there are classes. */
  constructor(slo: Pick<Slo, "latencyMs" | "classes">, rng: Rng) {
    const classes = slo.classes ?? [{ name: "", latencyMs: slo.latencyMs, share: 1 }];
    this.names = classes.map(({ name }) => name);
    this.#latencyMs = Float64Array.from(classes, ({ latencyMs }) => latencyMs);
    this.#rng = rng;
    let sum = 0;
    this.#upTo = Float64Array.from(classes, ({ share }) => {
      sum += share;
      return sum;
    });
    this.#upTo[classes.length - 1] = 1;
  }

  /** Whether there is only one class. */
  get isOne(): boolean {
    return this.names.length === 1;
  }

  /** Returns the buckets of a bundle with several buckets as classes, all with the same SLO. */
  static ofBundle({ slo, buckets }: Pick<RamsisBundle, "slo" | "buckets">, rng: Rng): QueryClasses {
    const { latencyMs } = slo;
    const classes = buckets?.map(({ name, share }) => ({ name, latencyMs, share }));
    return new QueryClasses(classes === undefined ? slo : { latencyMs, classes }, rng);
  }

  /** Index of the class of the next query. */
  next(): number {
    if (this.isOne) return 0;
    const drawn = this.#rng.nextFloat();
    return this.#upTo.findIndex((upTo) => drawn < upTo);
  }

  sloMs(sloClass: number): number {
    return this.#latencyMs[sloClass] ?? Number.NaN;
  }
}
