/**
 * Serves a bundle as `stratagem serve` does, and tells besides, as JSON lines, where it listens and
 * what its dispatcher was told and answered, as far as live runs ask for it.
 * `node dist/lab/experiments/harness/recorded-server.js BUNDLE MODEL_FOLDER`, until SIGTERM.
 */

import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { AssignedExecutorHandlers } from "stratagem-runtime/internal/exec/models/executor";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { startAssignedExecutor } from "stratagem-runtime/internal/exec/pool/assigned-pool";
import { startExecutor } from "stratagem-runtime/internal/exec/pool/worker-pool";
import { servedModels } from "stratagem-runtime/internal/host/served-models";
import { accordionApplication } from "stratagem-runtime/internal/methods/accordion/serve/accordion-application";
import { inferlineApplication } from "stratagem-runtime/internal/methods/inferline/serve/inferline-application";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import { foretoldApplication } from "stratagem-runtime/internal/methods/themis/serve/themis-application";
import type { Application } from "stratagem-runtime/internal/server/applications/application";
import { openServer } from "stratagem-runtime/internal/server/serve";
import { present } from "./numbers.ts";

/** Everything else comes with every request. */
const STAGE_KINDS = ["assign", "release", "resize", "resized", "model-ready", "lost"];
const PLACE_KINDS = ["query", "start", "reshape", "instance-done"];

const [policy, folder] = process.argv.slice(2);
const { bundle, sha256 } = await loadBundle(present(policy, "a bundle"));
const variants = await servedModels(bundle, present(folder, "a folder of models"));
const workerCount = methodOf(bundle).workerCount(bundle);
const workers = {
  variants,
  workerCount,
  threadsPerWorker: 1,
  devices: devicesOn("cpu", workerCount),
};
const onStartFailed = (reason: string) => console.error(reason);
const options = {
  bundleSha256: sha256,
  host: "127.0.0.1",
  port: 0,
  nowMs: () => performance.now(),
  version: "bench",
  axisNames: variants.map(({ axisNames }) => axisNames),
  onWorkerLost: (worker: number, reason: string) =>
    console.error(`worker ${worker} was lost: ${reason}`),
  onNotice: (message: string) => console.error(message),
};

const server = await openServer([await hosted(bundle)], options);
process.once("SIGTERM", () => void server.close());
await server.started;
tell({ url: server.url, originMs: performance.timeOrigin });

function hosted(own: Bundle): Application | Promise<Application> {
  const stages = {
    ...options,
    executorFactory: (handlers: AssignedExecutorHandlers) =>
      startAssignedExecutor(workers, { ...handlers, onStartFailed }),
    recorder: recorderOf(STAGE_KINDS),
  };
  switch (own.method) {
    case "accordion":
      return accordionApplication({
        ...options,
        bundle: own,
        executorFactory: (handlers) =>
          startExecutor({ ...workers, standbyCount: 0 }, { ...handlers, onStartFailed }),
        recorder: recorderOf(PLACE_KINDS),
      });
    case "inferline":
      return inferlineApplication({ ...stages, bundle: own });
    case "themis":
      return foretoldApplication({ ...stages, bundle: own });
    default:
      throw new TypeError(`${policy}: its method ${own.method} is served without a record`);
  }
}

/** A command gets the time of the event that it answers. */
function recorderOf(kinds: readonly string[]) {
  let nowMs = performance.now();
  return (entry: { readonly kind: string; readonly nowMs?: number }): void => {
    nowMs = entry.nowMs ?? nowMs;
    if (kinds.includes(entry.kind)) tell({ ...entry, nowMs });
  };
}

function tell(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}
