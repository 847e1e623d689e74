// Serves an InferLine bundle as `stratagem serve` does, and tells besides, as JSON lines, where it listens and how long every replica took from being
// assigned to holding its model. `node bench/recorded-stages.js BUNDLE MODEL_FOLDER` after a build, until SIGTERM.
import { startAssignedExecutor } from "../runtime/dist/exec/assigned-pool.js";
import { loadBundle } from "../runtime/dist/load-bundle.js";
import { startInferlineServer } from "../runtime/dist/methods/inferline/serve/inferline-server.js";
import { servedModels } from "../runtime/dist/served-models.js";

const [policy, folder] = process.argv.slice(2);
const { bundle, sha256 } = await loadBundle(policy);
const models = await servedModels(bundle, folder);
const workerCount = bundle.cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
const startMs = performance.now();
/** By worker: what it was assigned, and when, until it holds it. */
const assignments = new Map();
let nowMs = startMs;

const server = await startInferlineServer({
  bundle,
  bundleSha256: sha256,
  axisNames: models.map(({ axisNames }) => axisNames),
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
  recorder: record,
});
process.once("SIGTERM", () => void server.close());
await server.started;
tell({ url: server.url });

function record(entry) {
  // A command carries the time of the event that it answers.
  if (entry.nowMs !== undefined) nowMs = entry.nowMs;
  if (entry.kind === "assign") assignments.set(entry.worker, { ...entry, sinceMs: nowMs });
  if (entry.kind !== "model-ready") return;
  const assigned = assignments.get(entry.worker);
  if (!assignments.delete(entry.worker)) return;
  const task = bundle.tasks[variantTask(assigned.variant)].name;
  tell({
    atMs: assigned.sinceMs - startMs,
    worker: entry.worker,
    task,
    activationMs: nowMs - assigned.sinceMs,
  });
}

/** Variants are counted over all tasks, one after another. */
function variantTask(variant) {
  let task = 0;
  let before = bundle.tasks[0].variants.length;
  while (variant >= before) before += bundle.tasks[++task].variants.length;
  return task;
}

function tell(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
