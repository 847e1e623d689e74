/** Error message of an ONNX file that fails to load or to run its first batches. */
import { createRequire } from "node:module";
import { whatIsMissing } from "../../devices/whats-missing.ts";
import type { VariantModel } from "../models/executor.ts";
import { oneLine } from "../models/loaded-model.ts";
import { deviceText } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";

/** Names variant, file and device and, if known, what the device lacks. */
export async function loadError(
  { name }: VariantModel,
  path: string,
  { on }: Pick<WorkerSetup, "on">,
  error: unknown,
): Promise<Error> {
  const reason = oneLine(error);
  const message = (await whatIsMissing(on, reason, enginePath)) ?? reason;
  return new Error(`${name} (${path}) on ${deviceText(on)}: ${message}`);
}

/** Path of the package, whose libraries lie beside it. */
function enginePath(): string {
  return createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
}
