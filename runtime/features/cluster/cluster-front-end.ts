/** A front end's side of a cluster: it knows the workers, and tells what it knows. */
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
  /** As `--cluster` has it. */
  readonly url: string;
  /** Path of the file that says who this front end is. */
  readonly tokenFile?: string | undefined;
  /** What this front end is called; left out, by its host and process. */
  readonly frontEnd?: string | undefined;
}

interface FrontEndOptions extends ClusterSettings {
  /** A clock that does not go back, ms. */
  readonly nowMs: () => number;
  readonly onNotice: Notice;
}

export class ClusterFrontEnd {
  readonly store: ClusterStore;
  /** Those of its share. */
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
      onShare: (share) => listeners.tell(share),
      onError: ({ message }) => onNotice(`shares of the workers: ${message}`, "warn"),
    });
    this.workers = this.#shared;
    this.#shared.open();
  }

  /**
   * @param serving what decides now, which follows the load of all front ends.
   * @param traffic what was counted of it, which is told with every beat.
   * @param listensAt URL at which others may ask whether it serves.
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
   * Does not wait for NATS.
   * @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE
   */
  static async open(options: FrontEndOptions): Promise<ClusterFrontEnd> {
    const { url: text, tokenFile, onNotice } = options;
    const url = clusterUrlOf(text);
    const clientName = `stratagem serve ${process.pid}`;
    const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
    return new ClusterFrontEnd(connection, options);
  }

  /** By which no other front end is known, nor one that was started before. */
  get name(): string {
    return this.#shared.shares.frontEnd;
  }

  lines(): MetricLine[] {
    const isAway = this.#connection.isAway ? 1 : 0;
    const frontEnds = this.#shared.shares.frontEnds.length;
    const workers = "stratagem_cluster_workers";
    return [
      ...metric("stratagem_cluster_front_ends", "gauge", "Front ends that are alive", frontEnds),
      ...metric("stratagem_cluster_away", "gauge", "1 while the cluster's NATS is away", isAway),
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
