/** The thread beside the event loop: does one job with long JSON after another. */
import { parentPort } from "node:worker_threads";
import { buffersOf, doJob, type JsonJob } from "./json-jobs.ts";

parentPort?.on("message", (job: JsonJob) => {
  const result = doJob(job);
  parentPort?.postMessage(result, buffersOf(result));
});
