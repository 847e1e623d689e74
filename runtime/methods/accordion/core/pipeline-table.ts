/** Flattens the table of models and shapes. */
import type { AccordionBundle, Slo } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";

/** Stands for "no shape" or "no query". */
export const NONE = -1;

/** Part of the SLO that times are rounded to. */
const TOLERANCE = 1e-8;

export function toleranceMsOf({ latencyMs }: Pick<Slo, "latencyMs">): number {
  return TOLERANCE * latencyMs;
}

/** The bundle's table of models and shapes in flat arrays, for lookups only. */
export class PipelineTable {
  readonly modelCount: number;
  readonly shapeCount: number;
  /** Pools, whose places are alike. */
  readonly classCount: number;
  readonly maxBatch: number;
  readonly maxDepth: number;
  /** A time that misses a limit by less keeps it: times are sums of measured ones. */
  readonly toleranceMs: number;
  /** [shapeCount, classCount] */
  readonly #counts: Uint16Array;
  readonly #sizes: Uint16Array;
  /** Number of shapes with so many places at most, [maxDepth + 1]. */
  readonly #shapesUpTo: Uint16Array;
  /**
   * Shape with one place of the class less, [shapeCount, classCount]; NONE without such a shape.
   */
  readonly #less: Int32Array;
  /**
   * Factor of predicted over measured times, since all places may run at once; 1 if the bundle was
   * planned without it.
   */
  readonly stretch: number;
  /** [modelCount, shapeCount, maxBatch] */
  readonly #latencyMs: Float64Array;
  /** [modelCount, shapeCount, maxDepth] */
  readonly #classOfStage: Uint8Array;

  constructor(bundle: Pick<AccordionBundle, "shapes" | "tasks" | "policy" | "cluster" | "slo">) {
    const { shapes, tasks, policy, cluster, slo } = bundle;
    const { stretch = 1 } = cluster.serving ?? {};
    this.stretch = stretch;
    const [shapeCount = 0, classCount = 0] = shapes.shape;
    const models = tasks.flatMap(({ variants }) => variants);
    this.modelCount = models.length;
    this.shapeCount = shapeCount;
    this.classCount = classCount;
    this.maxBatch = policy.maxBatch;
    this.maxDepth = policy.maxDepth;
    this.toleranceMs = toleranceMsOf(slo);
    this.#counts = Uint16Array.from(shapes.data);
    this.#sizes = new Uint16Array(shapeCount);
    for (let at = 0; at < this.#counts.length; at++) {
      this.#sizes[Math.floor(at / classCount)]! += this.#counts[at]!;
    }
    this.#shapesUpTo = new Uint16Array(this.maxDepth + 1);
    for (const size of this.#sizes) {
      for (let most = size; most <= this.maxDepth; most++) this.#shapesUpTo[most]!++;
    }
    this.#less = lessOf(this.#counts, shapeCount, classCount);
    this.#latencyMs = new Float64Array(models.length * shapeCount * this.maxBatch);
    this.#classOfStage = new Uint8Array(models.length * shapeCount * this.maxDepth);
    for (const [model, { latencyMs, pipelines }] of models.entries()) {
      const foretoldMs = latencyMs.data.map((ms) => ms * stretch);
      this.#latencyMs.set(foretoldMs, model * shapeCount * this.maxBatch);
      for (const [shape, pipeline] of pipelines.entries()) {
        this.#classOfStage.set(pipeline?.pools ?? [], (model * shapeCount + shape) * this.maxDepth);
      }
    }
  }

  /** Places of a shape. */
  sizeOf(shape: number): number {
    return this.#sizes[shape]!;
  }

  /** Returns the number of shapes with so many places at most: they come first. */
  shapesUpTo(places: number): number {
    return this.#shapesUpTo[Math.min(places, this.maxDepth)]!;
  }

  countOf(shape: number, placeClass: number): number {
    return this.#counts[shape * this.classCount + placeClass]!;
  }

  /**
   * Returns the shape with one place of a class less; NONE if it has none of the class or no place
   * would be left.
   */
  less(shape: number, placeClass: number): number {
    return this.#less[shape * this.classCount + placeClass]!;
  }

  /**
   * Returns the predicted time of a query of 1 to `maxBatch` instances, ms; Infinity if the model
   * has no pipeline of the shape.
   */
  latencyMs(model: number, shape: number, batch: number): number {
    return this.#latencyMs[(model * this.shapeCount + shape) * this.maxBatch + batch - 1]!;
  }

  /** Class of the place of a stage. */
  classOfStage(model: number, shape: number, stage: number): number {
    return this.#classOfStage[(model * this.shapeCount + shape) * this.maxDepth + stage]!;
  }
}

/**
 * Class of every execution place: workers of the pools in their order, as many as the policy uses.
 */
export function classOfPlaces({
  cluster,
  policy,
}: Pick<AccordionBundle, "cluster" | "policy">): Uint8Array {
  const classes = new Uint8Array(policy.executionPlaces);
  let place = 0;
  for (const [pool, { workers }] of cluster.pools.entries()) {
    for (let worker = 0; worker < workers && place < classes.length; worker++) {
      classes[place++] = pool;
    }
  }
  return classes;
}

function lessOf(counts: Uint16Array, shapeCount: number, classCount: number): Int32Array {
  const shapeByKey = new Map<string, number>();
  const rowOf = (shape: number) => [
    ...counts.subarray(shape * classCount, (shape + 1) * classCount),
  ];
  for (let shape = 0; shape < shapeCount; shape++) shapeByKey.set(rowOf(shape).join(), shape);
  assert(shapeByKey.size === shapeCount, "every shape is there once");
  const less = new Int32Array(counts.length).fill(NONE);
  for (let shape = 0; shape < shapeCount; shape++) {
    for (let placeClass = 0; placeClass < classCount; placeClass++) {
      const row = rowOf(shape);
      row[placeClass]!--;
      less[shape * classCount + placeClass] = shapeByKey.get(row.join()) ?? NONE;
    }
  }
  return less;
}
