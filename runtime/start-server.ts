/** Opens a server of bundles in this process: its doors, and its workers beside it. */
import { availableParallelism } from "node:os";
import type { Bundle } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import { hasLimits } from "./exec/worker-spawn.ts";
import {
  expectFolders,
  expectOwnNames,
  type HostedBundle,
  type HostingOptions,
  hostBundle,
  ownNamesOf,
} from "./hosted-bundle.ts";
import { instantMs } from "./instant.ts";
import type { GenerateLevel } from "./methods/method.ts";
import { methodOf } from "./methods/registry.ts";
import { OpenedModels } from "./opened-models.ts";
import { openedSources, policiesOf } from "./opened-sources.ts";
import { hardwareJson, type PoolHardware } from "./pool-hardware.ts";
import { Reloading } from "./reloading.ts";
import { Access, type AccessOptions } from "./server/access/access.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./server/applications/limits.ts";
import { HttpError, RETRY_LATER } from "./server/connections/http-error.ts";
import type { GrpcOptions } from "./server/grpc/door.ts";
import type { AdminHooks, Reloaded } from "./server/http/admin-hooks.ts";
import { type DoorAddress, doorsOf } from "./server/http/doors.ts";
import { Acceptors } from "./server/processes/acceptors.ts";
import { dividedLimits } from "./server/processes/divided-limits.ts";
import { openServer, type RunningServer } from "./server/serve.ts";
import type { LineSink } from "./server/telemetry/line-sink.ts";
import type { LogState } from "./server/telemetry/log.ts";
import type { Notice } from "./server/telemetry/notice.ts";
import type { OtlpSettings } from "./server/telemetry/otlp/otlp-settings.ts";
import { Telemetry } from "./server/telemetry/telemetry.ts";
import { ServerGpus } from "./server-gpus.ts";
import type { WorkersOptions } from "./server-workers.ts";
import { devicesText, expectOptions, expectPools } from "./serving-devices.ts";
import { SharedMeans } from "./shared-means.ts";
import { signatureLines } from "./signature-lines.ts";
import type { PolicySources, SourceSettings } from "./sources/policy-sources.ts";
import { type Claims, Trust, type TrustOptions } from "./trust/trust.ts";
import { loadTrusted } from "./trusted-bundle.ts";
import { packageVersion } from "./version.ts";

export interface ServerOptions extends WorkersOptions {
  /** Paths or URLs of the bundles, one for each application, or that of the only one. */
  readonly policy: string | readonly string[];
  /** How those that are no files are followed, and which they are; left out, all are files. */
  readonly sources?: SourceSettings | undefined;
  /**
   * Folder of the model files, or one for each bundle, in their order; left out for each bundle's
   * own.
   */
  readonly models?: string | readonly string[] | undefined;
  /** Where to listen; left out for 127.0.0.1. */
  readonly host?: string;
  /** Left out, or 0, for any that is free. */
  readonly port?: number;
  readonly limits?: Partial<ServerLimits>;
  /** Of the rows, what the best variant answers again, 0..1; left out for nothing. */
  readonly shadowShare?: number | undefined;
  /** Left out for no gRPC beside HTTP. */
  readonly grpc?: GrpcOptions;
  /**
   * Processes that accept requests, beside this one, which then decides alone; left out, or 1, for
   * none, so that this one does both.
   */
  readonly processes?: number;
  /** Whether browsers get a live page at `GET /`; left out, they do. */
  readonly page?: boolean;
  /** What the server calls itself to clients; left out, "stratagem". */
  readonly serverName?: string;
  /** Hours between false alarms that a promise is broken, in the mean; left out, 1000. */
  readonly hoursPerFalseAlarm?: number;
  /** Whether health tells it unready while a promise is broken; left out, it does not. */
  readonly readyNeedsPromises?: boolean;
  /** Whether parameters of answers are all texts; left out, accuracies are numbers. */
  readonly textParameters?: boolean;
  /** Who may come in; left out, everybody, over connections that are not encrypted. */
  readonly access?: AccessOptions;
  /** Where administrators are served, and nobody else; left out, with the rest. */
  readonly adminAt?: DoorAddress | undefined;
  /** The same of metrics. */
  readonly metricsAt?: DoorAddress | undefined;
  /** The settings in force, as administrators are told them. */
  readonly config?: () => object;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice?: Notice;
  /** What that writes to, as far as administrators may change it; left out where it is nothing. */
  readonly log?: LogState | undefined;
  /** Takes a line of JSON for every request; left out, nothing is noted of them. */
  readonly accessLog?: Pick<LineSink, "write"> | undefined;
  /** Logs by what they are, as far as lines of theirs may be dropped. */
  readonly logs?: Readonly<Record<string, Pick<LineSink, "droppedCount">>>;
  /** Where traces and metrics are sent; left out for nowhere. */
  readonly otlp?: OtlpSettings | undefined;
  /** A monotonic clock, ms; left out for that of the process. */
  readonly nowMs?: () => number;
  /** What to add to it for milliseconds since 1970. */
  readonly epochOffsetMs?: number;
  /** Whose bundles are followed, and as what site; left out, anybody's are. */
  readonly trust?: Omit<TrustOptions, "nowEpochMs"> | undefined;
  /** Computes a level above the highest one; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

interface AdminSurroundings {
  readonly options: ServerOptions;
  readonly access: Access;
  readonly sources: PolicySources | null;
  readonly acceptors: Acceptors | undefined;
}

export interface StartedServer extends RunningServer {
  /** What it serves now, in the order of the options. */
  readonly served: readonly ServedBundle[];
  /**
   * Reads the files of the bundles again and follows those that are good, without losing a request:
   * on the workers there are, or on others beside them that take over once they are ready. Never
   * rejects; reloads come one after the other.
   * @param name of one application, or of a model of it; left out for all, and for the files that
   * say who may come in.
   * @returns whether all are followed, and what is to be said of them.
   */
  reload(name?: string): Promise<Reloaded>;
}

