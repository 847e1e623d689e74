/** `serve --policy BUNDLE…`: answers inference requests until it is stopped. */
import { join } from "node:path";
import { EXIT_CODES, RuntimeError } from "../base/errors.ts";
import { settleCollection } from "../base/heap-collection.ts";
import { parseProviderOptions } from "../exec/onnx/provider-options.ts";
import type { SourceSettings } from "../features/sources/policy-sources.ts";
import { storeFolder } from "../features/sources/store-folder.ts";
import type { ClusterOptions } from "../host/opened-sources.ts";
import { hardwareJson, hardwareText } from "../host/pool-hardware.ts";
import type { DeviceOptions, WorkerVariable } from "../host/serving-devices.ts";
import { type ServerOptions, type StartedServer, startServer } from "../host/start-server.ts";
import { splitPair, splitPoolDevice } from "../kinds/device-kinds.ts";
import type { GenerateLevel } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { type ElsewhereOptions, parsePoolUrls } from "../remote/elsewhere.ts";
import type { AccessOptions } from "../server/access/access.ts";
import type { ServerLimits } from "../server/applications/limits.ts";
import { LineSink } from "../server/logs/line-sink.ts";
import { Log, type LogState } from "../server/logs/log.ts";
import { readSettingsFile } from "../settings/file.ts";
import { LIMIT_KEYS } from "../settings/limits.ts";
import { type Resolved, resolveSettings } from "../settings/resolve.ts";
import { tokenFileFor } from "../settings/shown-tokens.ts";
import type { SettingValues } from "../settings/table.ts";
import type { CommandResult } from "./command-result.ts";
import { printedSettings } from "./print-settings.ts";

/** Subfolder of the store with the serials of accepted bundles. */
const SERIALS = "serials";

/** Functions of the compiler, if it is installed. */
export interface ServeTools {
  /** Computes levels above the highest one; left out without a solver. */
  readonly generateLevel?: GenerateLevel | undefined;
  /** The gate between two bundles; optional. */
  readonly gateOf?: ServerOptions["gateOf"];
}

interface ServeSurroundings {
  /** Aborting it stops the server: what was accepted is answered first. */
  readonly signal: AbortSignal;
  /** Called once every worker is ready. */
  readonly onReady: (result: CommandResult) => void;
  /** Environment for features and secrets. */
  readonly environment: NodeJS.ProcessEnv;
  /** Registers a callback for each request to reload the bundle's file. */
  readonly onReload: (reload: () => void) => void;
}

/**
 * @param flags flags of the command line. @param config path of a settings file, if any.
 * @throws RuntimeError RUNTIME_USAGE, RUNTIME_CONFIG, RUNTIME_UNREADABLE
 */
export async function servedSettings(
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  config: string | undefined,
): Promise<Resolved> {
  const file = config === undefined ? undefined : await readSettingsFile(config);
  return resolveSettings(flags, environment, file);
}

/** @throws BundleError, RuntimeError */
export async function serveCommand(
  settings: Resolved,
  tools: ServeTools,
  surroundings: ServeSurroundings,
): Promise<void> {
  const options = { ...optionsOf(settings.values, surroundings.environment), ...tools };
  const logs = openLogs(settings.values);
  const config = () => printedSettings(inForce(settings, logs.log)).json;
  try {
    const sources = sourcesOf(settings.values, surroundings);
    const { environment } = surroundings;
    const common = { ...logs.options, environment, config };
    await serveWith({ ...options, ...common, sources }, logs, surroundings);
  } finally {
    await logs.close();
  }
}

async function serveWith(
  options: ServerOptions,
  { log: { notice: onNotice } }: ServeLogs,
  { signal, onReady, onReload }: ServeSurroundings,
): Promise<void> {
  settleCollection();
  const server = await startServer(options);
  onReload(() => {
    server.reopen();
    void server
      .reload()
      .then(({ notice, isFollowed }) => onNotice(notice, isFollowed ? "info" : "error"));
  });
  await Promise.race([server.started, aborted(signal)]);
  onReady(readyResult(server));
  await aborted(signal);
  if (typeof signal.reason === "string") onNotice(signal.reason, "warn");
  onNotice("stopping: answering accepted requests");
  await server.close();
}

/** Returns the settings with the changes that administrators have made since the start. */
function inForce({ values, sources }: Resolved, { level, format }: LogState): Resolved {
  if (level === values.log.level && format === values.log.format) return { values, sources };
  return {
    values: { ...values, log: { level, format } },
    sources: { ...sources, log: "an administrator" },
  };
}

/** @throws RuntimeError RUNTIME_USAGE without a bundle. */
function optionsOf(settings: SettingValues, environment: NodeJS.ProcessEnv): ServerOptions {
  const { policy, models, http, memory, threads } = settings;
  if (policy === null) {
    const ways = "expected --policy, STRATAGEM_POLICY, or policy in the file of --config";
    throw new RuntimeError("RUNTIME_USAGE", `${ways}: the bundle to serve`);
  }
  return {
    policy,
    ...http,
    ...(models === null ? {} : { models }),
    ...(memory === null ? {} : { workerMemoryBytes: memory }),
    ...devicesOf(settings),
    ...clusterOf(settings),
    threads,
    standby: settings.standby,
    acceptOtherHardware: settings.acceptOtherHardware,
    meansCheck: settings.meansCheck,
    cpuFallback: settings.cpuFallback,
    settings,
    serverName: settings.serverName,
    textParameters: settings.textParameters,
    limits: limitsOf(settings),
    ...grpcOf(settings),
    access: accessOf(settings),
    trust: trustOf(settings, environment),
    adminAt: settings.admin ?? undefined,
    metricsAt: settings.metrics ?? undefined,
  };
}

