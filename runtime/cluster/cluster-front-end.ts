/** A front end's side of a cluster: it knows the workers, and tells what it knows. */
import type { RemoteMember, RemoteWorkers } from "../remote/remote-workers.ts";
import { head, line, type MetricLine, metric } from "../server/metrics/exposition.ts";
import type { Notice } from "../server/telemetry/notice.ts";
import { clusterUrlOf } from "./cluster-url.ts";
import { ClusterConnection } from "./connection.ts";
import { ClusterMembership } from "./membership.ts";
import { NatsStore } from "./nats-store.ts";
import type { ClusterStore } from "./store.ts";
import type { WorkerState } from "./worker-state.ts";

export interface ClusterSettings {
  /** As `--cluster` has it. */
  readonly url: string;
  /** Path of the file that says who this front end is. */
  readonly tokenFile?: string | undefined;
}

export interface FrontEndOptions extends ClusterSettings {
  /** A clock that does not go back, ms. */
  readonly nowMs: () => number;
  readonly onNotice: Notice;
}

export class ClusterFrontEnd {
  readonly store: ClusterStore;
  /** All members, whoever uses them. */
  readonly workers: RemoteWorkers;
  readonly #connection: ClusterConnection;
  readonly #membership: ClusterMembership;

  private constructor(connection: ClusterConnection, { nowMs, onNotice }: FrontEndOptions) {
    const store = new NatsStore(connection);
    this.store = store;
    this.#connection = connection;
    this.#membership = new ClusterMembership({ connection, store, nowMs, onNotice });
    this.workers = allOf(this.#membership);
  }

  /** Does not wait for NATS. @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE */
  static async open(options: FrontEndOptions): Promise<ClusterFrontEnd> {
    const { url: text, tokenFile, onNotice } = options;
    const url = clusterUrlOf(text);
    const clientName = `stratagem serve ${process.pid}`;
    const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
    return new ClusterFrontEnd(connection, options);
  }

  lines(): MetricLine[] {
    const isAway = this.#connection.isAway ? 1 : 0;
    const byPool = new Map<string, number>();
    for (const { pool } of this.#membership.members) {
      byPool.set(pool, (byPool.get(pool) ?? 0) + 1);
    }
    const help = "Workers that are members of the cluster";
    return [
      ...metric("stratagem_cluster_away", "gauge", "1 while the cluster's NATS is away", isAway),
      head("stratagem_cluster_workers", "gauge", help),
      ...[...byPool].map(([pool, count]) => line("stratagem_cluster_workers", { pool }, count)),
    ];
  }

  async close(): Promise<void> {
    this.#membership.close();
    await this.#connection.close();
  }
}

/** Of a front end that has all of them for itself. */
function allOf(membership: ClusterMembership): RemoteWorkers {
  let from: readonly WorkerState[] = [];
  let members: readonly RemoteMember[] = [];
  return {
    members: () => {
      if (from !== membership.members) {
        from = membership.members;
        members = from.map(({ name, url, pool }) => ({ name, url, pool, lease: null }));
      }
      return members;
    },
    onChange: (listener) => membership.onChange(listener),
  };
}
