/** Workers of a cluster that one front end may use: those in its share. */
import type { RemoteMember, RemoteWorkers } from "../../../remote/remote-workers.ts";
import { ClusterShares, type ClusterSharesOptions } from "./cluster-shares.ts";

interface SharedWorkersOptions extends Omit<ClusterSharesOptions, "onHeld" | "isIdle"> {
  /** All members of the cluster. */
  readonly all: RemoteWorkers;
  /** Highest epoch that a worker reported, if any. */
  readonly epochOf?: (worker: string) => number | undefined;
}

/** Members that this front end holds, each with its lease. */
export class SharedWorkers implements RemoteWorkers {
  readonly shares: ClusterShares;
  readonly #options: SharedWorkersOptions;
  readonly #listeners = new Set<() => void>();
  /** Number of running batches per worker, over all served bundles. */
  readonly #batches = new Map<string, number>();
  #endChanges: () => void = () => {};

  constructor(options: SharedWorkersOptions) {
    this.#options = options;
    this.shares = new ClusterShares({
      ...options,
      isIdle: (worker) => !this.#batches.has(worker),
      onHeld: () => this.#changed(),
    });
  }

  /** Starts to claim; to be called once. */
  open(): void {
    this.#endChanges = this.#options.all.onChange(() => {
      this.#setWorkers();
      this.#changed();
    });
    this.shares.open();
    this.#setWorkers();
  }

  /** Returns all leases, which takes at most one lease. */
  async close(): Promise<void> {
    this.#endChanges();
    await this.shares.close();
  }

  /** Omits leaving workers once they are idle, so that no batch is lost. */
  members(): readonly RemoteMember[] {
    const { all } = this.#options;
    return all.members().flatMap((member) => {
      const held = this.shares.held.get(member.name);
      if (held === undefined || (held.isLeaving && !this.#batches.has(member.name))) return [];
      const leaving = held.isLeaving ? { isLeaving: true } : {};
      return [{ ...member, lease: this.shares.leaseOf(member.name), ...leaving }];
    });
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  use(worker: string): () => void {
    this.#batches.set(worker, (this.#batches.get(worker) ?? 0) + 1);
    return () => {
      const left = (this.#batches.get(worker) ?? 1) - 1;
      if (left > 0) this.#batches.set(worker, left);
      else this.#batches.delete(worker);
      if (left === 0 && this.shares.held.get(worker)?.isLeaving === true) this.#onIdle();
    };
  }

  /** Deferred, so that the end of the batch is handled first. */
  #onIdle(): void {
    setImmediate(() => {
      this.#changed();
      this.shares.look();
    });
  }

  #setWorkers(): void {
    const { all, epochOf = () => undefined } = this.#options;
    this.shares.setWorkers(
      all.members().map(({ name, pool }) => ({ name, pool, epoch: epochOf(name) })),
    );
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
