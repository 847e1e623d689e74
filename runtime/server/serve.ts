/** A server from its listening to its close, whatever answers in it. */
import { setTimeout as pause } from "node:timers/promises";
import type { MetricLine } from "../base/exposition.ts";
import type { Notice } from "../base/notice.ts";
import type { Bundle } from "../bundle/schema.ts";
import { Access, exposureOf } from "./access/access.ts";
import type { Application } from "./applications/application.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./applications/limits.ts";
import { ServerState } from "./applications/server-state.ts";
import { type Replaced, Succession } from "./applications/succession.ts";
import type { Trial } from "./applications/trial.ts";
import { ByteBudget, HEADER_BYTES } from "./bodies/body-memory.ts";
import { NotesAt } from "./connections/connection.ts";
import { Connections, RequestCounts } from "./connections/connections.ts";
import type { Descriptors } from "./connections/descriptors.ts";
import type { OpenFeature } from "./feature.ts";
import type { GrpcListener, GrpcOptions } from "./grpc/listener.ts";
import type { AdminHooks } from "./http/admin-hooks.ts";
import { type HttpContext, inferredModels } from "./http/context.ts";
import { MAX_LOOP_BYTES, TurnShare } from "./http/infer.ts";
import { type ListenAddress, listenersOf } from "./http/listener.ts";
import { openListeners } from "./http/open-listeners.ts";
import { Routes } from "./http/route.ts";
import { JsonThread } from "./json/json-thread.ts";
import { LoopDelay, LoopLag } from "./metrics/loop-delay.ts";
import { processMetricLines } from "./metrics/process-metrics.ts";

const NO_APPLICATION = "no such application";

export interface OpenOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  /**
   * The clock by which timers call, as which `nowMs` is the same where time is real: how far the
   * loop is behind counts against deadlines. Left out, it never is.
   */
  readonly loopNowMs?: () => number;
  /** Difference between milliseconds since 1970 and `nowMs`; for statistics only. */
  readonly epochOffsetMs?: () => number;
  /** Name of the server in its metadata. Default: "stratagem". */
  readonly serverName?: string;
  /** Name of this front end in its cluster. Default: no cluster. */
  readonly frontEnd?: string | undefined;
  /** Version of the program in the server metadata. */
  readonly version: string;
  /** Whether all parameters of answers are strings. Default: accuracies are numbers. */
  readonly textParameters?: boolean;
  readonly limits?: Partial<ServerLimits>;
  /** Budget of descriptors. Default: unlimited. */
  readonly descriptors?: Descriptors;
  /** Left out for no gRPC beside HTTP. */
  readonly grpc?: GrpcOptions;
  /** Access control, which the caller closes. Default: all clients are admitted. */
  readonly access?: Access;
  /** Address that serves administrators only. Default: the common listener. */
  readonly adminAt?: ListenAddress | undefined;
  /** The same of metrics. */
  readonly metricsAt?: ListenAddress | undefined;
  /** Default: no admin operations. */
  readonly admin?: AdminHooks;
  /** Additional features, which the caller closes. */
  readonly features?: readonly OpenFeature[];
  /** Called with messages for operators, such as about a listener that is open to all. */
  readonly onNotice?: Notice;
  /** Additional metrics at `/metrics`. */
  readonly otherLines?: () => readonly MetricLine[];
}

export interface RunningServer {
  /** Base URL, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Address such as `127.0.0.1:8001`; undefined without gRPC. */
  readonly grpcUrl?: string;
  /**
   * Base URL of the admin API and metrics; the same as `url` unless they have their own listener.
   */
  readonly adminUrl: string;
  readonly metricsUrl: string;
  /** Kept once the workers of all applications are ready for the first time. */
  readonly started: Promise<void>;
  /** Whether the workers are ready and the server is not closing. */
  isReady(): boolean;
  /**
   * Replaces the bundle on the same workers; waiting and running requests stay.
   * @param bundle a validated one.
   * @param application its index in the server.
   * @returns null, or why it needs workers of its own, in which case nothing has changed.
   */
  replaceBundle(bundle: Bundle, bundleSha256: string, application?: number): string | null;
  /** All metrics of `/metrics`. */
  metricLines(): readonly MetricLine[];
  /** Counts that a file was read again, and whether what it holds is followed. */
  onReloaded(application: string, isFollowed: boolean): void;
  /**
   * Starts the workers of another application beside those of the current one, and replaces it once
   * they are ready; the previous one answers its open requests.
   * @param place index of the previous one. @param failed rejects if workers turn out to be
   * unusable.
   * @throws errors of starting workers and of `failed`, or Error if they do not become ready;
   * nothing has changed then.
   */
  replaceApplication(next: Application, place?: number, failed?: Promise<never>): Promise<Replaced>;
  /** Applications on trial beside the served ones. */
  readonly trials: ServerTrials;
  /**
   * Becomes unready, answers all that was sent to it, and ends the workers. Further calls wait for
   * the first.
   */
  close(): Promise<void>;
}

