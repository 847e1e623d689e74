/** Opens a server of bundles in this process: its listeners, and its workers beside it. */
import type { Notice } from "../base/notice.ts";
import { packageVersion } from "../base/version.ts";
import { Trust } from "../bundles/trust/trust.ts";
import { loadTrusted } from "../bundles/trusted-bundle.ts";
import type { OpenedModels } from "../exec/process/opened-models.ts";
import { hasLimits } from "../exec/process/worker-spawn.ts";
import type { ClusterFrontEnd } from "../features/cluster/cluster-front-end.ts";
import { FEATURES } from "../features/features.ts";
import {
  closeFeatures,
  type Host,
  type Hosted,
  openFeatures,
  type ServingFeature,
} from "../features/server-feature.ts";
import type { PolicySources } from "../features/sources/policy-sources.ts";
import { Access } from "../server/access/access.ts";
import { DEFAULT_LIMITS } from "../server/applications/limits.ts";
import { droppedLines } from "../server/logs/line-sink.ts";
import { openServer, type RunningServer } from "../server/serve.ts";
import { type HostedBundle, type HostingOptions, hostBeside } from "./hosted-bundle.ts";
import {
  hostedBundles,
  hostedTraffic,
  rememberOnceStarted,
  signatureLines,
} from "./hosted-bundles.ts";
import { openedCluster, openedSources, policiesOf } from "./opened-sources.ts";
import { Reloading } from "./reloading.ts";
import { adminOf, expectStarted } from "./server-administration.ts";
import { ServerGpus } from "./server-gpus.ts";
import {
  clockOf,
  type ServedBundle,
  type ServerOptions,
  type StartedServer,
} from "./server-options.ts";
import { devicesText } from "./serving-devices.ts";
import { fileBudget, SharedMeans } from "./shared-means.ts";

export type { ServedBundle, ServerOptions, StartedServer } from "./server-options.ts";

/** Parts of a server that are opened before its bundles. */
interface Beside {
  readonly features: readonly ServingFeature[];
  readonly trust: Trust | null;
  readonly sources: PolicySources | null;
  readonly cluster: ClusterFrontEnd | null;
}