function sourcesOf(
  { labels, poll, store, token, statusUrl }: SettingValues,
  { environment, signal }: ServeSurroundings,
): SourceSettings {
  return {
    storeFolder: storeFolder(store, environment),
    pollMs: poll,
    statusUrl: statusUrl ?? undefined,
    tokenFile: tokenFileFor("sources", token),
    labels: labels ?? undefined,
    environment,
    signal,
  };
}

/** @throws RuntimeError RUNTIME_USAGE if a setting requires another. */
function clusterOf({ cluster, token, frontEnd }: SettingValues): ClusterOptions {
  const tokenFile = tokenFileFor("cluster", token);
  if (cluster !== null) {
    return { cluster: { url: cluster, tokenFile, frontEnd: frontEnd ?? undefined } };
  }
  if (tokenFile === undefined) return {};
  throw new RuntimeError("RUNTIME_USAGE", "expected --cluster beside --token cluster=FILE");
}

function devicesOf(settings: SettingValues): DeviceOptions & ElsewhereOptions {
  const { device, workerEnv, providerOptions } = settings;
  const devices = (device ?? []).map(splitPoolDevice);
  const ofAll = devices.find(({ name }) => name === "")?.value;
  const ofPools = devices.filter(({ name }) => name !== "");
  const workerToken = tokenFileFor("workers", settings.token);
  return {
    ...(ofAll === undefined ? {} : { device: ofAll }),
    poolDevices: Object.fromEntries(ofPools.map(({ name, value }) => [name, value])),
    workerEnvironment: (workerEnv ?? []).map(workerVariable),
    workerUrls: (settings.workers ?? []).flatMap((text) => parsePoolUrls(text) ?? []),
    ...(workerToken === undefined ? {} : { workerToken }),
    ...(providerOptions === null ? {} : { providerOptions: parseProviderOptions(providerOptions) }),
  };
}

/** Parses `NAME=VALUE`, or `pool:NAME=VALUE`. */
function workerVariable(text: string): WorkerVariable {
  const { name: whole, value } = splitPair(text);
  const colon = whole.lastIndexOf(":");
  return { pool: colon < 0 ? null : whole.slice(0, colon), name: whole.slice(colon + 1), value };
}

/** @throws RuntimeError RUNTIME_USAGE if a setting requires another. */
function accessOf(settings: SettingValues): AccessOptions {
  const { tls, tokens, corsOrigins } = settings;
  const { clientRate, clientBurst, clientConcurrency } = settings;
  if (clientBurst !== null && clientRate === null) {
    throw new RuntimeError("RUNTIME_USAGE", "expected limit clientRate beside clientBurst");
  }
  return {
    ...(tls === null ? {} : { tls }),
    ...(tokens === null ? {} : { tokens }),
    ...(corsOrigins === null ? {} : { corsOrigins }),
    ...(clientRate === null ? {} : { clientRate }),
    ...(clientBurst === null ? {} : { clientBurst }),
    ...(clientConcurrency === null ? {} : { clientConcurrency }),
  };
}

/** Returns undefined if no signature is required. */
function trustOf(settings: SettingValues, environment: NodeJS.ProcessEnv) {
  const { requireSignature, labels, store } = settings;
  if (requireSignature === null) return undefined;
  const memory = join(storeFolder(store, environment), SERIALS);
  return { keyFiles: requireSignature, labels: labels ?? {}, memory };
}

function grpcOf({ grpc, grpcMaxMessage, grpcMaxStreams }: SettingValues) {
  if (grpc === null) return {};
  const maxMessage = grpcMaxMessage === null ? {} : { maxMessageBytes: grpcMaxMessage };
  return { grpc: { ...grpc, maxStreams: grpcMaxStreams, ...maxMessage } };
}

function limitsOf(settings: SettingValues): Partial<ServerLimits> {
  const limits = Object.entries(LIMIT_KEYS).map(([limit, key]) => [limit, settings[key]]);
  return Object.fromEntries(limits.filter(([, value]) => value !== null));
}

function readyResult(server: StartedServer): CommandResult {
  const { url, grpcUrl, adminUrl, metricsUrl, served } = server;
  const applications = served.map(({ policy, source, bundle, device, hardware }) => {
    const method = methodOf(bundle);
    const { workers, more, json } = method.describeServing(bundle);
    const name = source ?? policy;
    return {
      text: `serving ${name} at ${url}: ${workers}${hardwareText(hardware)}${more}`,
      json: {
        ...{ policy, ...(source === undefined ? {} : { source }) },
        ...{ workers: method.workerCount(bundle), device },
        ...{ hardware: hardwareJson(hardware), ...json },
      },
    };
  });
  const [first] = applications;
  const grpc = grpcUrl === undefined ? {} : { grpcUrl };
  const more = applications.length > 1 ? { served: applications.map(({ json }) => json) } : {};
  return {
    exitCode: EXIT_CODES.ok,
    text: applications.map(({ text }) => text).join("\n"),
    json: { url, ...grpc, adminUrl, metricsUrl, ...first?.json, ...more },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

interface ServeLogs {
  readonly log: Log;
  readonly options: Pick<ServerOptions, "stderr" | "log" | "onNotice">;
  /** Ends once all is written, or has waited for a second. */
  close(): Promise<void>;
}

function openLogs({ log: state }: SettingValues): ServeLogs {
  const stderr = new LineSink();
  const log = new Log({ sink: stderr, ...state, epochMs: Date.now });
  return { log, options: { log, stderr, onNotice: log.notice }, close: () => stderr.close() };
}
