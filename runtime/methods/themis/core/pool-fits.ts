/** Tells whether instances fit into the machines of their pools. */
import type { Cluster } from "../../../bundle/schema.ts";
import { MachineFit } from "./machine-fit.ts";

/** The machines of every pool, and what is to be put into them. */
export class PoolFits {
  /** In the order of the pools. */
  readonly pools: readonly MachineFit[];

  constructor({ pools }: Pick<Cluster, "pools">) {
    this.pools = pools.map((pool) => new MachineFit({ cluster: { pools: [pool] } }));
  }

  /** Nothing is to be put into any. */
  clear(): void {
    for (const pool of this.pools) pool.clear();
  }

  /** So many instances more in a pool, of so many cores each. */
  add(pool: number, instances: number, cores: number): void {
    this.pools[pool]!.add(instances, cores);
  }

  /** Whether all that was added fits, each pool for itself. */
  fits(): boolean {
    return this.pools.every((pool) => pool.fits());
  }
}
