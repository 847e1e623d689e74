/** The workers of a cluster as one of its front ends may use them: those of its share. */
import type { RemoteMember, RemoteWorkers } from "../../remote/remote-workers.ts";
import { ClusterShares, type ClusterSharesOptions } from "./cluster-shares.ts";

export interface SharedWorkersOptions extends Omit<ClusterSharesOptions, "onHeld"> {
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
  #endChanges: () => void = () => {};

  constructor(options: SharedWorkersOptions) {
    this.#options = options;
    this.shares = new ClusterShares({ ...options, onHeld: () => this.#changed() });
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
    const { all, isIdle } = this.#options;
    return all.members().flatMap((member) => {
      const held = this.shares.held.get(member.name);
      if (held === undefined || (held.isLeaving && isIdle(member.name))) return [];
      const leaving = held.isLeaving ? { isLeaving: true } : {};
      return [{ ...member, lease: this.shares.leaseOf(member.name), ...leaving }];
    });
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