/**
 * Starts serving bundles. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_USAGE, RUNTIME_ACCESS, RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_MEANS,
 * RUNTIME_DEVICE; where signatures are required, RUNTIME_KEY, RUNTIME_SERIALS, RUNTIME_UNSIGNED,
 * RUNTIME_SIGNATURE, RUNTIME_WRONG_KEY, RUNTIME_EXPIRED, RUNTIME_SCOPE, RUNTIME_ROLLBACK; of
 * sources RUNTIME_SOURCE, RUNTIME_STORE; of clusters RUNTIME_CLUSTER.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const opened: OpenedModels[] = [];
  const { access: who = {}, onNotice } = options;
  const { nowMs } = clockOf(options);
  const { host, adminAt, metricsAt } = options;
  const hosts = [host, adminAt?.host, metricsAt?.host].flatMap((one) => one ?? []);
  const reports = onNotice === undefined ? {} : { onNotice };
  const access = await Access.open(who, { nowMs, hosts, ...reports });
  let features: readonly ServingFeature[] = [];
  let sources: PolicySources | null = null;
  let cluster: ClusterFrontEnd | null = null;
  try {
    features = await featuresOf(options);
    const trust = await trustOf(options);
    sources = await openedSources(options, trust);
    cluster = await openedCluster(options, nowMs, onNotice);
    const beside = { features, trust, sources, cluster };
    return await startWith(opened, access, beside, { ...options, ...workersOf(cluster) });
  } catch (error) {
    await cluster?.close();
    await sources?.close();
    access.close();
    await closeFeatures(features);
    await Promise.all(opened.map((files) => files.close()));
    throw error;
  }
}

async function startWith(
  opened: OpenedModels[],
  access: Access,
  { features, trust, sources, cluster }: Beside,
  options: ServerOptions,
): Promise<StartedServer> {
  const { onNotice = () => {} } = options;
  const policies = sources?.paths ?? policiesOf(options.policy);
  const clock = clockOf(options);
  const isOnly = policies.length === 1;
  const hosting = {
    ...options,
    ...clock,
    onNotice,
    isOnly,
    trust,
    recorders: recordersOf(features),
    kept: features.flatMap(({ kept }) => kept ?? []),
  };
  const { limits: { maxConnections = DEFAULT_LIMITS.maxConnections } = {} } = options;
  const budget = fileBudget(sources === null ? 0 : policies.length, maxConnections);
  const shared = new SharedMeans(options, budget);
  const hosted = await hostedBundles(policies, opened, shared, hosting);
  let reloading: Reloading | undefined;
  const served = () => reloading?.hosted ?? hosted;
  const gpus = new ServerGpus(served);
  const server = await openServer(
    hosted.map(({ application }) => application),
    {
      ...describedOf(options),
      ...clock,
      descriptors: budget.descriptors,
      frontEnd: cluster?.name,
      features,
      access,
      otherLines: () => [
        ...signatureLines(served()),
        ...(options.stderr === undefined ? [] : droppedLines("server", options.stderr)),
        ...[gpus, sources, cluster].flatMap((one) => one?.lines() ?? []),
      ],
      onNotice,
      admin: adminOf(() => expectStarted(reloading), { options, access, sources }),
    },
  );
  gpus.look();
  reportMissingLimit(onNotice);
  const fewer = shared.fewerConnections(maxConnections);
  if (fewer !== null) onNotice(fewer, "warn");
  const refresh = () => access.refresh();
  const following = new Reloading(server, hosted, hosting, { refresh }, sources);
  reloading = following;
  const endpoints = () => following.hosted.map(({ application }) => application.endpoint);
  cluster?.follow(endpoints, () => hostedTraffic(following.hosted), server.url);
  sources?.run(following, server.started);
  void rememberOnceStarted(server.started, hosted, hosting);
  const host = hostOf(server, following, hosting);
  for (const feature of features) await feature.serving?.(host);
  return {
    ...server,
    get served() {
      return servedOf(following, sources);
    },
    reload: (name) => following.reload(name),
    reopen: () => {
      for (const feature of features) feature.reopened?.();
    },
    close: async () => {
      for (const feature of features) feature.stopping?.();
      following.stop();
      // The server's close abandons bundles that the sources are about to follow.
      const ended = sources?.close();
      await server.close();
      await ended;
      gpus.close();
      access.close();
      await closeFeatures(features);
      await following.close();
      await cluster?.close();
    },
  };
}

function featuresOf(options: ServerOptions): Promise<ServingFeature[]> {
  const { features = FEATURES, settings = {}, onNotice = () => {} } = options;
  const { environment = {}, log, stderr, gateOf } = options;
  const { nowMs, epochOffsetMs } = clockOf(options);
  const context = { onNotice, log, stderr, environment, version: packageVersion() };
  return openFeatures(features, settings, { nowMs, epochOffsetMs, gateOf, ...context });
}

function recordersOf(features: readonly ServingFeature[]): HostingOptions["recorders"] {
  return features.flatMap((feature) => feature.recorder?.bind(feature) ?? []);
}

/** The running server as features see it. */
function hostOf(server: RunningServer, following: Reloading, hosting: HostingOptions): Host {
  // Features see only a part of the bundles that they open, which are kept here whole.
  const opened = new WeakMap<Hosted, HostedBundle>();
  return {
    server,
    hosted: () => following.hosted,
    isOnly: hosting.isOnly,
    nowMs: hosting.nowMs,
    onNotice: hosting.onNotice,
    load: (path) => loadTrusted(path, hosting.trust),
    async hostBeside(loaded, place, onNotice) {
      const before = following.hosted[place];
      if (before === undefined) throw new RangeError(`no bundle is served at place ${place}`);
      const next = await hostBeside(loaded, place, before, { ...hosting, onNotice });
      opened.set(next, next);
      return next;
    },
    adopt(place, next, take) {
      const known = opened.get(next);
      if (known === undefined) throw new RangeError("a bundle was opened by the host");
      return following.adopt(place, known, take);
    },
  };
}

/** Remote workers of the cluster, which take precedence over those of the options. */
function workersOf(cluster: ClusterFrontEnd | null): Pick<ServerOptions, "remoteWorkers"> {
  return cluster === null ? {} : { remoteWorkers: cluster.workers };
}

/** Describes the options, without the state of other components. */
function describedOf({ limits, grpc, adminAt, metricsAt, ...options }: ServerOptions) {
  return {
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    version: packageVersion(),
    serverName: options.serverName ?? "stratagem",
    textParameters: options.textParameters ?? false,
    ...(limits === undefined ? {} : { limits }),
    ...(grpc === undefined ? {} : { grpc }),
    adminAt,
    metricsAt,
  };
}

function reportMissingLimit(onNotice: Notice): void {
  if (hasLimits()) return;
  onNotice("workers have no limit of memory: this system cannot set one", "warn");
}

function servedOf({ hosted }: Reloading, sources: PolicySources | null): ServedBundle[] {
  return hosted.map(({ policy, bundle, sha256, workers }, place) => {
    const { devices, hardware } = workers;
    const source = sources?.nameOf(place) ?? null;
    const from = source === null ? {} : { source };
    return { policy, ...from, bundle, sha256, device: devicesText(devices), hardware };
  });
}

async function trustOf({ trust }: ServerOptions): Promise<Trust | null> {
  // The wall clock and not that of the server, since it may be set right while that runs.
  return trust === undefined ? null : Trust.open({ ...trust, nowEpochMs: () => Date.now() });
}
