/** Makes of what a worker runs on the options that onnxruntime takes. */
import type { InferenceSession } from "./onnxruntime.ts";
import { checkProviderOptions } from "./provider-options.ts";
import type { WorkerDevice } from "./worker-device.ts";

type Providers = NonNullable<InferenceSession.SessionOptions["executionProviders"]>;

/**
 * @param on whose id is in the environment of this process already, by `deviceEnvironment`.
 * @param cores threads of the session.
 * @throws Error if its provider has no such option, or cannot be told which accelerator.
 */
export function sessionOptions(
  on: Pick<WorkerDevice, "provider" | "id" | "options">,
  cores: number,
): InferenceSession.SessionOptions {
  const mistake = checkProviderOptions(on.provider, on.options);
  if (mistake !== null) throw new Error(mistake);
  return {
    executionProviders: providersOf(on),
    intraOpNumThreads: cores,
    interOpNumThreads: 1,
    // Threads that spin while they wait take the core from other workers: 1.8 times slower on a
    // shared one.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  };
}

function providersOf({ provider, id, options }: Parameters<typeof sessionOptions>[0]): Providers {
  // The one accelerator that the process sees is its first, whatever number the machine gives it.
  const deviceId = 0;
  if (provider === "cuda") return [{ name: "cuda", deviceId }];
  // What TensorRT does not take runs on the same accelerator, not on the CPU.
  if (provider === "tensorrt")
    return [
      { name: "tensorrt", deviceId },
      { name: "cuda", deviceId },
    ];
  if (id !== null) {
    const ways = "choose by variables of the worker's environment, such as VK_DRIVER_FILES";
    throw new Error(`devices of ${provider} cannot be chosen by number; ${ways}`);
  }
  return [{ name: provider, ...options }];
}
