/** A server from its listening to its close, whatever answers in it. */
import type { Bundle } from "../bundle/schema.ts";
import type { Application } from "./applications/application.ts";
import type { HostedModel } from "./applications/hosted-model.ts";
import { House, type HouseOptions, type Reload } from "./applications/house.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./applications/limits.ts";
import { LoopLag } from "./applications/loop-lag.ts";
import { ByteBudget } from "./bodies/byte-budget.ts";
import { Connections } from "./connections/connections.ts";
import { RequestCounts } from "./connections/request-counts.ts";
import type { GrpcDoor, GrpcOptions } from "./grpc/door.ts";
import { type HttpContext, inferredModels } from "./http/context.ts";
import { closeServer, listen, serverOf, urlOf } from "./http/listening.ts";
import { serverMetricLines } from "./http/server-metrics.ts";
import type { ReadModel } from "./json/json-jobs.ts";
import { JsonThread } from "./json/json-thread.ts";
import { TurnShare } from "./json/turn-share.ts";
import type { MetricLine } from "./metrics/exposition.ts";
import { LoopDelay } from "./metrics/loop-delay.ts";
import { processMetricLines } from "./metrics/process-metrics.ts";
import { LivePage } from "./page/page.ts";
import type { Notice } from "./telemetry/notice.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

export interface OpenOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /**
   * The clock by which timers call, as which `nowMs` is the same where time is real: how far the
   * loop is behind counts against deadlines. Left out, it never is.
   */
  readonly loopNowMs?: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970; for statistics only. */
  readonly epochOffsetMs?: number;
  /** Of the program, as the server tells it. */
  readonly version: string;
  readonly limits?: Partial<ServerLimits>;
  /** Left out for no gRPC beside HTTP. */
  readonly grpc?: GrpcOptions;
  /** Whether browsers get a page of what happens; left out, they do. */
  readonly page?: boolean;
  /** Left out where nothing is noted of requests. */
  readonly telemetry?: Telemetry | undefined;
  /** Logs by what they are, as far as lines of theirs may be dropped. */
  readonly logs?: HouseOptions["logs"];
  readonly onNotice?: Notice | undefined;
  /** Left out where bundles are not from files. */
  readonly reload?: Reload;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Such as `127.0.0.1:8001`; left out where there is no gRPC. */
  readonly grpcUrl?: string;
  /** Kept once the workers of all applications are ready for the first time. */
  readonly started: Promise<void>;
  /** Whether the workers are ready and the server is not closing. */
  isReady(): boolean;
  /**
   * Lets another bundle decide from now on; requests that wait or run stay.
   * @param bundle a validated one.
   * @param application its place among those of the server.
   * @returns null, or why this server cannot follow it, in which case it goes on as before.
   */
  replaceBundle(bundle: Bundle, bundleSha256: string, application?: number): string | null;
  /** All that is counted, as `/metrics` tells it. */
  metricLines(): readonly MetricLine[];
  /** Counts that a file was read again, and whether what it holds is followed. */
  onReloaded(application: number, isFollowed: boolean): void;
  /**
   * Becomes unready, answers what it has accepted, and ends the workers. Further calls wait for the
   * first.
   */
  close(): Promise<void>;
}

/**
 * Serves applications over HTTP. Health and metadata are answered at once; inference once workers
 * are ready. @throws RuntimeError RUNTIME_LISTEN if the address cannot be listened at; whatever
 * starting workers throws, with nothing left open.
 */
