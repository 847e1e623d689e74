/** The batch sizes that a model runs before its worker counts as ready. */
import type { VariantModel } from "./executor.ts";

/** What kernels depend on under a provider. */
type Provider = "cpu" | "cuda" | "tensorrt" | "webgpu";

/**
 * Of a processor, the sizes that tables name: it compiles nothing, and other sizes take what they
 * always take. Of a GPU, whatever the dispatcher may start:
 *
 * - WebGPU compiles a program by ranks, by whether sizes divide by 4, and by tiles: of all models
 *   here batches of 1 and 2 compile all that those up to 32 run (SwiftShader, onnxruntime 1.30), so
 *   the powers of two below the largest stand for what lies between;
 * - CUDA searches an algorithm for each shape of a convolution, and TensorRT builds for shapes, so
 *   every size runs.
 * @returns ascending, each once.
 */
export function warmSizes(
  { warmBatches, runsSmaller = false }: Pick<VariantModel, "warmBatches" | "runsSmaller">,
  provider: Provider,
): number[] {
  const sizes = new Set(warmBatches);
  const largest = Math.max(0, ...warmBatches);
  if (provider !== "cpu" && runsSmaller) {
    for (let size = 1; size < largest; size = provider === "webgpu" ? 2 * size : size + 1) {
      sizes.add(size);
    }
  }
  return [...sizes].sort((a, b) => a - b);
}
