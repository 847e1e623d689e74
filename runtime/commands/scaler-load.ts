/** Source of the load for `scaler`: the metrics of front ends, or their cluster. */
import { RuntimeError } from "../base/errors.ts";
import { HttpClient } from "../features/sources/http-client.ts";
import { FrontEnds } from "../scaler/front-ends.ts";
import type { LoadSource } from "../scaler/load-source.ts";
import { tokenFileFor } from "../settings/shown-tokens.ts";
import type { ScalerFlags, ScalerSurroundings } from "./scaler-options.ts";

/** Timeout of a front end; after that its previous answer counts. */
const PATIENCE_MS = 900;
/** The text of a front end with hundreds of variants is below 1 MiB. */
const MOST_BYTES = 16 * 2 ** 20;

interface OpenedLoad {
  readonly source: LoadSource;
  readonly close: () => Promise<void>;
}

/** @throws RuntimeError RUNTIME_USAGE */
export function expectOneLoad({ metrics, cluster, token }: ScalerFlags): void {
  if (metrics.length > 0 === (cluster !== undefined)) {
    const found = cluster === undefined ? "neither" : "both";
    const message = `expected --metrics URL or --cluster nats://…; got ${found}`;
    throw new RuntimeError("RUNTIME_USAGE", message);
  }
  if (tokenFileFor("cluster", token) !== undefined && cluster === undefined) {
    throw new RuntimeError("RUNTIME_USAGE", "expected --cluster beside --token cluster=FILE");
  }
}

/** Does not wait for NATS. @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER */
export async function openLoad(
  flags: ScalerFlags,
  application: string,
  surroundings: ScalerSurroundings,
): Promise<OpenedLoad> {
  const { cluster: text, metrics: urls } = flags;
  if (text !== undefined) return openCluster(text, flags, application, surroundings);
  const source = new FrontEnds({ urls, application, read: readerOf(flags) });
  return { source, close: async () => {} };
}

/** Loads the modules of the cluster on demand. */
async function openCluster(
  text: string,
  { token }: ScalerFlags,
  application: string,
  { nowMs, onNotice }: ScalerSurroundings,
): Promise<OpenedLoad> {
  const { clusterUrlOf } = await import("../features/cluster/cluster-url.ts");
  const { ClusterConnection } = await import("../features/cluster/connection.ts");
  const { NatsStore } = await import("../features/cluster/nats-store.ts");
  const { ClusterLoad } = await import("../scaler/cluster-load.ts");
  const url = clusterUrlOf(text);
  const tokenFile = tokenFileFor("cluster", token);
  const clientName = `stratagem scaler ${process.pid}`;
  const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
  const source = new ClusterLoad({ store: new NatsStore(connection), application, nowMs });
  const close = async () => {
    source.close();
    await connection.close();
  };
  return { source, close };
}

function readerOf({ token }: ScalerFlags): (url: string) => Promise<string> {
  const tokenFile = tokenFileFor("metrics", token);
  const client = new HttpClient({ tokenFile, timeoutMs: PATIENCE_MS });
  return async (url) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await client.get(url, { maxBytes: MOST_BYTES, signal });
    if (answer.kind !== "found") throw new Error(`${url}: expected metrics, got 404`);
    return Buffer.from(answer.bytes).toString("utf8");
  };
}
