/** A worker's side of a cluster: it announces itself, and has models brought. */
import type { Notice } from "../../base/notice.ts";
import { type AnnouncedState, Announcer } from "./announcer.ts";
import { clusterUrlOf } from "./cluster-url.ts";
import { ClusterConnection } from "./connection.ts";
import { FetchedModels } from "./fetched-models.ts";
import { NatsStore } from "./nats-store.ts";

interface ClusterWorkerOptions {
  /** As `--cluster` has it. */
  readonly cluster: string;
  readonly name: string;
  readonly tokenFile?: string | undefined;
  /** Where models that are brought are kept. */
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
   * Does not wait for NATS.
   * @throws RuntimeError RUNTIME_USAGE, RUNTIME_CLUSTER, RUNTIME_UNREADABLE
   */
  static async open(options: ClusterWorkerOptions): Promise<ClusterWorker> {
    const { cluster, name, tokenFile, folder, onNotice } = options;
    const url = clusterUrlOf(cluster);
    const clientName = `stratagem worker ${name}`;
    const connection = await ClusterConnection.open({ url, clientName, tokenFile, onNotice });
    return new ClusterWorker(connection, folder);
  }

  /** Path of the file of a model, as an agent asks for it. @throws RuntimeError */
  fetch({ sha256 }: { readonly sha256: string }): Promise<string> {
    return this.#models.path(sha256);
  }

  /** From now on front ends are told. @param state what the worker is now. */
  announce(state: () => AnnouncedState): void {
    const connection = this.#connection;
    this.#announcer = new Announcer({ connection, store: new NatsStore(connection), state });
  }

  /** Something of its state has changed. */
  changed(): void {
    this.#announcer?.beat();
  }

  /** Front ends are to send nothing more; that is said at once, before this returns. */
  async leave(): Promise<void> {
    this.#closing.abort();
    await this.#announcer?.leave();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection.close();
  }
}
