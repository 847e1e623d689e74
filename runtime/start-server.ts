/** Opens a server of bundles in this process: its doors, and its workers beside it. */
import { availableParallelism } from "node:os";
import type { Bundle } from "./bundle/schema.ts";
import { Canaries, expectCanaries } from "./canaries.ts";
import type { AskedCanary, CanaryRules } from "./canary-run.ts";
import { type FollowCore, followedByAll } from "./core-follower.ts";
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
import type { DecisionLogSettings } from "./open-decision-log.ts";
import { OpenedModels } from "./opened-models.ts";
import { openedSources, policiesOf } from "./opened-sources.ts";
import { hardwareJson, type PoolHardware } from "./pool-hardware.ts";
import { Reloading } from "./reloading.ts";
import { Access, type AccessOptions } from "./server/access/access.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./server/applications/limits.ts";
import { HttpError, RETRY_LATER } from "./server/connections/http-error.ts";
import type { DecisionLog } from "./server/decisions/decision-log.ts";
import type { GrpcOptions } from "./server/grpc/door.ts";
import type { AdminHooks, CanaryHooks, Reloaded } from "./server/http/admin-hooks.ts";
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
import type { ShadowPolicies } from "./shadow-policies.ts";
import { SharedMeans } from "./shared-means.ts";
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
  /** Paths of bundles that look on, one for an application at most; left out for none. */
  readonly shadow?: readonly string[] | undefined;
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
  /** Where decisions are logged, and how many; left out for nowhere. */
  readonly decisionLog?: DecisionLogSettings | undefined;
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
  /** Bundles that answer a share of the requests until they are taken; left out for none. */
  readonly canary?: CanaryOptions;
}

export interface CanaryOptions extends Partial<CanaryRules> {
  readonly asked: readonly AskedCanary[];
}

/** What a server has beside its bundles, opened before them. */
interface Beside {
  readonly decisions: DecisionLog | undefined;
  readonly trust: Trust | null;
  readonly sources: PolicySources | null;
}

interface AdminSurroundings {
  readonly options: ServerOptions;
  readonly access: Access;
  readonly sources: PolicySources | null;
  readonly acceptors: Acceptors | undefined;
  readonly shadows: ShadowPolicies | undefined;
  readonly canaries: () => Canaries | undefined;
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
  expectCanaries(options.canary?.asked ?? [], options.processes ?? 1);
  const opened: OpenedModels[] = [];
  const { access: who = {}, onNotice } = options;
  const { nowMs } = clockOf(options);
  const access = await Access.open(who, { nowMs, ...(onNotice === undefined ? {} : { onNotice }) });
  let decisions: DecisionLog | undefined;
  let sources: PolicySources | null = null;
  try {
    decisions = await decisionsOf(options);
    const trust = await trustOf(options);
    sources = await openedSources(options, trust);
    return await startWith(opened, access, { decisions, trust, sources }, options);
  } catch (error) {
    await sources?.close();
    access.close();
    await decisions?.close();
    await Promise.all(opened.map((files) => files.close()));
    throw error;
  }
}

async function startWith(
  opened: OpenedModels[],
  access: Access,
  { decisions, trust, sources }: Beside,
  options: ServerOptions,
): Promise<StartedServer> {
  const { onNotice = () => {}, limits, grpc, adminAt, metricsAt } = options;
  const policies = sources?.paths ?? policiesOf(options.policy);
  const clock = clockOf(options);
  const isOnly = policies.length === 1;
  const shadows = await shadowsOf(options);
  const follow = followersOf(decisions, shadows);
  const hosting = { ...options, ...clock, onNotice, isOnly, trust, follow };
  const hosted = await hostedBundles(policies, opened, hosting);
  shadows?.watch(hosted);
  const { otlp, telemetry } = await telemetryOf(options, decisions);
  const acceptors = await acceptorsOf(options, decisions);
  let reloading: Reloading | undefined;
  let canaries: Canaries | undefined;
  const gpus = new ServerGpus(() => reloading?.hosted ?? hosted);
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
      otherLines: () => [
        ...gpus.lines(),
        ...(shadows?.lines() ?? []),
        ...(canaries?.lines() ?? []),
        ...(sources?.lines() ?? []),
      ],
      onNotice,
      admin: adminOf(() => expectStarted(reloading), {
        ...{ options, access, sources, acceptors, shadows },
        canaries: () => canaries,
      }),
    },
  );
  const server = await opening.catch(async (error) => {
    shadows?.close();
    await acceptors?.end();
    throw error;
  });
  gpus.look();
  otlp?.watch(() => server.metricLines());
  tellLimits(onNotice);
  const refresh = () => refreshed(access, acceptors);
  const following = new Reloading(server, hosted, hosting, { refresh }, sources);
  reloading = following;
  sources?.run(following, server.started);
  void rememberOnceStarted(server.started, hosted, hosting);
  canaries = startedCanaries(server, following, hosting, options.canary);
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
    reload: (name) => reloadedWith(shadows, following.reload(name)),
    close: async () => {
      canaries?.stop();
      following.stop();
      // What it is about to follow is given up by the server.
      const ended = sources?.close();
      await server.close();
      shadows?.close();
      await ended;
      gpus.close();
      access.close();
      await otlp?.close();
      await decisions?.close();
      await canaries?.close();
      await following.close();
    },
  };
}