export async function openServer(
  applications: readonly Application[],
  options: OpenOptions,
): Promise<RunningServer> {
  const { host, port } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const house = houseOf(applications, options, limits);
  let grpc: GrpcDoor | undefined;
  const context = contextOf(house, limits, options.page ?? true, () => grpc?.metricLines() ?? []);
  const { metricLines } = context;
  const server = serverOf(context, limits);
  await listen(server, host, port);
  try {
    grpc = await grpcDoor(house, options.grpc, limits);
    for (const application of applications) await application.openWorkers();
  } catch (error) {
    await Promise.all(applications.map((application) => application.close()));
    await Promise.all([closeServer(server), grpc?.close()]);
    await context.jsonThread.close();
    throw error;
  }
  house.loopDelay.start();
  let closing: Promise<void> | undefined;
  const close = async () => {
    const emptied = house.drain(limits.drainTimeoutMs);
    grpc?.drain();
    const isEmptied = await emptied;
    const closed = Promise.all([closeServer(server), grpc?.close()]);
    if (!isEmptied) for (const { endpoint } of applications) endpoint.abort();
    await Promise.all(applications.map((application) => application.close()));
    await closed;
    house.loopDelay.stop();
    await context.jsonThread.close();
  };
  return {
    url: urlOf(server, host),
    ...(grpc === undefined ? {} : { grpcUrl: grpc.url }),
    started: Promise.all(applications.map(({ endpoint }) => endpoint.started)).then(() => {}),
    isReady: () => house.isReady,
    replaceBundle: (bundle, bundleSha256, application = 0) => {
      const refusal = applications[application]?.endpoint.replaceBundle(bundle, bundleSha256);
      return refusal === undefined ? "there is no such application" : refusal;
    },
    metricLines,
    onReloaded: (application, isFollowed) => {
      house.reloads.onReload(applications[application]?.name ?? "", isFollowed);
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function houseOf(
  applications: readonly Application[],
  options: OpenOptions,
  { maxBytesInFlight }: ServerLimits,
): House {
  const { nowMs, loopNowMs, version, epochOffsetMs = 0 } = options;
  const { telemetry, logs, onNotice, reload } = options;
  return new House({
    telemetry,
    logs,
    onNotice,
    applications,
    budget: new ByteBudget(maxBytesInFlight),
    lag: new LoopLag(loopNowMs),
    loopDelay: new LoopDelay(),
    version,
    nowMs,
    epochOffsetMs,
    reload,
  });
}

/** Nothing of gRPC is loaded where there is none. */
async function grpcDoor(
  house: House,
  options: GrpcOptions | undefined,
  limits: ServerLimits,
): Promise<GrpcDoor | undefined> {
  if (options === undefined) return undefined;
  const { openGrpc } = await import("./grpc/grpc.ts");
  return openGrpc(house, options, limits);
}

function contextOf(
  house: House,
  limits: ServerLimits,
  hasPage: boolean,
  grpcLines: () => readonly MetricLine[],
): HttpContext {
  const { models, loopDelay, budget } = house;
  const connections = new Connections(limits);
  const counts = new RequestCounts();
  return {
    house,
    pace: limits,
    connections,
    inferred: inferredModels(models),
    counts,
    records: new WeakMap(),
    turnShare: new TurnShare(),
    jsonThread: new JsonThread(models.map(readModelOf)),
    page: hasPage ? new LivePage(house) : undefined,
    metricLines: () => [
      ...house.metricLines(),
      ...serverMetricLines(loopDelay, budget),
      ...connections.metricLines(),
      ...counts.metricLines(),
      ...grpcLines(),
      ...processMetricLines(),
    ],
  };
}

/** Nothing but what can be sent to a thread. */
function readModelOf({ model, limits }: HostedModel): ReadModel {
  const { names, inputs, outputs, variants, answersByRow, outputsAreRows } = model.signature;
  const signature = {
    names,
    inputs: inputs.map(({ name, datatype, rowShape }) => ({ name, datatype, rowShape })),
    outputs: outputs.map(({ name, datatype, rowShape, isInternal = false }) => {
      return { name, datatype, rowShape, isInternal };
    }),
    variants: variants.map(({ name }) => ({ name })),
    answersByRow: answersByRow === true,
    outputsAreRows: outputsAreRows !== false,
  };
  return { signature, maxRows: limits.maxRows, parts: limits.parts };
}