export interface ServerTrials {
  /** The application that is served at a place. */
  stableAt(place: number): Application | undefined;
  /**
   * Starts the workers of one beside it. @param failed as of `replaceApplication`.
   * @throws what that throws.
   */
  open(candidate: Application, failed: Promise<never>): Promise<void>;
  /** Routes a share, 0..1, of a served application's requests to the candidate. */
  begin(stable: Application, candidate: Application, share: number): Trial;
  /**
   * Routes all requests to the candidate. @throws Error if the stable application is no longer
   * served.
   */
  promote(trial: Trial): Replaced;
  /** Gives one up. @returns kept when it has answered what it had, and its workers are ended. */
  end(candidate: Application): Promise<void>;
}

/**
 * Serves applications over HTTP. Health and metadata are answered at once; inference once workers
 * are ready.
 * @throws RuntimeError RUNTIME_LISTEN if the address cannot be used, and errors of starting
 * workers; everything is closed then.
 */
export async function openServer(
  applications: readonly Application[],
  options: OpenOptions,
): Promise<RunningServer> {
  const { host, port, grpc: grpcAt, adminAt, metricsAt, onNotice = () => {} } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const state = serverStateOf(applications, options, limits);
  const inferred = inferredModels(state.models);
  let grpc: GrpcListener | undefined;
  const context = contextOf(state, limits, inferred, () => grpc?.metricLines() ?? [], options);
  const { metricLines } = context;
  const succession = new Succession(state, limits.drainTimeoutMs, () => {
    inferred.clear();
    for (const [path, hosted] of inferredModels(state.models)) inferred.set(path, hosted);
  });
  const addresses = { http: { host, port }, admin: adminAt, metrics: metricsAt };
  const listeners = await openListeners(context, limits, listenersOf(addresses)).catch(
    async (error) => {
      await Promise.all(applications.map((application) => application.close()));
      throw error;
    },
  );
  for (const warning of new Set(
    [host, grpcAt?.host, adminAt?.host, metricsAt?.host].map((one) => {
      return one === undefined ? undefined : exposureOf(one, state.access);
    }),
  )) {
    if (warning !== undefined) onNotice(warning, "warn");
  }
  try {
    grpc = await grpcListener(context, options, limits);
    const warmed = warm(context);
    for (const application of applications) await application.openWorkers();
    await warmed;
    state.isWarm = true;
  } catch (error) {
    await Promise.all(applications.map((application) => application.close()));
    await Promise.all([listeners.close(listeners.stop()), grpc?.close(grpc.stop())]);
    await context.jsonThread.close();
    throw error;
  }
  state.loopDelay.start();
  let closing: Promise<void> | undefined;
  const close = async () => {
    state.stop();
    grpc?.announceStop();
    if (limits.drainDelayMs > 0) await pause(limits.drainDelayMs);
    const stopped = listeners.stop();
    const grpcStopped = grpc?.stop() ?? Promise.resolve();
    const closed = Promise.all([stopped, grpcStopped]).then(() => {});
    const succeeded = succession.close();
    const isEmptied = await state.drain(closed, limits.drainTimeoutMs);
    if (!isEmptied) for (const { endpoint } of state.running) endpoint.abort();
    await Promise.all(state.running.map((application) => application.close()));
    await Promise.all([listeners.close(stopped), grpc?.close(grpcStopped)]);
    await succeeded;
    state.loopDelay.stop();
    await context.jsonThread.close();
  };
  return {
    ...listeners.urls,
    ...(grpc === undefined ? {} : { grpcUrl: grpc.url }),
    started: Promise.all(applications.map(({ endpoint }) => endpoint.started)).then(() => {}),
    isReady: () => state.isReady,
    replaceBundle: (bundle, bundleSha256, application = 0) => {
      const refusal = state.applications[application]?.endpoint.replaceBundle(bundle, bundleSha256);
      return refusal === undefined ? NO_APPLICATION : refusal;
    },
    replaceApplication: async (next, place = 0, failed = new Promise(() => {})) => {
      const before = state.applications[place];
      if (before === undefined) throw new RangeError(NO_APPLICATION);
      return succession.replace(before, next, failed);
    },
    trials: trialsOf(state, succession),
    metricLines,
    onReloaded: (application, isFollowed) => state.reloads.onReload(application, isFollowed),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Prepares the thread for long JSON where a request may be long, beside workers that start. */
async function warm({ state, jsonThread }: HttpContext): Promise<void> {
  const shortest = HEADER_BYTES + MAX_LOOP_BYTES;
  if (state.models.every(({ limits }) => limits.json.bytes <= shortest)) return;
  await jsonThread.warm().catch((error: Error) => state.onNotice(error.message, "warn"));
}

function trialsOf(state: ServerState, succession: Succession): ServerTrials {
  return {
    stableAt: (place) => state.applications[place],
    open: (candidate, failed) => succession.open(candidate, failed),
    begin: (stable, candidate, share) => succession.begin(stable, candidate, share),
    promote: (trial) => succession.promote(trial),
    end: (candidate) => succession.end(candidate),
  };
}

function serverStateOf(
  applications: readonly Application[],
  options: OpenOptions,
  { maxBytesInFlight }: ServerLimits,
): ServerState {
  const { nowMs, loopNowMs, version, epochOffsetMs = () => 0 } = options;
  const { onNotice, admin, access = Access.off(nowMs) } = options;
  const { serverName = "stratagem", textParameters = false } = options;
  const { frontEnd, features = [] } = options;
  return new ServerState({
    onNotice,
    applications,
    access,
    budget: new ByteBudget(maxBytesInFlight),
    lag: new LoopLag(loopNowMs),
    loopDelay: new LoopDelay(),
    serverName,
    frontEnd,
    version,
    hasTextParameters: textParameters,
    nowMs,
    epochOffsetMs,
    features,
    reload: admin?.reload,
  });
}

/** Loads gRPC only where it is enabled. */
async function grpcListener(
  context: HttpContext,
  { grpc, adminAt, features = [] }: OpenOptions,
  limits: ServerLimits,
): Promise<GrpcListener | undefined> {
  if (grpc === undefined) return undefined;
  const { openGrpc } = await import("./grpc/grpc.ts");
  const rpcs = await Promise.all(features.map((feature) => feature.rpcs?.() ?? []));
  const own = { ...grpc, servesAdmin: adminAt === undefined, rpcs: rpcs.flat() };
  return openGrpc(context.state, own, limits, context);
}

function contextOf(
  state: ServerState,
  limits: ServerLimits,
  inferred: HttpContext["inferred"],
  grpcLines: () => readonly MetricLine[],
  { admin, features = [], otherLines, descriptors }: OpenOptions,
): HttpContext {
  const { loopDelay, budget } = state;
  const connections = new Connections(limits, descriptors);
  const counts = new RequestCounts();
  const metricLines = () => [
    ...state.metricLines(),
    ...loopDelay.lines(),
    ...budget.metricLines(),
    ...connections.metricLines(),
    ...counts.metricLines(),
    ...grpcLines(),
    ...processMetricLines(),
    ...(otherLines?.() ?? []),
  ];
  return {
    state,
    pace: limits,
    connections,
    inferred,
    counts,
    records: new NotesAt(),
    clients: new NotesAt(),
    admin,
    turnShare: new TurnShare(),
    jsonThread: new JsonThread(),
    served: new Set(),
    routes: new Routes(features.flatMap(({ routes = [] }) => routes)),
    metricLines,
  };
}
