/** What a server of bundles is started with, and what it then is. */
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
import type { RunningServer } from "../server/serve.ts";
import type { SettingValues } from "../settings/table.ts";
import type { ClusterOptions } from "./opened-sources.ts";
import type { PoolHardware } from "./pool-hardware.ts";
import type { WorkersOptions } from "./server-workers.ts";

export interface ServerOptions extends WorkersOptions, ClusterOptions {
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
  /** Left out for no gRPC beside HTTP. */
  readonly grpc?: GrpcOptions;
  /** Values of settings of features, by their keys; those left out have their defaults. */
  readonly settings?: Partial<SettingValues> | undefined;
  /** Left out, those that there are. */
  readonly features?: readonly ServerFeature[] | undefined;
  /** What the server calls itself to clients; left out, "stratagem". */
  readonly serverName?: string;
  /** Whether parameters of answers are all texts; left out, accuracies are numbers. */
  readonly textParameters?: boolean;
  /** Who may come in; left out, everybody, over connections that are not encrypted. */
  readonly access?: AccessOptions;
  /** Where administrators are served, and nobody else; left out, with the rest. */
  readonly adminAt?: ListenAddress | undefined;
  /** The same of metrics. */
  readonly metricsAt?: ListenAddress | undefined;
  /** The settings in force, as administrators are told them. */
  readonly config?: () => object;
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice?: Notice;
  /** What that writes to, as far as administrators may change it; left out where it is nothing. */
  readonly log?: LogState | undefined;
  /** Where that goes; left out where it goes elsewhere. */
  readonly stderr?: LineSink | undefined;
  /** For what features read of it, and secrets; left out, there is nothing in it. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** A monotonic clock, ms; left out for that of the process. */
  readonly nowMs?: () => number;
  /** What to add to it for milliseconds since 1970. */
  readonly epochOffsetMs?: number;
  /** Whose bundles are followed, and as what site; left out, anybody's are. */
  readonly trust?: Omit<TrustOptions, "nowEpochMs"> | undefined;
  /** Computes a level above the highest one; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
  /** The gate between two bundles; left out where there is none. */
  readonly gateOf?: FeatureContext["gateOf"];
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
  /** Opens files again that are written, which may have been moved. */
  reopen(): void;
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

/** The clock of a server, that of the process unless its options have another. */
export function clockOf({ nowMs, epochOffsetMs = performance.timeOrigin }: ServerOptions) {
  if (nowMs !== undefined) return { nowMs, epochOffsetMs };
  const processNowMs = performance.now.bind(performance);
  return { nowMs: processNowMs, loopNowMs: processNowMs, epochOffsetMs };
}
