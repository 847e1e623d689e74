/** A pipeline served the whole way: HTTP, the decision core, worker processes and models. */
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import type { AssignedProcessExecutor } from "../../../../runtime/exec/pool/assigned-pool.ts";
import { servedModels } from "../../../../runtime/host/served-models.ts";
import type { HostOptions } from "../../../../runtime/methods/method.ts";
import { methodOf } from "../../../../runtime/methods/registry.ts";
import type { PipelineBundle } from "../../../../runtime/server/graph/signature/linked-tasks.ts";
import type { RunningServer } from "../../../../runtime/server/serve.ts";
import { serveOne } from "../../../support/serve-one.ts";

type PoolModule = typeof import("../../../../runtime/exec/pool/assigned-pool.ts");
// Workers are processes, which run compiled files only.
const { startAssignedExecutor }: PoolModule = await import(
  new URL("../../../../runtime/dist/exec/pool/assigned-pool.js", import.meta.url).href
);

export interface RealServer {
  readonly url: string;
  readonly server: RunningServer;
  readonly executor: AssignedProcessExecutor;
}

/**
 * A server whose first plan is ready, to be closed.
 * @param folder of its models.
 * @param nowMs real by default, so deadlines are far away.
 */
export async function realServer(
  bundle: PipelineBundle,
  folder: string,
  nowMs = () => performance.now(),
): Promise<RealServer> {
  const models = await servedModels(bundle, folder);
  const method = methodOf(bundle);
  const workerCount = method.workerCount(bundle);
  let executor: AssignedProcessExecutor | undefined;
  const server = await serveOne((options: HostOptions) => method.host(bundle, options), {
    bundleSha256: "ab".repeat(32),
    axisNames: models.map(({ axisNames }) => axisNames),
    host: "127.0.0.1",
    port: 0,
    nowMs,
    version: "0.0.0",
    workers: {
      start: () => Promise.reject(new Error("a pipeline assigns its workers")),
      startAssigned: async (handlers) => {
        const options = { variants: models, workerCount, threadsPerWorker: 1 };
        executor = await startAssignedExecutor(
          { ...options, devices: devicesOn("cpu", workerCount) },
          handlers,
        );
        return executor;
      },
    },
  });
  await server.started;
  if (executor === undefined) throw new Error("the server made no executor");
  return { url: server.url, server, executor };
}
