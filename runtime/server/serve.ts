/** A server from its listening to its close, whatever answers in it. */
import type { Bundle } from "../bundle/schema.ts";
import type { Application } from "./applications/application.ts";
import type { HostedModel } from "./applications/hosted-model.ts";
import { House } from "./applications/house.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "./applications/limits.ts";
import { LoopLag } from "./applications/loop-lag.ts";
import { ByteBudget } from "./bodies/byte-budget.ts";
import { Connections } from "./connections/connections.ts";
import { RequestCounts } from "./connections/request-counts.ts";
import type { GrpcDoor, GrpcOptions } from "./grpc/door.ts";
import { type HttpContext, inferredModels } from "./http/context.ts";
import { closeServer, listen, serverOf, urlOf } from "./http/listening.ts";
import { serverMetricsText } from "./http/server-metrics.ts";
import type { ReadModel } from "./json/json-jobs.ts";
import { JsonThread } from "./json/json-thread.ts";
import { TurnShare } from "./json/turn-share.ts";
import { LoopDelay } from "./metrics/loop-delay.ts";

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
  const context = contextOf(house, limits, () => grpc?.metricLines() ?? []);
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
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function houseOf(
  applications: readonly Application[],
  { nowMs, loopNowMs, version, epochOffsetMs = 0 }: OpenOptions,
  { maxBytesInFlight }: ServerLimits,
): House {
  return new House({
    applications,
    budget: new ByteBudget(maxBytesInFlight),
    lag: new LoopLag(loopNowMs),
    loopDelay: new LoopDelay(),
    version,
    nowMs,
    epochOffsetMs,
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
  grpcLines: () => readonly string[],
): HttpContext {
  const { applications, models, loopDelay, budget } = house;
  const connections = new Connections(limits);
  const counts = new RequestCounts();
  return {
    house,
    pace: limits,
    connections,
    inferred: inferredModels(models),
    counts,
    turnShare: new TurnShare(),
    jsonThread: new JsonThread(models.map(readModelOf)),
    metricsText: () =>
      applications.map(({ endpoint }) => endpoint.metricsText()).join("") +
      serverMetricsText(loopDelay, budget) +
      connections.metricsText() +
      counts.text() +
      grpcLines()
        .map((line) => `${line}\n`)
        .join(""),
  };
}

/** Nothing but what can be sent to a thread. */
function readModelOf({ model, limits }: HostedModel): ReadModel {
  const { names, inputs, outputs, variants, answersByRow } = model.signature;
  const signature = {
    names,
    inputs: inputs.map(({ name, datatype, rowShape }) => ({ name, datatype, rowShape })),
    outputs: outputs.map(({ name, datatype, rowShape, isInternal = false }) => {
      return { name, datatype, rowShape, isInternal };
    }),
    variants: variants.map(({ name }) => ({ name })),
    answersByRow: answersByRow === true,
  };
  return { signature, maxRows: limits.maxRows, parts: limits.parts };
}