export interface ServedBundle {
  /** Path of its file. */
  readonly policy: string;
  /** Where that is from; left out where it is from nowhere else. */
  readonly source?: string;
  readonly bundle: Bundle;
  /** Of the file. */
  readonly sha256: string;
  /** What its workers run on, such as "cpu" or "cuda:0, cpu". */
  readonly device: string;
  /** The same by pool, and how it compares with what was measured. */
  readonly hardware: readonly PoolHardware[];
}

/**
 * Starts serving bundles. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_USAGE, RUNTIME_ACCESS, RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_PROCESSES, RUNTIME_MEANS,
 * RUNTIME_DEVICE; where signatures are required, RUNTIME_KEY, RUNTIME_SERIALS, RUNTIME_UNSIGNED,
 * RUNTIME_SIGNATURE, RUNTIME_WRONG_KEY, RUNTIME_EXPIRED, RUNTIME_SCOPE, RUNTIME_ROLLBACK; of
 * sources RUNTIME_SOURCE, RUNTIME_STORE, RUNTIME_DISCOVERY.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const opened: OpenedModels[] = [];
  const { access: who = {}, onNotice } = options;
  const { nowMs } = clockOf(options);
  const access = await Access.open(who, { nowMs, ...(onNotice === undefined ? {} : { onNotice }) });
  let sources: PolicySources | null = null;
  try {
    const trust = await trustOf(options);
    sources = await openedSources(options, trust);
    return await startWith(opened, access, { trust, sources }, options);
  } catch (error) {
    await sources?.close();
    access.close();
    await Promise.all(opened.map((files) => files.close()));
    throw error;
  }
}

async function startWith(
  opened: OpenedModels[],
  access: Access,
  { trust, sources }: { readonly trust: Trust | null; readonly sources: PolicySources | null },
  options: ServerOptions,
): Promise<StartedServer> {
  const { onNotice = () => {}, limits, grpc, adminAt, metricsAt } = options;
  const policies = sources?.paths ?? policiesOf(options.policy);
  const clock = clockOf(options);
  const isOnly = policies.length === 1;
  const hosting = { ...options, ...clock, onNotice, isOnly, trust };
  const hosted = await hostedBundles(policies, opened, hosting);
  const { otlp, telemetry } = await telemetryOf(options);
  const acceptors = await acceptorsOf(options);
  let reloading: Reloading | undefined;
  const served = () => reloading?.hosted ?? hosted;
  const gpus = new ServerGpus(served);
  const opening = openServer(
    hosted.map(({ application }) => application),
    {
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      ...clock,
      ...(acceptors === undefined ? {} : { acceptors, door: innerDoor(acceptors) }),
      version: packageVersion(),
      page: options.page ?? true,
      serverName: options.serverName ?? "stratagem",
      textParameters: options.textParameters ?? false,
      readyNeedsPromises: options.readyNeedsPromises ?? false,
      ...(limits === undefined ? {} : { limits }),
      ...(grpc === undefined ? {} : { grpc }),
      access,
      adminAt,
      metricsAt,
      telemetry,
      logs: options.logs,
      log: options.log,
      otherLines: () => [...gpus.lines(), ...signatureLines(served()), ...(sources?.lines() ?? [])],
      onNotice,
      admin: adminOf(() => expectStarted(reloading), { options, access, sources, acceptors }),
    },
  );
  const server = await opening.catch(async (error) => {
    await acceptors?.end();
    throw error;
  });
  gpus.look();
  otlp?.watch(() => server.metricLines());
  if (!hasLimits()) {
    onNotice("workers have no limit of memory: this system cannot set one", "warn");
  }
  const refresh = async () => {
    const own = await access.refresh();
    return [...new Set([...own, ...((await acceptors?.readAccessFiles()) ?? [])])];
  };
  const following = new Reloading(server, hosted, hosting, { refresh }, sources);
  reloading = following;
  sources?.run(following, server.started);
  void rememberOnceStarted(server.started, hosted, hosting);
  return {
    ...server,
    ...urlsOf(server, options, acceptors),
    get served() {
      return following.hosted.map(({ policy, bundle, sha256, workers }, place) => {
        const { devices, hardware } = workers;
        const source = sources?.nameOf(place) ?? null;
        const from = source === null ? {} : { source };
        return { policy, ...from, bundle, sha256, device: devicesText(devices), hardware };
      });
    },
    reload: (name) => following.reload(name),
    close: async () => {
      following.stop();
      // What it is about to follow is given up by the server.
      const ended = sources?.close();
      await server.close();
      await ended;
      gpus.close();
      access.close();
      await otlp?.close();
      await following.close();
    },
  };
}

/** All of them, or none is left open. @throws what making one throws. */
async function hostedBundles(
  policies: readonly string[],
  opened: OpenedModels[],
  options: HostingOptions,
): Promise<HostedBundle[]> {
  expectFolders(options.models, policies.length);
  const shared = new SharedMeans(options);
  const hosted: HostedBundle[] = [];
  try {
    for (const [place, policy] of policies.entries()) {
      const files = new OpenedModels();
      opened.push(files);
      const loaded = await loadTrusted(policy, options.trust);
      warnOfExpiry(policy, loaded.claims, options.onNotice);
      hosted.push(await hostBundle(loaded, place, shared, files, options));
    }
    expectOwnNames(hosted);
    const pools = hosted.flatMap(({ bundle }) => bundle.cluster.pools);
    expectPools(pools, options);
    expectOptions(pools, options);
  } catch (error) {
    await Promise.all(hosted.map(({ application }) => application.close()));
    throw error;
  }
  const counts = hosted.map(({ bundle }) => methodOf(bundle).workerCount(bundle));
  const count = counts.reduce((sum, one) => sum + one, 0);
  const told = shared.sharedCores(count, options.threads ?? 1);
  if (told !== null) options.onNotice(told);
  return hosted;
}

