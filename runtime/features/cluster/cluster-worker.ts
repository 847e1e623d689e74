/** A worker's part of a cluster: announces the worker and fetches models. */
import type { Notice } from "../../base/notice.ts";
import { type AnnouncedState, Announcer } from "./announcer.ts";
import { clusterUrlOf } from "./cluster-url.ts";
import { ClusterConnection } from "./connection.ts";
import { FetchedModels } from "./fetched-models.ts";
import { WORKERS } from "./membership.ts";
import { NatsStore } from "./nats-store.ts";
import { readState } from "./worker-state.ts";

interface ClusterWorkerOptions {
  /** Value of `--cluster`. */
  readonly cluster: string;
  readonly name: string;
  readonly tokenFile?: string | undefined;
  /** Folder for fetched models. */
  readonly folder: string;
  readonly onNotice: Notice;
}

export class ClusterWorker {
  readonly #connection: ClusterConnection;
  readonly #closing = new AbortController();
  readonly #models: FetchedModels;
  readonly #store: NatsStore;
  /** Origins of the cluster's workers, by the keys of their states. */
  readonly #origins = new Map<string, string>();
  readonly #unwatch: () => void;
  #announcer: Announcer | null = null;

  private constructor(connection: ClusterConnection, folder: string) {
    this.#connection = connection;
    this.#models = new FetchedModels(connection, folder, this.#closing.signal);
    this.#store = new NatsStore(connection);
    this.#unwatch = this.#store.watch(WORKERS, {
      onChange: ({ key, value }) => {
        const state = value === null ? null : readState(value);
        if (state === null) this.#origins.delete(key);
        else this.#origins.set(key, new URL(state.url).origin);
      },
    });
  }

  /**
   * Opens the connection without waiting for NATS.
   * @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE
   */
  static async open(options: ClusterWorkerOptions): Promise<ClusterWorker> {
    const { cluster, name, tokenFile, folder, onNotice } = options;
    const url = clusterUrlOf(cluster);
    const clientName = `stratagem worker ${name}`;
    const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
    return new ClusterWorker(connection, folder);
  }

  /** Fetches a model and returns its path. @throws RuntimeError */
  fetch({ sha256 }: { readonly sha256: string }): Promise<string> {
    return this.#models.path(sha256);
  }

  /** Whether a worker of the cluster is at an origin such as `http://10.0.0.7:8000`. */
  hasWorkerAt(origin: string): boolean {
    return [...this.#origins.values()].includes(origin);
  }

  /** Starts to announce the worker. @param state returns the worker's current state. */
  announce(state: () => AnnouncedState): void {
    this.#announcer = new Announcer({ connection: this.#connection, store: this.#store, state });
  }

  /** Announces a change of state. */
  changed(): void {
    this.#announcer?.beat();
  }

  /** Announces, before it returns, that the worker takes no more work. */
  async leave(): Promise<void> {
    this.#closing.abort();
    await this.#announcer?.leave();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#unwatch();
    await this.#connection.close();
  }
}
