/** The workers: on what they run, how many are in reserve, what they may take. */
import { CPU_FALLBACKS } from "../exec/models/model-facts.ts";
import { devices, providerOptions, workerUrls, workerVariables } from "../kinds/device-kinds.ts";
import { count, oneOf, processMemory, truth } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const WORKERS = {
  device: setting(
    devices,
    null,
    "device of all workers or of one pool's, such as cuda:0,1 or gpu=webgpu",
    "as the bundle says, else cpu",
  ),
  acceptOtherHardware: setting(
    truth,
    false,
    "serve a bundle whose times were measured on other hardware",
  ),
  workerEnv: setting(
    workerVariables,
    null,
    "variables of workers beside those of the server, or of one pool's",
    "there are none",
  ),
  providerOptions: setting(
    providerOptions,
    null,
    "options of providers such as webgpu, each for the workers on those that know it",
    "as they are",
  ),
  workers: setting(
    workerUrls,
    null,
    "URLs of v2 servers that are the workers, or of a pool, before what the bundle says",
    "as the bundle says, else processes of this machine",
  ),
  threads: setting(count({ least: 1 }), 1, "threads of a worker, unless the bundle says its cores"),
  standby: setting(count(), 1, "warm workers in reserve, of each application"),
  meansCheck: setting(
    truth,
    true,
    "refuse a bundle whose workers need more than the machine has left",
  ),
  memory: setting(
    processMemory,
    null,
    "memory of a worker process",
    "by its models, at least 4GiB; no limit on a GPU",
  ),
  cpuFallback: setting(
    oneOf(CPU_FALLBACKS),
    "allow",
    "models of which a GPU leaves nodes to the processor",
  ),
};
