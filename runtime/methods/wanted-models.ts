/** What a bundle wants of model files: which there are, and what workers make ready of them. */
import type { ModelFile } from "../bundle/schema.ts";

export interface WantedModel {
  /** As messages name it. */
  readonly name: string;
  /** Null where the bundle was compiled without. */
  readonly model: ModelFile | null;
  /** Batch sizes that some level asks for, ascending; one row if only a client may ask for it. */
  readonly warmBatches: readonly number[];
  /**
   * The largest batch that the dispatcher may start, where it may start any size up to it; left out
   * where it starts no others than those.
   */
  readonly largestBatch?: number | undefined;
  /** Whether it may refuse zeros; left out where it does not. */
  readonly mayRefuseZeros?: boolean | undefined;
  /** Pools that some plan has it in, ascending, by index; left out where it may be in any. */
  readonly pools?: readonly number[] | undefined;
  /** Core counts that its instances have, ascending, where the bundle says them. */
  readonly warmCores?: readonly number[] | undefined;
  /** Whether every output has a row for each row of the input. */
  readonly outputsAreRows: boolean;
}

interface ModelTask {
  readonly name: string;
  readonly variants: readonly Pick<WantedModel, "name" | "model">[];
}

/**
 * Variants of the tasks of a pipeline, by the names of both. What comes out of a row may be
 * several,
 * which the server counts. @param warm of each variant of all tasks.
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

/** Batches up to the largest of those, of any size. */
export function upTo(
  warmBatches: readonly number[],
): Pick<WantedModel, "warmBatches" | "largestBatch"> {
  return { warmBatches, largestBatch: Math.max(0, ...warmBatches) };
}
