/** A worker's part of a cluster: announces the worker and fetches models. */
import type { Notice } from "../../base/notice.ts";
import { type AnnouncedState, Announcer } from "./announcer.ts";
import { clusterUrlOf } from "./cluster-url.ts";
import { ClusterConnection } from "./connection.ts";
import { FetchedModels } from "./fetched-models.ts";
import { NatsStore } from "./nats-store.ts";

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
  #announcer: Announcer | null = null;

  private constructor(connection: ClusterConnection, folder: string) {
    this.#connection = connection;
    this.#models = new FetchedModels(connection, folder, this.#closing.signal);
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

  /** Starts to announce the worker. @param state returns the worker's current state. */
  announce(state: () => AnnouncedState): void {
    const connection = this.#connection;
    this.#announcer = new Announcer({ connection, store: new NatsStore(connection), state });
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
    await this.#connection.close();
  }
}
