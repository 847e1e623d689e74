/** A worker for front ends on other machines: holds models, and runs one batch at a time. */
import { join } from "node:path";
import { RuntimeError } from "../base/errors.ts";
import type { Notice } from "../base/notice.ts";
import { packageVersion } from "../base/version.ts";
import { lackOfFiles, meansOf } from "../exec/limits/means.ts";
import type { VariantModel } from "../exec/models/executor.ts";
import type { CpuFallback } from "../exec/models/model-facts.ts";
import type { WorkerDevice } from "../exec/models/worker-device.ts";
import { Access, type AccessOptions, exposureOf } from "../server/access/access.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../server/applications/limits.ts";
import { ByteBudget } from "../server/bodies/body-memory.ts";
import { Connections } from "../server/connections/connections.ts";
import { Descriptors, SURPLUS_DESCRIPTORS } from "../server/connections/descriptors.ts";
import { listen, urlOf } from "../server/connections/listen.ts";
import { forceServer, stopServer } from "../server/http/stopping.ts";
import { AgentCounts } from "./agent-counts.ts";
import { agentServer } from "./agent-server.ts";
import { type AgentDocument, type AgentState, agentDocument } from "./agent-state.ts";
import { DeviceChoice } from "./device-choice.ts";
import { Fence } from "./fence.ts";
import { HeldModels } from "./held-models.ts";
import { KeptValues } from "./kept-values.ts";
import { type FetchModel, ModelCatalog } from "./model-catalog.ts";
import { RunIds } from "./run-ids.ts";
import { Turns } from "./turns.ts";
import type { Peers } from "./value-source.ts";

export interface AgentOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly name: string;
  /** Null for any pool. */
  readonly pool: string | null;
  /** Folder of the model files. */
  readonly models: string;
  /** Models of a bundle, checked and opened; optional. */
  readonly variants?: readonly VariantModel[] | undefined;
  /** Fetches models that the folder lacks; optional. */
  readonly fetch?: FetchModel | undefined;
  /** Names of models to load at the start; null for all. */
  readonly load: readonly string[] | null;
  /** Null for the first that runs a model. */
  readonly device: WorkerDevice | null;
  /** Threads of a model's sessions. */
  readonly threads: number;
  /** Standby processes of each model. */
  readonly standby: number;
  /** Memory limit of a model's process; null for what the model needs. */
  readonly memoryBytes: number | null;
  readonly cpuFallback: CpuFallback;
  /** Limit of a batch. */
  readonly maxBodyBytes: number;
  /** Limit of all tensors kept for other workers. */
  readonly maxValueBytes: number;
  /** Workers whose kept tensors it may fetch; null for none. */
  readonly peers: Peers | null;
  readonly access: AccessOptions;
  readonly onNotice: Notice;
  /** Called when `document` changes. */
  readonly onChange?: (() => void) | undefined;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  readonly epochOffsetMs: () => number;
}

export interface Agent {
  /** URL, such as `http://10.0.0.7:8000`. */
  readonly url: string;
  /** Resolves once the models of its start are loaded, or have failed. */
  readonly started: Promise<void>;
  /** Returns the current description of the agent and its models. */
  document(): AgentDocument;
  /** Process ids of its models, by name. */
  pids(): ReadonlyMap<string, number | undefined>;
  /** Answers accepted requests, then ends its processes. */
  close(): Promise<void>;
}

/** Descriptors that connections leave to processes of models, model files and copied values. */
const KEPT_FILES = 96;
/** Front ends, their health checks, and metrics. */
const LEAST_CONNECTIONS = 16;
/** Bodies held at a time: the batch that computes, the one that waits, and one being answered. */
const BODIES = 3;

