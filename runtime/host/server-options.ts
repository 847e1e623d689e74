/** Options and state of a server of bundles. */
import type { Notice } from "../base/notice.ts";
import type { Bundle } from "../bundle/schema.ts";
import type { TrustOptions } from "../bundles/trust/trust.ts";
import type { FeatureContext, ServerFeature } from "../features/server-feature.ts";
import type { SourceSettings } from "../features/sources/policy-sources.ts";
import type { GenerateLevel } from "../methods/method.ts";
import type { AccessOptions } from "../server/access/access.ts";
import type { ServerLimits } from "../server/applications/limits.ts";
import type { GrpcOptions } from "../server/grpc/listener.ts";
import type { Reloaded } from "../server/http/admin-hooks.ts";
import type { ListenAddress } from "../server/http/listener.ts";
import type { LineSink } from "../server/logs/line-sink.ts";
import type { LogState } from "../server/logs/log.ts";
import { wallOffset } from "../server/logs/time-text.ts";
import type { RunningServer } from "../server/serve.ts";
import type { SettingValues } from "../settings/table.ts";
import type { ClusterOptions } from "./opened-sources.ts";
import type { PoolHardware } from "./pool-hardware.ts";
import type { WorkersOptions } from "./server-workers.ts";

export interface ServerOptions extends WorkersOptions, ClusterOptions {
  /** Paths or URLs of the bundles, one for each application, or that of the only one. */
  readonly policy: string | readonly string[];
  /** Sources of bundles that are not files, and how they are followed; by default all are files. */
  readonly sources?: SourceSettings | undefined;
  /**
   * Folder of the model files, or one for each bundle, in their order; by default each bundle's
   * own.
   */
  readonly models?: string | readonly string[] | undefined;
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Port to listen on; default 0, any free port. */
  readonly port?: number;
  readonly limits?: Partial<ServerLimits>;
  /** gRPC beside HTTP; default none. */
  readonly grpc?: GrpcOptions;
  /** Values of features' settings, by key; others have their defaults. */
  readonly settings?: Partial<SettingValues> | undefined;
  /** Features of the server; default all. */
  readonly features?: readonly ServerFeature[] | undefined;
  /** Name that clients see; default "stratagem". */
  readonly serverName?: string;
  /** Whether parameters of answers are all texts; by default accuracies are numbers. */
  readonly textParameters?: boolean;
  /** Access control; by default all clients have access, over unencrypted connections. */
  readonly access?: AccessOptions;
  /** Address for administration only; default the main one. */
  readonly adminAt?: ListenAddress | undefined;
  /** Address for metrics only; default the main one. */
  readonly metricsAt?: ListenAddress | undefined;
  /** Returns the settings in force, for administrators. */
  readonly config?: () => object;
  /** Called with what an operator should see, such as a lost worker. */
  readonly onNotice?: Notice;
  /** State of the log that `onNotice` writes to, as far as administrators may change it. */
  readonly log?: LogState | undefined;
  /** Standard error, as a sink that can be replaced; left out if notices go elsewhere. */
  readonly stderr?: LineSink | undefined;
  /** Environment variables for features, and secrets; default none. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Monotonic clock, ms; default that of the process. */
  readonly nowMs?: () => number;
  /** Wall clock for the times of logs, whole milliseconds since 1970; default the system's. */
  readonly epochNowMs?: () => number;
  /** Keys whose signatures are required, and the site; by default unsigned bundles are accepted. */
  readonly trust?: Omit<TrustOptions, "nowEpochMs"> | undefined;
  /** Computes a level above the highest one; left out without a solver. */
  readonly generateLevel?: GenerateLevel | undefined;
  /** Gate between two bundles; default none. */
  readonly gateOf?: FeatureContext["gateOf"];
}

export interface StartedServer extends RunningServer {
  /** Bundles that it serves now, in the order of the options. */
  readonly served: readonly ServedBundle[];
  /**
   * Reads the bundles' files again and follows those that are valid, without losing a request: on
   * the current workers, or on others beside them that take over once they are ready. Never
   * rejects; reloads run one after the other.
   * @param name of one application, or of a model of it; left out for all, and for the files of
   * access control.
   * @returns whether all are followed, and a notice for the operator.
   */
  reload(name?: string): Promise<Reloaded>;
  /** Opens files again that are written, which may have been moved. */
  reopen(): void;
}

export interface ServedBundle {
  /** Path of its file. */
  readonly policy: string;
  /** Source of the file; left out if it has none. */
  readonly source?: string;
  readonly bundle: Bundle;
  /** SHA-256 of the file. */
  readonly sha256: string;
  /** Devices of its workers, such as "cpu" or "cuda:0, cpu". */
  readonly device: string;
  /** Devices by pool, compared with those it was measured on. */
  readonly hardware: readonly PoolHardware[];
}

/** The clock of a server, that of the process unless its options have another. */
export function clockOf(options: Pick<ServerOptions, "nowMs" | "epochNowMs">) {
  const { nowMs, epochNowMs = Date.now } = options;
  const { timeOrigin } = performance;
  const own = nowMs ?? performance.now.bind(performance);
  const epochOffsetMs = wallOffset(own, epochNowMs, timeOrigin);
  return { nowMs: own, ...(nowMs === undefined ? { loopNowMs: own } : {}), epochOffsetMs };
}
