/** What is said of an ONNX file that does not load, or does not run its first batches. */
import { createRequire } from "node:module";
import { whatIsMissing } from "../../devices/whats-missing.ts";
import type { VariantModel } from "../models/executor.ts";
import { oneLine } from "../models/loaded-model.ts";
import { deviceText } from "../models/worker-device.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";

/** Names variant, file and device, and where it is known what the device lacks. */
export async function loadError(
  { name }: VariantModel,
  path: string,
  { on }: Pick<WorkerSetup, "on">,
  error: unknown,
): Promise<Error> {
  const reason = oneLine(error);
  const told = (await whatIsMissing(on, reason, enginePath)) ?? reason;
  return new Error(`${name} (${path}) on ${deviceText(on)}: ${told}`);
}

/** Of the package, whose libraries lie beside it. */
function enginePath(): string {
  return createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
}
