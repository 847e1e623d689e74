import type { AccordionBundle } from "../../runtime/bundle/schema.ts";

/** What a bundle says of places, shapes and times, looked up without the runtime's own table. */
export class AccordionTimes {
  readonly #bundle: AccordionBundle;
  readonly #poolOfPlace: readonly number[];
  /** [shapeCount][poolCount] */
  readonly #shapes: readonly (readonly number[])[];

  constructor(bundle: AccordionBundle) {
    this.#bundle = bundle;
    const { data, shape } = bundle.shapes;
    const [, poolCount = 1] = shape;
    this.#shapes = Array.from({ length: data.length / poolCount }, (_, row) => [
      ...data.slice(row * poolCount, (row + 1) * poolCount),
    ]);
    this.#poolOfPlace = bundle.cluster.pools
      .flatMap(({ workers }, pool) => new Array<number>(workers).fill(pool))
      .slice(0, bundle.policy.executionPlaces);
  }

  poolOf(place: number): number {
    return this.#poolOfPlace[place] ?? -1;
  }

  sizeOf(shape: number): number {
    return this.#shapes[shape]?.reduce((sum, count) => sum + count, 0) ?? 0;
  }

  /** Time of some instances, 0 of none. */
  latencyMs(model: number, shape: number, batch: number): number {
    if (batch === 0) return 0;
    const { maxBatch } = this.#bundle.policy;
    const latencyMs = this.#bundle.tasks[0]?.variants[model]?.latencyMs.data;
    return latencyMs?.[shape * maxBatch + batch - 1] ?? Number.NaN;
  }

  /**
   * The least time of some instances on shapes that some places allow; Infinity if they allow none.
   */
  fastestMs(model: number, batch: number, places: readonly number[]): number {
    const counts = this.#bundle.cluster.pools.map(
      (_, pool) => places.filter((place) => this.poolOf(place) === pool).length,
    );
    const times = this.#shapes.map((shape, index) =>
      shape.every((count, pool) => count <= (counts[pool] ?? 0))
        ? this.latencyMs(model, index, batch)
        : Number.POSITIVE_INFINITY,
    );
    return Math.min(...times);
  }
}
