/** Opens a server of bundles in this process: its doors, and its workers beside it. */
import type { Bundle } from "./bundle/schema.ts";
import type { SettledDevice } from "./exec/worker-pool.ts";
import { hasLimits } from "./exec/worker-spawn.ts";
import { expectOwnNames, type HostedBundle, hostBundle } from "./hosted-bundle.ts";
import { loadBundle } from "./load-bundle.ts";
import type { GenerateLevel } from "./methods/method.ts";
import { OpenedModels } from "./opened-models.ts";
import { type Reloaded, Reloading } from "./reloading.ts";
import type { ServerLimits } from "./server/applications/limits.ts";
import { ReloadCounts } from "./server/metrics/reload-counts.ts";
import { openServer, type RunningServer } from "./server/serve.ts";
import type { WorkersOptions } from "./server-workers.ts";
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
  /** For what an operator should see, such as a lost worker. */
  readonly onNotice?: (message: string) => void;
  /** A monotonic clock, ms; left out for that of the process. */
  readonly nowMs?: () => number;
  /** What to add to it for milliseconds since 1970. */
  readonly epochOffsetMs?: number;
  /** Computes a level above the highest one; left out where there is no solver. */
  readonly generateLevel?: GenerateLevel | undefined;
}

export interface StartedServer extends RunningServer {
  /** What it serves now, in the order of the options. */
  readonly served: readonly ServedBundle[];
  /**
   * Reads the files of the bundles again and follows those that are good, without losing a request:
   * on the workers there are, or on others beside them that take over once they are ready. Never
   * rejects; reloads come one after the other.
   * @param name of one application, or of a model of it; left out for all.
   * @returns whether all are followed, and what is to be said of them.
   */
  reload(name?: string): Promise<Reloaded>;
}

export interface ServedBundle {
  /** Path of its file. */
  readonly policy: string;
  readonly bundle: Bundle;
  /** Of the file. */
  readonly sha256: string;
  /** What its workers run on. */
  readonly device: SettledDevice;
}

/**
 * Starts serving bundles. Inference is answered from `started` on, the rest at once.
 * @throws BundleError for a bundle that is refused. @throws RuntimeError RUNTIME_UNREADABLE,
 * RUNTIME_MODEL, RUNTIME_LISTEN, RUNTIME_MEANS, RUNTIME_DEVICE.
 */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const opened: OpenedModels[] = [];
  try {
    return await startWith(opened, options);
  } catch (error) {
    await Promise.all(opened.map((files) => files.close()));
    throw error;
  }
}

async function startWith(opened: OpenedModels[], options: ServerOptions): Promise<StartedServer> {
  const { policy, onNotice = () => {}, limits } = options;
  const policies = typeof policy === "string" ? [policy] : policy;
  const clock = clockOf(options);
  const hosting = { ...options, onNotice, nowMs: clock.nowMs, isOnly: policies.length === 1 };
  const hosted: HostedBundle[] = [];
  for (const one of policies) {
    const files = new OpenedModels();
    opened.push(files);
    hosted.push(await hostBundle(await loadBundle(one), files, hosting));
  }
  expectOwnNames(hosted);
  const names = hosted.map(({ bundle }) => bundle.application);
  const counts = new ReloadCounts(names, () => (clock.nowMs() + clock.epochOffsetMs) / 1000);
  const server = await openServer(
    hosted.map(({ application }) => application),
    {
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      ...clock,
      version: packageVersion(),
      moreMetricsText: () => counts.text(),
      ...(limits === undefined ? {} : { limits }),
    },
  );
  if (!hasLimits()) onNotice("workers have no limit of memory: this system cannot set one");
  const reloading = new Reloading(server, hosted, hosting, counts);
  return {
    ...server,
    get served() {
      return reloading.hosted.map(({ policy, bundle, sha256, workers }) => {
        return { policy, bundle, sha256, device: workers.device };
      });
    },
    reload: (name) => reloading.reload(name),
    close: async () => {
      reloading.stop();
      await server.close();
      await reloading.close();
    },
  };
}

function clockOf({ nowMs, epochOffsetMs = performance.timeOrigin }: ServerOptions) {
  if (nowMs !== undefined) return { nowMs, epochOffsetMs };
  const ownMs = () => performance.now();
  return { nowMs: ownMs, loopNowMs: ownMs, epochOffsetMs };
}
