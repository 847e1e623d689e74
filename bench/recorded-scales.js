// Serves a Themis bundle as `stratagem serve` does, and tells besides, as JSON lines, where it listens, how long every instance took from being assigned
// to holding its model, and every resize from being asked for to being in force. `node bench/recorded-scales.js BUNDLE MODEL_FOLDER` after a build, until
// SIGTERM.

import { startAssignedExecutor } from "../runtime/dist/exec/assigned-pool.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { themisShapeOf } from "../runtime/dist/methods/themis/core/shape.js";
import { openForecastModel } from "../runtime/dist/methods/themis/serve/forecast-model.js";
import { startThemisServer } from "../runtime/dist/methods/themis/serve/themis-server.js";
import { servedModels } from "../runtime/dist/served-models.js";

const [policy, folder] = process.argv.slice(2);
const { bundle, sha256 } = await loadBundle(policy);
const models = await servedModels(bundle, folder);
const { workerCount } = themisShapeOf(bundle);
const forecaster = bundle.policy.predictor === "lstm" ? await openForecastModel() : undefined;
/** By worker: its task and cores, and since when it is to have them, until it has. */
const instances = new Map();
let nowMs = performance.now();

const server = await startThemisServer({
  bundle,
  bundleSha256: sha256,
  host: "127.0.0.1",
  port: 0,
  nowMs: () => performance.now(),
  version: "bench",
  executorFactory: (handlers) =>
    startAssignedExecutor(
      { variants: models, workerCount, threadsPerWorker: 1, device: "cpu", deviceIds: [] },
      { ...handlers, onStartFailed: (reason) => console.error(reason) },
    ),
  onWorkerLost: (worker, reason) => console.error(`worker ${worker} was lost: ${reason}`),
  onNotice: (message) => console.error(message),
  recorder: record,
  forecaster,
});
process.once("SIGTERM", () => void server.close());
await server.started;
tell({ url: server.url, originMs: performance.timeOrigin });

function record(entry) {
  // A command carries the time of the event that it answers.
  if (entry.nowMs !== undefined) nowMs = entry.nowMs;
  const { kind, worker } = entry;
  if (kind === "assign") {
    // A task has one variant.
    const task = bundle.tasks[entry.variant].name;
    instances.set(worker, { task, cores: entry.cores, before: 0, sinceMs: nowMs });
  } else if (kind === "release" || kind === "lost") instances.delete(worker);
  else if (kind === "resize") onResize(worker, entry.cores);
  else if (kind === "model-ready" || kind === "resized") onThere(worker);
}

function onResize(worker, cores) {
  const instance = instances.get(worker);
  const isUp = Number.isNaN(instance.sinceMs) || instance.before > 0;
  instances.set(worker, {
    task: instance.task,
    cores,
    before: isUp ? instance.cores : 0,
    // One that comes up starts with these cores.
    sinceMs: isUp ? nowMs : instance.sinceMs,
  });
}

function onThere(worker) {
  const instance = instances.get(worker);
  if (instance === undefined || Number.isNaN(instance.sinceMs)) return;
  const { task, before, cores, sinceMs } = instance;
  tell({ worker, task, before, cores, atMs: sinceMs, tookMs: nowMs - sinceMs });
  instances.set(worker, { task, cores, before: 0, sinceMs: Number.NaN });
}

function tell(what) {
  console.log(JSON.stringify(what));
}
