/** An executor as it ships, of one worker, on the device that a test names. */
import type { Provider } from "../../runtime/bundle/schema.ts";
import type { VariantModel } from "../../runtime/exec/models/executor.ts";
import { devicesOn } from "../../runtime/exec/models/worker-device.ts";
import { type StartedExecutor, startedExecutor } from "../runtime/exec/built-executor.ts";

export async function executorOn(
  provider: Provider,
  variants: readonly VariantModel[],
): Promise<StartedExecutor> {
  const executor = await startedExecutor({
    devices: devicesOn(provider, 1),
    variants,
    workerCount: 1,
  });
  await executor.nextEvent();
  return executor;
}
