/** Checks whether instances fit into machines that are alike: bin packing, by number of cores. */
import type { Cluster } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";

/** Machines that are filled in vain before instances count as not fitting. */
const MOST_FILLED = 2000;

/**
 * Machines of a pool and the instances to place on them. If the cores per machine are unknown, all
 * machines count as one.
 */
export class MachineFit {
  readonly machines: number;
  readonly machineCores: number;
  /** [machineCores + 1]: instances by their number of cores. */
  readonly #count: Uint32Array;
  /** [machineCores + 1]: machines by how many of their cores are free. */
  readonly #free: Uint32Array;
  #cores = 0;
  #isTooLarge = false;
  #filled = 0;

  constructor({ cluster }: { readonly cluster: Pick<Cluster, "pools"> }) {
    const [pool] = cluster.pools;
    assert(pool !== undefined, "there is a pool");
    const { workers, cores } = pool;
    this.machines = cores === null ? 1 : workers;
    this.machineCores = cores ?? workers;
    this.#count = new Uint32Array(this.machineCores + 1);
    this.#free = new Uint32Array(this.machineCores + 1);
  }

  /** Removes all instances. */
  clear(): void {
    this.#count.fill(0);
    this.#cores = 0;
    this.#isTooLarge = false;
  }

  /** Adds instances of so many cores each. */
  add(instances: number, cores: number): void {
    if (instances === 0) return;
    this.#cores += instances * cores;
    if (cores > this.machineCores) this.#isTooLarge = true;
    else this.#count[cores]! += instances;
  }

  /** Whether all that was added fits. */
  fits(): boolean {
    const most = this.machines * this.machineCores;
    if (this.#isTooLarge || this.#cores > most) return false;
    if (this.machines === 1 || this.#isPlaced()) return true;
    this.#filled = 0;
    return this.#isFilled(this.machines, most - this.#cores);
  }

  /** The largest first, each where the least is left: nearly always enough. */
  #isPlaced(): boolean {
    const free = this.#free.fill(0);
    const size = this.machineCores;
    free[size] = this.machines;
    for (let cores = size; cores > 0; cores--) {
      for (let left = this.#count[cores]!; left > 0; left--) {
        let at = cores;
        while (at <= size && free[at] === 0) at++;
        if (at > size) return false;
        free[at]!--;
        free[at - cores]!++;
      }
    }
    return true;
  }

  /**
   * Fills one machine after the other, each with the largest remaining instance and what fits
   * beside it. The recursion is as deep as the number of machines, and at most MOST_FILLED are
   * filled.
   * @param spare total cores that may stay free.
   */
  #isFilled(machines: number, spare: number): boolean {
    let cores = this.machineCores;
    while (cores > 0 && this.#count[cores] === 0) cores--;
    if (cores === 0) return true;
    if (machines === 0 || ++this.#filled > MOST_FILLED) return false;
    this.#count[cores]!--;
    const isDone = this.#isFilledWith(cores, this.machineCores - cores, machines, spare);
    this.#count[cores]!++;
    return isDone;
  }

  /** @param largest size of the next instance, at most. @param free cores of the machine. */
  #isFilledWith(largest: number, free: number, machines: number, spare: number): boolean {
    for (let cores = Math.min(largest, free); cores > 0; cores--) {
      if (this.#count[cores] === 0) continue;
      this.#count[cores]!--;
      const isDone = this.#isFilledWith(cores, free - cores, machines, spare);
      this.#count[cores]!++;
      if (isDone) return true;
      if (this.#filled > MOST_FILLED) return false;
    }
    return free <= spare && this.#isFilled(machines - 1, spare - free);
  }
}