/** @param started what there is to administer. @throws HttpError 503 before there is. */
function adminOf(started: () => Reloading, around: AdminSurroundings): AdminHooks {
  const { options, access, sources, acceptors } = around;
  const { config = () => ({}), onNotice = () => {} } = options;
  return {
    reload: async (name) => {
      const reloading = started();
      if (name !== undefined && !reloading.has(name)) return null;
      const reloaded = await reloading.reload(name);
      onNotice(reloaded.notice, reloaded.isFollowed ? "info" : "error");
      return reloaded;
    },
    config,
    state: () => stateOf(started(), access, acceptors),
    ...(sources === null ? {} : { policies: () => sources.document() }),
  };
}

/** @throws HttpError 503 for administrators who come while the first workers start. */
function expectStarted(reloading: Reloading | undefined): Reloading {
  if (reloading !== undefined) return reloading;
  throw new HttpError(503, "the server is starting", RETRY_LATER);
}

/** For administrators: what is served, and by whose leave. */
function stateOf(reloading: Reloading, access: Access, acceptors?: Acceptors): object {
  return {
    version: packageVersion(),
    ready: reloading.hosted.every(({ application }) => application.endpoint.isReady),
    applications: reloading.hosted.map((one, place) => ({
      application: one.application.name,
      policy: one.policy,
      method: one.bundle.method,
      ready: one.application.endpoint.isReady,
      device: devicesText(one.workers.devices),
      hardware: hardwareJson(one.workers.hardware),
      workers: methodOf(one.bundle).workerCount(one.bundle),
      models: ownNamesOf(one),
      sha256: one.sha256,
      signature: one.claims === null ? null : signatureJson(one.claims),
      reload: reloading.resultAt(place),
    })),
    access: {
      ...access.state(),
      ...(acceptors === undefined ? {} : { refused: acceptors.refusals(access.metricLines()) }),
    },
  };
}

/** As administrators are told it. */
function signatureJson({ keyId, serial, issuedAt, expiresAt, scope }: Claims): object {
  return { key: keyId, serial, issuedAt, expiresAt, scope };
}

