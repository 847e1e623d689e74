/** Makes of what a worker runs on the options that onnxruntime takes. */

import type { WorkerDevice } from "../models/worker-device.ts";
import type { InferenceSession } from "../tensors/onnxruntime.ts";
import { checkProviderOptions } from "./provider-options.ts";
import { webgpuLayout } from "./webgpu-layout.ts";

type Providers = NonNullable<InferenceSession.SessionOptions["executionProviders"]>;

/** As much of what a worker is told. */
interface SessionSetup {
  /** Its id is in the environment of this process already, by `deviceEnvironment`. */
  readonly on: Pick<WorkerDevice, "provider" | "id" | "options">;
  /** Whether the device may be absent, which the error says. */
  readonly trying?: boolean;
}

/** Of onnxruntime's log. */
export const LOG_LEVELS = { error: 3, fatal: 4 } as const;

/**
 * @param cores threads of the session. @param model its file. @param more entries of the session's
 * configuration.
 * @throws Error if its provider has no such option, or cannot be told which device.
 */
export function sessionOptions(
  { on, trying = false }: SessionSetup,
  cores: number,
  model: Uint8Array,
  more: Readonly<Record<string, string>> = {},
): InferenceSession.SessionOptions {
  const mistake = checkProviderOptions(on.provider, on.options);
  if (mistake !== null) throw new Error(mistake);
  const logSeverityLevel = trying ? LOG_LEVELS.fatal : LOG_LEVELS.error;
  return {
    executionProviders: providersOf(on, model),
    intraOpNumThreads: cores,
    interOpNumThreads: 1,
    // That nodes fall back is told better by their list.
    ...(on.provider === "cpu" ? {} : { logSeverityLevel }),
    // Threads that spin while they wait take the core from other workers: 1.8 times slower on a
    // shared one.
    extra: { session: { intra_op: { allow_spinning: "0" }, ...more } },
  };
}

function providersOf({ provider, id, options }: SessionSetup["on"], model: Uint8Array): Providers {
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
  const preferredLayout = provider === "webgpu" ? webgpuLayout(model) : null;
  return [{ name: provider, ...(preferredLayout && { preferredLayout }), ...options }];
}
