/** The thread beside the event loop: does one job with long JSON after another. */
import { parentPort, workerData } from "node:worker_threads";
import { buffersOf, doJob, type JsonJob, type ReadModel } from "./json-jobs.ts";

const models: readonly ReadModel[] = workerData;

parentPort?.on("message", (job: JsonJob) => {
  const result = doJob(job, models);
  parentPort?.postMessage(result, buffersOf(result));
});
