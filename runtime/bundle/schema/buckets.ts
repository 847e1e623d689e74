/** Buckets: the combinations of sizes that rows of a model with open axes come in. */
import type { BucketAxis, TensorInfo } from "./common.ts";

/** Returns the number of combinations of sizes; 1 if no axis has several. */
export function bucketCount(axes: readonly BucketAxis[] = []): number {
  return axes.reduce((product, { sizes }) => product * sizes.length, 1);
}

/**
 * Returns the size of each axis in a bucket; buckets are numbered with the first axis the slowest.
 */
export function bucketSizes(axes: readonly BucketAxis[], bucket: number): number[] {
  const sizes = new Array<number>(axes.length);
  let rest = bucket;
  for (let at = axes.length - 1; at >= 0; at--) {
    const own = axes[at]?.sizes ?? [];
    sizes[at] = own[rest % own.length] ?? 0;
    rest = Math.floor(rest / own.length);
  }
  return sizes;
}

/** Returns the names of the buckets in their order: the sizes of the axes joined by `x`. */
export function bucketNames(axes: readonly BucketAxis[] = []): string[] {
  if (axes.length === 0) return [];
  return Array.from({ length: bucketCount(axes) }, (_, bucket) =>
    bucketSizes(axes, bucket).join("x"),
  );
}

/** Returns the shape of one row of an input in a bucket; an axis without buckets stays −1. */
export function rowShapeIn(
  inputs: readonly TensorInfo[],
  input: number,
  axes: readonly BucketAxis[],
  sizes: readonly number[],
): number[] {
  const shape = [...(inputs[input]?.shape ?? [])];
  for (const [at, { inputs: places }] of axes.entries()) {
    for (const place of places) {
      if (place.input === input) shape[place.axis] = sizes[at] ?? -1;
    }
  }
  return shape.slice(1);
}
