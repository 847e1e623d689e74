// Serves an Accordion bundle as `stratagem serve` does, and tells besides, as JSON lines, where it listens and everything its scheduler was told and
// answered. `node bench/recorded-places.js BUNDLE MODEL_FOLDER` after a build, until SIGTERM.
import { startExecutor } from "../runtime/dist/exec/worker-pool.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { startAccordionServer } from "../runtime/dist/methods/accordion/serve/accordion-server.js";
import { servedModels } from "../runtime/dist/served-models.js";

const [policy, folder] = process.argv.slice(2);
const { bundle, sha256 } = await loadBundle(policy);
const variants = await servedModels(bundle, folder);
const workerCount = bundle.policy.executionPlaces;

const server = await startAccordionServer({
  bundle,
  bundleSha256: sha256,
  host: "127.0.0.1",
  port: 0,
  nowMs: () => performance.now(),
  version: "bench",
  executorFactory: (handlers) =>
    startExecutor(
      { variants, workerCount, standbyCount: 0, threadsPerWorker: 1, device: "cpu", deviceIds: [] },
      { ...handlers, onStartFailed: (reason) => console.error(reason) },
    ),
  onWorkerLost: (worker, reason) => console.error(`worker ${worker} was lost: ${reason}`),
  onNotice: (message) => console.error(message),
  recorder: tell,
});
process.once("SIGTERM", () => void server.close());
await server.started;
tell({ url: server.url, originMs: performance.timeOrigin });

function tell(what) {
  console.log(JSON.stringify(what));
}