function tellLimits(onNotice: Notice): void {
  if (hasLimits()) return;
  onNotice("workers have no limit of memory: this system cannot set one", "warn");
}

/** Who may come in, here and where others accept. @returns what is wrong with the files. */
async function refreshed(access: Access, acceptors: Acceptors | undefined): Promise<string[]> {
  const own = await access.refresh();
  return [...new Set([...own, ...((await acceptors?.readAccessFiles()) ?? [])])];
}

/** Everybody who is told what cores are told and what they say. */
function followersOf(
  decisions: DecisionLog | undefined,
  shadows: ShadowPolicies | undefined,
): FollowCore | undefined {
  return followedByAll([
    decisions === undefined ? undefined : ({ bundle }) => decisions.follow(bundle),
    shadows === undefined ? undefined : (loaded) => shadows.follow(loaded),
  ]);
}

/** Nothing of it is loaded where none looks on. @throws BundleError, RuntimeError */
async function shadowsOf(options: ServerOptions): Promise<ShadowPolicies | undefined> {
  const { shadow = [], onNotice = () => {} } = options;
  if (shadow.length === 0) return undefined;
  const { ShadowPolicies: Policies } = await import("./shadow-policies.ts");
  const { nowMs, epochOffsetMs } = clockOf(options);
  return Policies.open(shadow, { nowMs, epochOffsetMs, onNotice });
}

function tellReloaded(reloaded: Reloaded, onNotice: Notice): Reloaded {
  onNotice(reloaded.notice, reloaded.isFollowed ? "info" : "error");
  return reloaded;
}

/** Bundles that look on are read again after the others. */
async function reloadedWith(
  shadows: ShadowPolicies | undefined,
  others: Promise<Reloaded>,
): Promise<Reloaded> {
  const reloaded = await others;
  if (shadows === undefined) return reloaded;
  return { ...reloaded, notice: reloaded.notice + (await shadows.reload()) };
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

function canaryHooks(canaries: () => Canaries | undefined): CanaryHooks {
  return {
    told: () => canaries()?.told() ?? [],
    act: async (action, name) => (await canaries()?.act(action, name)) ?? null,
  };
}

/** They start when what is served is ready. */
function startedCanaries(
  { trials, started }: RunningServer,
  reloading: Reloading,
  options: HostingOptions,
  { asked = [], ...rules }: Partial<CanaryOptions> = {},
): Canaries {
  const canaries = new Canaries(asked, {
    ...{ timeMs: 600_000, tolerance: 0.005, ...rules },
    trials,
    options,
    hosted: () => reloading.hosted,
    adopt: (place, next, take) => reloading.adopt(place, next, take),
    load: (path) => loadTrusted(path, options.trust),
  });
  void started.then(() => canaries.start());
  return canaries;
}

/** @param started what there is to administer. @throws HttpError 503 before there is. */
function adminOf(started: () => Reloading, around: AdminSurroundings): AdminHooks {
  const { options, access, sources, acceptors, shadows, canaries } = around;
  const { config = () => ({}), onNotice = () => {} } = options;
  return {
    reload: async (name) => {
      const reloading = started();
      if (name !== undefined && !reloading.has(name)) return null;
      return tellReloaded(await reloadedWith(shadows, reloading.reload(name)), onNotice);
    },
    config,
    state: () => stateOf(started(), access, acceptors),
    canary: canaryHooks(canaries),
    ...(shadows === undefined ? {} : shadows.adminHooks),
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
async function acceptorsOf(
  options: ServerOptions,
  decisions: DecisionLog | undefined,
): Promise<Acceptors | undefined> {
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
    hasDecisionLog: decisions !== undefined,
    textParameters: options.textParameters ?? false,
    otlp,
  };
  return Acceptors.bind({ count: processes, host, port, base, accessLog, decisions, onNotice });
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
async function telemetryOf(options: ServerOptions, decisions: DecisionLog | undefined) {
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
  const isOff = accessLog === undefined && traces === undefined && decisions === undefined;
  if (isOff) return { otlp };
  return { otlp, telemetry: new Telemetry({ accessLog, traces, decisions, ...clock }) };
}

/** Nothing of it is loaded where nothing is logged. @throws RuntimeError RUNTIME_USAGE. */
async function decisionsOf(options: ServerOptions): Promise<DecisionLog | undefined> {
  const { decisionLog, onNotice = () => {} } = options;
  if (decisionLog === undefined) return undefined;
  const { openDecisionLog } = await import("./open-decision-log.ts");
  const { nowMs, epochOffsetMs } = clockOf(options);
  return openDecisionLog(decisionLog, { nowMs, epochOffsetMs, onNotice });
}

function clockOf({ nowMs, epochOffsetMs = performance.timeOrigin }: ServerOptions) {
  if (nowMs !== undefined) return { nowMs, epochOffsetMs };
  const ownMs = () => performance.now();
  return { nowMs: ownMs, loopNowMs: ownMs, epochOffsetMs };
}
