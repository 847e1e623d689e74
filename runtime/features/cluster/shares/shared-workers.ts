/** The workers of a cluster as one of its front ends may use them: those of its share. */
import type { RemoteMember, RemoteWorkers } from "../../../remote/remote-workers.ts";
import { ClusterShares, type ClusterSharesOptions } from "./cluster-shares.ts";

interface SharedWorkersOptions extends Omit<ClusterSharesOptions, "onHeld" | "isIdle"> {
  /** All that are there. */
  readonly all: RemoteWorkers;
  /** The highest epoch that a worker has told of, where it has. */
  readonly epochOf?: (worker: string) => number | undefined;
}

/** Members of the cluster that this front end holds, each with its lease. */
export class SharedWorkers implements RemoteWorkers {
  readonly shares: ClusterShares;
  readonly #options: SharedWorkersOptions;
  readonly #listeners = new Set<() => void>();
  /** Batches of each that has some, of all bundles that are served. */
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

  /** Begins to claim, once. */
  open(): void {
    this.#endChanges = this.#options.all.onChange(() => {
      this.#tellAll();
      this.#changed();
    });
    this.shares.open();
    this.#tellAll();
  }

  /** Gives all back, which takes a lease at most. */
  async close(): Promise<void> {
    this.#endChanges();
    await this.shares.close();
  }

  /** Those that leave are left out once they have no batch, so that none is given up. */
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

  /** Deferred: what ends a batch knows of its answer first. */
  #onIdle(): void {
    setImmediate(() => {
      this.#changed();
      this.shares.look();
    });
  }

  #tellAll(): void {
    const { all, epochOf = () => undefined } = this.#options;
    this.shares.setWorkers(
      all.members().map(({ name, pool }) => ({ name, pool, epoch: epochOf(name) })),
    );
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
