/** The batch sizes that a model runs before its worker counts as ready. */
import type { Provider } from "../../bundle/schema.ts";
import type { VariantModel } from "../models/executor.ts";

/** Of a model. */
interface WarmedBatches extends Pick<VariantModel, "warmBatches"> {
  readonly largestBatch?: number | undefined;
}

/**
 * Of a processor, the sizes that tables name: it compiles nothing, and the first run of another
 * size takes hardly longer than later ones. Of a GPU, whatever the dispatcher may start:
 *
 * - WebGPU compiles a program by ranks, by whether sizes divide by 4, and by tiles: of all models
 *   here batches of 1 and 2 compile all that those up to 32 run (SwiftShader, onnxruntime 1.30), so
 *   the powers of two below the largest stand for what lies between;
 * - CUDA searches an algorithm for each shape of a convolution, and TensorRT builds for shapes, so
 *   every size runs.
 * @returns ascending, each once.
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
