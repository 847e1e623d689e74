/** An executor as it ships, of one worker, on the device that a test names. */
import type { Device, VariantModel } from "../../runtime/exec/executor.ts";
import { type StartedExecutor, startedExecutor } from "../runtime/exec/built-executor.ts";

export async function executorOn(
  device: Device,
  variants: readonly VariantModel[],
): Promise<StartedExecutor> {
  const executor = await startedExecutor({ device, deviceIds: [], variants, workerCount: 1 });
  await executor.nextEvent();
  return executor;
}
