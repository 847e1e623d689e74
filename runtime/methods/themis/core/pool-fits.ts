/** Checks whether instances fit into the machines of their pools. */
import type { Cluster } from "../../../bundle/schema.ts";
import { MachineFit } from "./machine-fit.ts";

/** Machines of every pool, and the instances to place on them. */
export class PoolFits {
  /** In the order of the pools. */
  readonly pools: readonly MachineFit[];

  constructor({ pools }: Pick<Cluster, "pools">) {
    this.pools = pools.map((pool) => new MachineFit({ cluster: { pools: [pool] } }));
  }

  /** Removes all instances. */
  clear(): void {
    for (const pool of this.pools) pool.clear();
  }

  /** Adds instances to a pool, of so many cores each. */
  add(pool: number, instances: number, cores: number): void {
    this.pools[pool]!.add(instances, cores);
  }

  /** Whether all that was added fits, each pool for itself. */
  fits(): boolean {
    return this.pools.every((pool) => pool.fits());
  }
}
