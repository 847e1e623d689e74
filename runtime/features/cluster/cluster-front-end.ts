/** A front end's part of a cluster: follows the workers and shares them with other front ends. */
import { hostname } from "node:os";
import { head, type Labels, line, type MetricLine, metric } from "../../base/exposition.ts";
import type { Notice } from "../../base/notice.ts";
import type { RemoteWorkers } from "../../remote/remote-workers.ts";
import { announcedUrl } from "./announced-url.ts";
import { servesAs } from "./answers-health.ts";
import { clusterUrlOf } from "./cluster-url.ts";
import { ClusterConnection } from "./connection.ts";
import { ClusterMembership } from "./membership.ts";
import { NatsStore } from "./nats-store.ts";
import { allOf } from "./shares/all-members.ts";
import { frontEndId } from "./shares/cluster-shares.ts";
import { type ShareListener, ShareListeners } from "./shares/share-listeners.ts";
import type { TrafficByApplication } from "./shares/share-texts.ts";
import { SharedWorkers } from "./shares/shared-workers.ts";
import type { ClusterStore } from "./store.ts";

export interface ClusterSettings {
  /** Value of `--cluster`. */
  readonly url: string;
  /** Path of the file with credentials for NATS. */
  readonly tokenFile?: string | undefined;
  /** Name of this front end, by default its host and process. */
  readonly frontEnd?: string | undefined;
}

interface FrontEndOptions extends ClusterSettings {
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly onNotice: Notice;
}

export class ClusterFrontEnd {
  readonly store: ClusterStore;
  /** Workers in this front end's share. */
  readonly workers: RemoteWorkers;
  readonly #shared: SharedWorkers;
  readonly #listeners = new ShareListeners();
  readonly #connection: ClusterConnection;
  readonly #membership: ClusterMembership;
  #traffic: () => TrafficByApplication = () => ({});
  #url: string | undefined;

  private constructor(connection: ClusterConnection, options: FrontEndOptions) {
    const { nowMs, onNotice, frontEnd = `${hostname()}-${process.pid}` } = options;
    const store = new NatsStore(connection);
    this.store = store;
    this.#connection = connection;
    this.#membership = new ClusterMembership({ connection, store, nowMs, onNotice });
    const listeners = this.#listeners;
    this.#shared = new SharedWorkers({
      store,
      frontEnd: frontEndId(frontEnd),
      ...allOf(this.#membership),
      nowMs,
      seenLoad: () => listeners.seenLoad(),
      traffic: () => this.#traffic(),
      url: () => this.#url,
      answers: servesAs,
      onShare: (share) => listeners.notify(share),
      onError: ({ message }) => onNotice(`shares of the workers: ${message}`, "warn"),
    });
    this.workers = this.#shared;
    this.#shared.open();
  }

  /**
   * Starts to share load and traffic with the other front ends.
   * @param serving returns the deciding policies, which follow the load of all front ends.
   * @param traffic returns the traffic counts, which each beat includes.
   * @param listensAt URL at which other front ends check this one's health.
   */
  follow(
    serving: () => readonly ShareListener[],
    traffic: () => TrafficByApplication,
    listensAt: string,
  ): void {
    this.#traffic = traffic;
    this.#url = announcedUrl(undefined, listensAt);
    this.#listeners.follow(serving);
  }

  /**
   * Opens the connection without waiting for NATS. Loads the HTTP client: a health check must not
   * hold a busy event loop for that.
   * @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE
   */
  static async open(options: FrontEndOptions): Promise<ClusterFrontEnd> {
    const { url: text, tokenFile, onNotice } = options;
    const url = clusterUrlOf(text);
    const clientName = `stratagem serve ${process.pid}`;
    const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
    await import("undici");
    return new ClusterFrontEnd(connection, options);
  }

  /** Unique name, which differs from that of earlier processes as well. */
  get name(): string {
    return this.#shared.shares.frontEnd;
  }

  lines(): MetricLine[] {
    const isAway = this.#connection.isAway ? 1 : 0;
    const frontEnds = this.#shared.shares.frontEnds.length;
    const workers = "stratagem_cluster_workers";
    return [
      ...metric("stratagem_cluster_front_ends", "gauge", "Front ends that are alive", frontEnds),
      ...metric(
        "stratagem_cluster_away",
        "gauge",
        "Whether the cluster's NATS is unreachable (1)",
        isAway,
      ),
      head(workers, "gauge", "Workers of the cluster, by whether this front end has them"),
      ...this.#workerCounts().map(([labels, count]) => line(workers, labels, count)),
    ];
  }

  #workerCounts(): (readonly [labels: Labels, count: number])[] {
    const { held } = this.#shared.shares;
    const { members } = this.#membership;
    const pools = new Set(members.map(({ pool }) => pool));
    return [...pools].flatMap((pool) =>
      ["own", "other"].map((share) => {
        const isOwn = share === "own";
        const counted = members.filter((one) => one.pool === pool && held.has(one.name) === isOwn);
        return [{ pool, share }, counted.length] as const;
      }),
    );
  }

  async close(): Promise<void> {
    await this.#shared.close();
    this.#membership.close();
    await this.#connection.close();
  }
}
