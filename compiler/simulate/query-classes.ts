/** Which class the queries of a simulation, or of a load, are of. */
import type { RamsisBundle, Slo } from "stratagem-runtime/internal/bundle/schema";
import type { Rng } from "stratagem-runtime/internal/core/rng";

/**
 * Beside the streams of `simulate`, so that one seed gives a simulation and a load the same
 * classes.
 */
export const CLASS_STREAM = 3;

/**
 * Which class each query is of, drawn by their shares, and the time it has; one class where all
 * queries have the same SLO.
 */
export class QueryClasses {
  /** Of a bundle without classes, of one that has no name. */
  readonly names: readonly string[];
  readonly #latencyMs: Float64Array;
  /** Shares of a class and all before it; the last one is above whatever is drawn. */
  readonly #upTo: Float64Array;
  readonly #rng: Rng;

  /** @param rng drawn from only where there are classes. */
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

  /** Whether all queries have the same SLO. */
  get isOne(): boolean {
    return this.names.length === 1;
  }

  /** Of a bundle whose queries are of several buckets these, all with the same SLO. */
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
