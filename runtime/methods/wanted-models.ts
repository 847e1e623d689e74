/** Models that a bundle needs, and how workers prepare them. */
import type { ModelFile } from "../bundle/schema.ts";

export interface WantedModel {
  /** Name for messages. */
  readonly name: string;
  /** Null if the bundle was compiled without models. */
  readonly model: ModelFile | null;
  /** Batch sizes that some level uses, ascending; one row if only clients can request the model. */
  readonly warmBatches: readonly number[];
  /**
   * Largest batch, if the dispatcher may start any size up to it; left out if it starts only those
   * sizes.
   */
  readonly largestBatch?: number | undefined;
  /** Whether the model may refuse zeros; default false. */
  readonly mayRefuseZeros?: boolean | undefined;
  /** Indices of the pools that plans place it in, ascending; left out for any pool. */
  readonly pools?: readonly number[] | undefined;
  /** Core counts of its instances, ascending, if the bundle states them. */
  readonly warmCores?: readonly number[] | undefined;
  /** Whether every output has a row for each row of the input. */
  readonly outputsAreRows: boolean;
}

interface ModelTask {
  readonly name: string;
  readonly variants: readonly Pick<WantedModel, "name" | "model">[];
}

/**
 * Returns the variants of the tasks of a pipeline, under the names of both. A row may produce
 * several rows, which the server counts. @param warm sizes for each variant of all tasks.
 */
export function taskModels(
  tasks: readonly ModelTask[],
  warm: readonly Pick<WantedModel, "warmBatches" | "largestBatch" | "warmCores" | "pools">[],
): WantedModel[] {
  const variants = tasks.flatMap((task) =>
    task.variants.map(({ name, model }) => ({ name: `${task.name}/${name}`, model })),
  );
  return variants.map((variant, index) => ({
    ...variant,
    warmBatches: [],
    ...warm[index],
    outputsAreRows: false,
  }));
}

export function ascending(batches: readonly ReadonlySet<number>[]): number[][] {
  return batches.map((sizes) => [...sizes].sort((a, b) => a - b));
}

/** Returns batches of any size up to the largest of these. */
export function upTo(
  warmBatches: readonly number[],
): Pick<WantedModel, "warmBatches" | "largestBatch"> {
  return { warmBatches, largestBatch: Math.max(0, ...warmBatches) };
}
