/** Opens a server of bundles in this process: its doors, and its workers beside it. */
import { dirname } from "node:path";
import type { Bundle } from "./bundle/schema.ts";
import { RuntimeError } from "./errors.ts";
import type { SettledDevice } from "./exec/worker-pool.ts";
import { hasLimits } from "./exec/worker-spawn.ts";
import { loadBundle } from "./load-bundle.ts";
import type { GenerateLevel } from "./methods/method.ts";
import { methodOf } from "./methods/registry.ts";
import { OpenedModels } from "./opened-models.ts";
import { servedModels } from "./served-models.ts";
import type { Application } from "./server/applications/application.ts";
import type { ServerLimits } from "./server/applications/limits.ts";
import type { GrpcOptions } from "./server/grpc/door.ts";
import { openServer, type RunningServer } from "./server/serve.ts";
import type { LineSink } from "./server/telemetry/line-sink.ts";
import type { Notice } from "./server/telemetry/notice.ts";
import type { OtlpSettings } from "./server/telemetry/otlp/otlp-settings.ts";
import { Telemetry } from "./server/telemetry/telemetry.ts";
import { Workers, type WorkersOptions } from "./server-workers.ts";
import { packageVersion } from "./version.ts";

export interface ServerOptions extends WorkersOptions {
  /** Paths of the bundles, one for each application, or that of the only one. */
  readonly policy: string | readonly string[];
  /** Folder of the model files; left out for each bundle's own. */
  readonly models?: string | undefined;
  /** Where to listen; left out for 127.0.0.1. */
  readonly host?: string;
  /** Left out, or 0, for any that is free. */
  readonly port?: number;
  readonly limits?: Partial<ServerLimits>;
  /** Left out for no gRPC beside HTTP. */
  readonly grpc?: GrpcOptions;
  /** Whether browsers get a live page at `GET /`; left out, they do. */
  readonly page?: boolean;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice?: Notice;
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
  /** Computes a level above the highest one; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

export interface StartedServer extends RunningServer {
  /** What it was started with, in the order of the options. */
  readonly served: readonly ServedBundle[];
  /**
   * Reads the files of the bundles again and follows those that are good and for this server. Never
   * rejects.
   * @returns whether all are followed, and what is to be said of them.
   */
  reload(): Promise<{ readonly isFollowed: boolean; readonly notice: string }>;
}

export interface ServedBundle {
  /** Path of its file. */
  readonly policy: string;
  readonly bundle: Bundle;
  /** What its workers run on. */
  readonly device: SettledDevice;
}

/**
 * Starts serving bundles. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_MEANS, RUNTIME_DEVICE.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const files = new OpenedModels();
  try {
    return await startWith(files, options);
  } catch (error) {
    await files.close();
    throw error;
  }
}

interface Hosted {
  readonly policy: string;
  readonly bundle: Bundle;
  readonly workers: Workers;
  readonly application: Application;
}

async function startWith(files: OpenedModels, options: ServerOptions): Promise<StartedServer> {
  const { policy, onNotice = () => {}, limits, grpc } = options;
  const policies = typeof policy === "string" ? [policy] : policy;
  const hosted: Hosted[] = [];
  for (const one of policies) {
    hosted.push(await hostedBundle(one, files, { ...options, isOnly: policies.length === 1 }));
  }
  expectOwnNames(hosted);
  const { otlp, telemetry } = await telemetryOf(options);
  const server: RunningServer = await openServer(
    hosted.map(({ application }) => application),
    {
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      ...clockOf(options),
      version: packageVersion(),
      reload: async (index) => {
        const done = await reloadOne(server, policies[index] ?? "", index);
        onNotice(done.notice);
        return done;
      },
      page: options.page ?? true,
      ...(limits === undefined ? {} : { limits }),
      ...(grpc === undefined ? {} : { grpc }),
      telemetry,
      logs: options.logs,
      onNotice,
    },
  );
  otlp?.watch(() => server.metricLines());
  if (!hasLimits()) {
    onNotice("workers have no limit of memory: this system cannot set one", "warn");
  }
  return {
    ...server,
    served: hosted.map(({ policy, bundle, workers }) => ({
      policy,
      bundle,
      device: workers.device,
    })),
    reload: () => reloadAll(server, policies, files),
    close: async () => {
      await server.close();
      await otlp?.close();
      await files.close();
    },
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

async function hostedBundle(
  policy: string,
  files: OpenedModels,
  options: ServerOptions & { readonly isOnly: boolean },
): Promise<Hosted> {
  const { generateLevel, limits, isOnly, onNotice = () => {} } = options;
  const { bundle, sha256 } = await loadBundle(policy);
  const tell: Notice = (message, severity) =>
    onNotice(isOnly ? message : `${bundle.application}: ${message}`, severity);
  const models = await servedModels(bundle, options.models ?? dirname(policy), files);
  const method = methodOf(bundle);
  const told = { ...options, policy, onNotice: tell };
  const workers = new Workers(told, models, method.workerCount(bundle));
  const application = await method.host(bundle, {
    bundleSha256: sha256,
    nowMs: clockOf(options).nowMs,
    ...(limits === undefined ? {} : { limits }),
    onWorkerLost: (worker, reason) => tell(`worker ${worker} was lost: ${reason}`, "warn"),
    onNotice: tell,
    axisNames: models.map((model) => model.axisNames),
    workers,
    generateLevel,
  });
  return { policy, bundle, workers, application };
}

/** @throws RuntimeError RUNTIME_MODEL if two bundles have models of the same name. */
function expectOwnNames(hosted: readonly Hosted[]): void {
  const policyByName = new Map<string, string>();
  for (const { policy, application } of hosted) {
    for (const name of application.endpoint.models.flatMap(({ signature }) => signature.names)) {
      const other = policyByName.get(name);
      if (other !== undefined && other !== policy) {
        const message = `expected models of other names than those of ${other}, got "${name}"`;
        throw new RuntimeError("RUNTIME_MODEL", `${policy}: ${message}`);
      }
      policyByName.set(name, policy);
    }
  }
}

async function reloadAll(server: RunningServer, policies: readonly string[], files: OpenedModels) {
  const done = [];
  for (const [index, policy] of policies.entries()) {
    const one = await reloadOne(server, policy, index);
    server.onReloaded(index, one.isFollowed);
    done.push(one);
  }
  const notices = done.map(({ notice }) => notice).join("; ");
  const isFollowed = done.every((one) => one.isFollowed);
  return { isFollowed, notice: notices + (await changesOf(files)) };
}

async function reloadOne(server: RunningServer, path: string, application: number) {
  try {
    const { bundle, sha256 } = await loadBundle(path);
    const refusal = server.replaceBundle(bundle, sha256, application);
    const notice =
      refusal === null
        ? `${path}: serving it as it is now, SHA-256 ${sha256}`
        : `${path}: not followed, the bundle before it goes on deciding: ${refusal}`;
    return { isFollowed: refusal === null, notice };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const notice = `not followed, the bundle before it goes on deciding: ${reason}`;
    return { isFollowed: false, notice };
  }
}

async function changesOf(opened: OpenedModels): Promise<string> {
  const changed = await opened.changed();
  if (changed.length === 0) return "";
  const names = changed.slice(0, MAX_TOLD_FILES).join(", ");
  const rest = changed.length - MAX_TOLD_FILES;
  const files = `${names}${rest > 0 ? ` and ${rest} more` : ""}`;
  return `; models stay those of the start, but these files are others now, or gone: ${files}`;
}

const MAX_TOLD_FILES = 5;