async function trustOf({ trust }: ServerOptions): Promise<Trust | null> {
  // The wall clock and not that of the server, since it may be set right while that runs.
  return trust === undefined ? null : Trust.open({ ...trust, nowEpochMs: () => Date.now() });
}

/** A bundle that this site has followed before goes on after its signature has expired. */
function warnOfExpiry(policy: string, claims: Claims | null, onNotice: Notice): void {
  const untilMs = instantMs(claims?.expiresAt);
  if (untilMs === undefined || untilMs > Date.now()) return;
  onNotice(`${policy}: its signature has expired, and it was followed before: it goes on`, "warn");
}

/** Bundles that were served at the start are those that later ones must not be older than. */
async function rememberOnceStarted(
  started: Promise<void>,
  hosted: readonly HostedBundle[],
  { trust, onNotice }: Pick<HostingOptions, "trust" | "onNotice">,
): Promise<void> {
  const isStarted = await started.then(
    () => true,
    () => false,
  );
  if (!isStarted) return;
  try {
    for (const { claims } of hosted) if (claims !== null) await trust?.accept(claims);
  } catch (error) {
    onNotice(error instanceof Error ? error.message : String(error), "error");
  }
}

/** Takes the address for them; undefined where this process accepts itself. */
async function acceptorsOf(options: ServerOptions): Promise<Acceptors | undefined> {
  const { processes = 1, host = "127.0.0.1", port = 0, access = {}, onNotice = () => {} } = options;
  if (processes === 1) return undefined;
  if (process.platform === "win32") {
    const message = `--processes: expected 1 on Windows, got ${processes}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  const limits = dividedLimits({ ...DEFAULT_LIMITS, ...options.limits }, processes);
  const cores = availableParallelism();
  if (options.meansCheck !== false && processes >= cores) {
    const all = `${processes + 1} processes of the server and its workers share ${cores} cores`;
    onNotice(`--processes ${processes}: ${all}, which is slower than fewer processes`, "warn");
  }
  const { clientRate, clientConcurrency } = access;
  if (clientRate !== undefined || clientConcurrency !== undefined) {
    const each = `each of the ${processes} processes counts on its own`;
    const most = `a client with several connections may ask up to ${processes} times as much`;
    onNotice(`--client-rate and --client-concurrency: ${each}: ${most}`, "warn");
  }
  const { adminAt: admin, metricsAt: metrics, accessLog, otlp } = options;
  const [main] = doorsOf({ http: { host, port }, admin, metrics });
  const base = {
    version: packageVersion(),
    processes,
    limits,
    access,
    needs: [...(main?.needs ?? [])],
    hasAccessLog: accessLog !== undefined,
    textParameters: options.textParameters ?? false,
    otlp,
  };
  return Acceptors.bind({ count: processes, host, port, base, accessLog, onNotice });
}

/** Where processes that accept ask what is no inference. */
function innerDoor({ relayPath }: Acceptors) {
  return { target: { path: relayPath }, isInner: true };
}

function urlsOf(
  { url, adminUrl, metricsUrl }: RunningServer,
  { host = "127.0.0.1", access = {}, adminAt, metricsAt }: ServerOptions,
  acceptors: Acceptors | undefined,
) {
  if (acceptors === undefined) return { url, adminUrl, metricsUrl };
  const scheme = access.tls === undefined ? "http" : "https";
  const own = `${scheme}://${host.includes(":") ? `[${host}]` : host}:${acceptors.port}`;
  return {
    url: own,
    adminUrl: adminAt === undefined ? own : adminUrl,
    metricsUrl: metricsAt === undefined ? own : metricsUrl,
  };
}

/** Nothing of OTLP is loaded where nothing is sent. */
async function telemetryOf(options: ServerOptions) {
  const { accessLog, otlp: settings, onNotice = () => {} } = options;
  const { nowMs, epochOffsetMs } = clockOf(options);
  const clock = { nowMs, epochOffsetMs };
  const otlp =
    settings === undefined
      ? undefined
      : (await import("./server/telemetry/otlp/otlp.ts")).openOtlp({
          settings,
          version: packageVersion(),
          ...clock,
          onNotice,
        });
  const traces = otlp?.traces;
  const isOff = accessLog === undefined && traces === undefined;
  return { otlp, telemetry: isOff ? undefined : new Telemetry({ accessLog, traces, ...clock }) };
}

function clockOf({ nowMs, epochOffsetMs = performance.timeOrigin }: ServerOptions) {
  if (nowMs !== undefined) return { nowMs, epochOffsetMs };
  const ownMs = () => performance.now();
  return { nowMs: ownMs, loopNowMs: ownMs, epochOffsetMs };
}
