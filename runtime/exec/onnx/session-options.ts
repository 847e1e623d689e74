/** Converts a worker's setup to the session options of onnxruntime. */

import type { WorkerDevice } from "../models/worker-device.ts";
import type { InferenceSession } from "../tensors/onnxruntime.ts";
import { checkProviderOptions } from "./provider-options.ts";
import { webgpuLayout } from "./webgpu-layout.ts";

type Providers = NonNullable<InferenceSession.SessionOptions["executionProviders"]>;

/** The part of a worker's setup that session options depend on. */
interface SessionSetup {
  /** Its id is in the environment of this process already, set by `deviceEnvironment`. */
  readonly on: Pick<WorkerDevice, "provider" | "id" | "options">;
  /** Whether the device may be absent; the error then says so. */
  readonly trying?: boolean;
}

/** Severity levels of onnxruntime's log. */
export const LOG_LEVELS = { error: 3, fatal: 4 } as const;

/**
 * @param cores threads of the session. @param model bytes of its file. @param more entries of the
 * session's configuration.
 * @throws Error if its provider lacks an option, or cannot select a device by number.
 */
export function sessionOptions(
  { on, trying = false }: SessionSetup,
  cores: number,
  model: Uint8Array,
  more: Readonly<Record<string, string>> = {},
): InferenceSession.SessionOptions {
  const mistake = checkProviderOptions(on.provider, on.options);
  if (mistake !== null) throw new Error(mistake);
  return {
    executionProviders: providersOf(on, model),
    intraOpNumThreads: cores,
    interOpNumThreads: 1,
    // Warnings tell users nothing they can change: one model prints 245 of them. The list of nodes
    // that fall back says more.
    logSeverityLevel: trying ? LOG_LEVELS.fatal : LOG_LEVELS.error,
    // Threads that spin while they wait take the core from other workers: 1.8 times slower on a
    // shared core.
    extra: { session: { intra_op: { allow_spinning: "0" }, ...more } },
  };
}

function providersOf({ provider, id, options }: SessionSetup["on"], model: Uint8Array): Providers {
  // The process sees one accelerator, as number 0, whatever its number on the machine.
  const deviceId = 0;
  if (provider === "cuda") return [{ name: "cuda", deviceId }];
  // Operators that TensorRT does not take run on the same accelerator, not on the CPU.
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