/**
 * Answers health and metadata at once, and batches of each model as soon as it is loaded.
 * @throws RuntimeError RUNTIME_LISTEN, RUNTIME_UNREADABLE, RUNTIME_ACCESS, RUNTIME_MEANS
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { host, port, nowMs, onNotice, maxBodyBytes } = options;
  const limits: ServerLimits = { ...DEFAULT_LIMITS, maxBodyBytes };
  const access = await Access.open(options.access, { nowMs, onNotice, hosts: [options.host] });
  const catalog = catalogOf(options);
  const state = stateOf(options, access, catalog, limits);
  const server = agentServer(state, limits);
  await listen(server, { host, port, flag: "--http" }, state.connections).catch((error) => {
    access.close();
    state.connections.close();
    throw error;
  });
  const exposure = exposureOf(host, access);
  if (exposure !== undefined) onNotice(exposure, "warn");
  let closing: Promise<void> | undefined;
  const close = async () => {
    state.isStopping = true;
    options.onChange?.();
    await forceAfter(limits.drainTimeoutMs, stopServer(server, state.connections), (stopped) =>
      forceServer(server, stopped),
    );
    await state.models.close();
    access.close();
  };
  return {
    url: urlOf(server, access.tls !== undefined, { host }),
    started: loadFirst(state, catalog, options),
    document: () => agentDocument(state),
    pids: () => new Map(state.models.held.map(({ model, pid }) => [model.name, pid])),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function catalogOf({ models: folder, variants, fetch }: AgentOptions): ModelCatalog {
  return new ModelCatalog({ folder, variants, fetch });
}

function stateOf(
  options: AgentOptions,
  access: Access,
  catalog: ModelCatalog,
  limits: ServerLimits,
): AgentState {
  const { name, pool, threads: cores, device, maxBodyBytes } = options;
  const { nowMs, epochOffsetMs, onNotice, onChange = () => {} } = options;
  const { standby, memoryBytes, cpuFallback } = options;
  const descriptors = descriptorsOf();
  const devices = new DeviceChoice(device, onNotice);
  const holding = { devices, standby, memoryBytes, cpuFallback, onNotice, onChange };
  return {
    identity: { name, pool, cores },
    devices,
    version: packageVersion(),
    models: new HeldModels(catalog, cores, holding),
    turns: new Turns(),
    ids: new RunIds(),
    fence: new Fence(onChange),
    values: new KeptValues(options.maxValueBytes, nowMs),
    peers: options.peers,
    counts: new AgentCounts(),
    access,
    connections: new Connections(limits, descriptors),
    budget: new ByteBudget(BODIES * maxBodyBytes),
    bodyLimit: { bytes: maxBodyBytes, why: "the maximum of this worker" },
    pace: limits,
    nowMs,
    epochOffsetMs,
    onNotice,
    isStarted: false,
    isStopping: false,
  };
}

/** @throws RuntimeError RUNTIME_MEANS */
function descriptorsOf(): Descriptors {
  const { files } = meansOf();
  const parts = {
    "processes of models, model files and copied values": KEPT_FILES,
    connections: LEAST_CONNECTIONS,
    "rejected connections": SURPLUS_DESCRIPTORS,
  };
  const lack = lackOfFiles(parts, files);
  if (lack !== null) throw new RuntimeError("RUNTIME_MEANS", `worker: ${lack}; raise the limit`);
  const descriptors = new Descriptors(files.most);
  descriptors.keep(KEPT_FILES);
  return descriptors;
}

/**
 * Loads the models of the start. A model that fails is reported, and does not keep others from
 * being served.
 */
async function loadFirst(
  state: AgentState,
  catalog: ModelCatalog,
  { load, onNotice, onChange, models: folder }: AgentOptions,
): Promise<void> {
  const names = load ?? (await catalog.ownNames().catch(() => []));
  if (names.length === 0 && load === null) {
    onNotice(`no models in ${join(folder, "*.onnx")}; waiting for requests to load some`, "warn");
  }
  for (const name of names) {
    if (state.isStopping) return;
    try {
      await state.models.load({ name, sha256: undefined, cores: undefined });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      onNotice(`failed to load '${name}', ${reason}`, "error");
    }
  }
  state.isStarted = true;
  onChange?.();
}

/** Waits for a server to stop. @param force ends what is left after the timeout. */
async function forceAfter(
  timeoutMs: number,
  stopped: Promise<void>,
  force: (stopped: Promise<void>) => Promise<void>,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([stopped, late]);
  clearTimeout(timer);
  await force(stopped);
}
