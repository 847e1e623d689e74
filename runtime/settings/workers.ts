/** The workers: on what they run, how many are in reserve, what they may take. */

import { CPU_FALLBACKS } from "../exec/models/model-facts.ts";
import { devices, providerOptions, workerUrls, workerVariables } from "../kinds/device-kinds.ts";
import { count, oneOf, processMemory, text, truth } from "../kinds/kinds.ts";
import { setting } from "../kinds/setting.ts";

export const WORKERS = {
  device: setting(
    devices,
    null,
    "device of all workers or of one pool's, such as cuda:0,1 or gpu=webgpu",
    "that of the bundle, else cpu",
  ),
  acceptOtherHardware: setting(
    truth,
    false,
    "serve a bundle whose times were measured on other hardware",
  ),
  workerEnv: setting(
    workerVariables,
    null,
    "extra environment variables of all workers, or of one pool's",
    "no variables",
  ),
  providerOptions: setting(
    providerOptions,
    null,
    "options of providers, each for the workers whose provider has it",
    "those of the provider",
  ),
  workers: setting(
    workerUrls,
    null,
    "URLs of v2 servers to use as workers, or as those of one pool",
    "those of the bundle, else local processes",
  ),
  threads: setting(
    count({ least: 1 }),
    1,
    "threads of a worker, unless the bundle states its cores",
  ),
  standby: setting(count(), 1, "standby workers of each application"),
  meansCheck: setting(
    truth,
    true,
    "refuse a bundle whose workers need more than the machine has left",
  ),
  memory: setting(
    processMemory,
    null,
    "memory of a worker process",
    "by its models, at least 4GiB; unlimited on a GPU",
  ),
  cpuFallback: setting(
    oneOf(CPU_FALLBACKS),
    "allow",
    "whether models may have nodes that a GPU leaves to the CPU",
  ),
};

/** The cluster whose workers are found. */
export const CLUSTER = {
  cluster: setting(
    text("<url>", "nats://HOST:PORT,HOST:PORT… or tls://, perhaps with /NAME behind"),
    null,
    "the NATS over which workers of other machines are found, for pools without URLs",
    "none are",
  ),
  frontEnd: setting(
    text("<name>", "a name"),
    null,
    "what this front end is called among those that share the workers of --cluster",
    "its host and process",
  ),
};
