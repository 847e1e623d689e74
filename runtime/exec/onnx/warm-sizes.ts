/** Batch sizes that a model runs before its worker counts as ready. */
import type { Provider } from "../../bundle/schema.ts";
import type { VariantModel } from "../models/executor.ts";

interface WarmedBatches extends Pick<VariantModel, "warmBatches"> {
  readonly largestBatch?: number | undefined;
}

/**
 * Returns the sizes to warm up, ascending, each once. On a processor these are the sizes that
 * tables use: it compiles nothing, and the first run of another size takes hardly longer than later
 * ones. On a GPU they are all sizes that the dispatcher may start:
 *
 * - WebGPU compiles a program by ranks, by whether sizes divide by 4, and by tiles: for all models
 * here, batches of 1 and 2 compile everything that batches up to 32 run (SwiftShader, onnxruntime
 * 1.30), so the powers of two below the largest represent the sizes between;
 * - CUDA searches an algorithm for each shape of a convolution, and TensorRT builds for shapes, so
 * every size runs.
 */
export function warmSizes(
  { warmBatches, largestBatch = 0 }: WarmedBatches,
  provider: Provider,
): number[] {
  const sizes = new Set(warmBatches);
  if (provider !== "cpu" && largestBatch > 0) {
    const next = (size: number) => (provider === "webgpu" ? 2 * size : size + 1);
    for (let size = 1; size < largestBatch; size = next(size)) sizes.add(size);
    sizes.add(largestBatch);
  }
  return [...sizes].sort((a, b) => a - b);
}
