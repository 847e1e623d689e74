/** `worker --models DIR`: runs batches for front ends until it is stopped. */
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Agent, type AgentOptions, startAgent } from "../agent/agent.ts";
import type { Peers } from "../agent/value-source.ts";
import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { settleCollection } from "../base/heap-collection.ts";
import type { Bundle } from "../bundle/schema.ts";
import { loadBundle } from "../bundles/load-bundle.ts";
import { AUTO } from "../exec/limits/first-provider.ts";
import { OpenedModels } from "../exec/process/opened-models.ts";
import { announcedUrl } from "../features/cluster/announced-url.ts";
import type { AnnouncedState } from "../features/cluster/announcer.ts";
import type { ClusterWorker } from "../features/cluster/cluster-worker.ts";
import { storeFolder } from "../features/sources/store-folder.ts";
import { servedModels } from "../host/served-models.ts";
import { servingDevices } from "../host/serving-devices.ts";
import type { Address } from "../kinds/kinds.ts";
import { tokenReader } from "../remote/worker-token.ts";
import type { AccessOptions } from "../server/access/access.ts";
import { LineSink } from "../server/logs/line-sink.ts";
import { Log, type LogState } from "../server/logs/log.ts";
import { tokenFileFor } from "../settings/shown-tokens.ts";
import type { CommandResult } from "./command-result.ts";

/** Flags of the command line, each checked separately. */
export interface WorkerCommand {
  readonly models: string | undefined;
  /** Path of a bundle whose variants it holds. */
  readonly policy: string | undefined;
  readonly http: Address;
  readonly name: string | undefined;
  readonly pool: string | undefined;
  readonly device: string;
  readonly threads: number;
  readonly memory: number | undefined;
  readonly maxBody: number;
  readonly tokens: string | undefined;
  readonly tls: AccessOptions["tls"] | undefined;
  /** Servers as `nats://a,b,c`; undefined without a cluster. */
  readonly cluster: string | undefined;
  readonly token: readonly string[] | undefined;
  readonly url: string | undefined;
  readonly peers: readonly string[] | undefined;
  readonly store: string | undefined;
  readonly log: LogState;
}

/** Name of the default pool in bundles. */
const DEFAULT_POOL = "default";

interface WorkerSurroundings {
  /** Aborting it stops the worker: what was accepted is answered first. */
  readonly signal: AbortSignal;
  /** Called once it has loaded its models. */
  readonly onReady: (result: CommandResult) => void;
}

/** @throws BundleError, RuntimeError */
export async function workerCommand(
  command: WorkerCommand,
  { signal, onReady }: WorkerSurroundings,
): Promise<void> {
  const sink = new LineSink();
  const epochMs = () => performance.timeOrigin + performance.now();
  const log = new Log({ sink, ...command.log, epochMs });
  const files = new OpenedModels();
  let cluster: ClusterWorker | null = null;
  try {
    settleCollection();
    cluster = await clusterOf(command, log.notice);
    const agent = await startAgent({
      ...(await agentOptions(command, files, cluster)),
      ...(cluster === null ? {} : inCluster(cluster)),
      onNotice: log.notice,
    });
    cluster?.announce(() => announcedState(agent, command));
    await Promise.race([agent.started, aborted(signal)]);
    onReady(readyResult(agent));
    await aborted(signal);
    log.notice("stopping: answering accepted batches");
    const left = cluster?.leave();
    await agent.close();
    await left;
  } finally {
    await cluster?.close();
    await files.close();
    await sink.close();
  }
}

/** @throws BundleError, RuntimeError */
async function agentOptions(
  command: WorkerCommand,
  files: OpenedModels,
  cluster: ClusterWorker | null,
): Promise<Omit<AgentOptions, "onNotice">> {
  const { policy, http, pool, threads } = command;
  const models = command.models ?? (policy === undefined ? undefined : dirname(policy));
  if (models === undefined) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --models or --policy: what the worker runs");
  }
  const bundle = policy === undefined ? undefined : (await loadBundle(policy)).bundle;
  return {
    ...http,
    name: command.name ?? hostname(),
    pool: pool ?? null,
    models: resolve(models),
    variants: bundle === undefined ? undefined : await servedModels(bundle, models, files),
    peers: peersOf(command, bundle, cluster),
    load: null,
    device: deviceOf(command.device),
    threads,
    standby: 0,
    memoryBytes: command.memory ?? null,
    cpuFallback: "allow",
    maxBodyBytes: command.maxBody,
    maxValueBytes: command.maxBody,
    access: accessOf(command),
    nowMs: () => performance.now(),
    epochOffsetMs: performance.timeOrigin,
  };
}

/** Loads the modules of the cluster on demand. @throws RuntimeError */
async function clusterOf(
  { cluster, token, name = hostname(), store, url }: WorkerCommand,
  onNotice: AgentOptions["onNotice"],
): Promise<ClusterWorker | null> {
  if (cluster === undefined) return null;
  const { ClusterWorker } = await import("../features/cluster/cluster-worker.ts");
  if (url !== undefined) announcedUrl(url, "");
  const tokenFile = tokenFileFor("cluster", token);
  const folder = join(storeFolder(store ?? null, process.env), "models");
  return ClusterWorker.open({ cluster, name, tokenFile, folder, onNotice });
}

function inCluster(cluster: ClusterWorker): Pick<AgentOptions, "fetch" | "onChange"> {
  return { fetch: (asked) => cluster.fetch(asked), onChange: () => cluster.changed() };
}

/** Returns the state that is announced to front ends of the cluster. */
function announcedState(agent: Agent, { url }: WorkerCommand): AnnouncedState {
  const { name, pool, cores, device, provider, models, epoch } = agent.document();
  const identity = { name, url: announcedUrl(url, agent.url), cores, device, provider };
  return { ...identity, pool: pool ?? DEFAULT_POOL, models, epoch };
}

function peersOf(
  { peers, token }: WorkerCommand,
  bundle: Bundle | undefined,
  cluster: ClusterWorker | null,
): Peers | null {
  const urls = peers ?? bundle?.cluster.pools.flatMap((pool) => pool.urls ?? []) ?? [];
  const origins = new Set(urls.map((url) => new URL(url).origin));
  const isOfCluster = peers === undefined && cluster !== null;
  if (origins.size === 0 && !isOfCluster) return null;
  return {
    includes: (origin) => origins.has(origin) || (isOfCluster && cluster.hasWorkerAt(origin)),
    readToken: tokenReader(tokenFileFor("workers", token)),
  };
}

/** @throws RuntimeError RUNTIME_USAGE */
function deviceOf(device: string): AgentOptions["device"] {
  if (device === AUTO) return null;
  const [found] = servingDevices([{ name: "", workers: 1 }], 1, { device });
  if (found !== undefined) return found;
  const expected =
    "expected auto, cpu, cuda, tensorrt or webgpu, optionally with a number, such as cuda:0";
  throw new RuntimeError("RUNTIME_USAGE", `--device: ${expected}, got "${device}"`);
}

function accessOf({ tls, tokens }: WorkerCommand): AccessOptions {
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(tls === undefined ? {} : { tls }),
  };
}

function readyResult({ url, document }: Agent): CommandResult {
  const state = document();
  const { name, device, models } = state;
  const ready = models.filter(({ state }) => state === "ready").map((model) => model.name);
  const held = ready.length === 0 ? "no models" : ready.join(", ");
  return {
    exitCode: EXIT_CODES.ok,
    text: `worker ${name} at ${url}, on ${device}: ${held}`,
    json: { url, ...state },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
