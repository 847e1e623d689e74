/** The workers: on what they run, how many are in reserve, what they may take. */
import { CPU_FALLBACKS } from "../exec/model-facts.ts";
import { bytes, count, counts, oneOf, truth } from "./kinds.ts";
import { setting } from "./setting.ts";

/** Less than Node and onnxruntime take is a mistake. */
const MIN_MEMORY_BYTES = 2 ** 28;

export const WORKERS = {
  device: setting(oneOf(["cpu", "cuda", "webgpu", "auto"]), "cpu", "what runs the models"),
  deviceIds: setting(
    counts("<ids>", "whole numbers such as 0,1"),
    null,
    "accelerators to spread workers over, such as 0,1",
    "the first",
  ),
  threads: setting(count({ least: 1 }), 1, "threads of a worker, unless the bundle says its cores"),
  standby: setting(count(), 1, "warm workers in reserve, of each application"),
  meansCheck: setting(truth, true, "refuse a bundle whose workers want more than the machine has"),
  workerMemory: setting(
    bytes({ least: MIN_MEMORY_BYTES }),
    null,
    "memory of a worker",
    "by its models, at least 4GiB; none on a GPU",
  ),
  cpuFallback: setting(
    oneOf(CPU_FALLBACKS),
    "allow",
    "models of which a GPU leaves nodes to the processor",
  ),
};
