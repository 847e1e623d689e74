/** Orders the configurations of one task by their cost, for the exact search. */
import type { TaskConfiguration } from "../../../../graph/served-tasks.ts";
import type { TaskHardware } from "../problem.ts";

export interface Choice extends TaskConfiguration {
  /** Millionths per hour. */
  readonly cost: number;
  readonly pool: number;
  readonly lane: number;
}

export interface ChoiceUse {
  /** The largest batch. */
  readonly batch: number;
  /** Whether all replicas were ever busy at once. */
  readonly allAtWork: boolean;
}

interface Lane {
  readonly hardware: number;
  readonly batch: number;
  readonly pool: number;
  readonly price: number;
  /** Infinity once nothing is left to try. */
  replicas: number;
}

/**
 * The configurations of one task in the order of their cost: a lane for each hardware and batch,
 * along which replicas are added.
 */
export class Lanes {
  readonly #lanes: Lane[];

  /**
   * @param least replicas by hardware and batch.
   * @param isHopeless by hardware: too slow even without waiting.
   */
  constructor(
    hardware: readonly TaskHardware[],
    least: readonly (readonly number[])[],
    isHopeless: readonly boolean[],
  ) {
    this.#lanes = hardware.flatMap(({ pool, price, batches }, index) => {
      if (isHopeless[index] === true) return [];
      return batches.map((batch, position) => ({
        hardware: index,
        batch,
        pool,
        price,
        replicas: Math.max(1, least[index]?.[position] ?? 1),
      }));
    });
  }

  /** Ties of costs go to the first hardware, then to the smallest batch. */
  cheapest(): Choice | null {
    let best: Choice | null = null;
    for (const [index, { hardware, batch, pool, price, replicas }] of this.#lanes.entries()) {
      const cost = replicas * price;
      if (!(cost < (best?.cost ?? Number.POSITIVE_INFINITY))) continue;
      best = { hardware, batch, pool, replicas, cost, lane: index };
    }
    return best;
  }

  /**
   * Least cost of the remaining choices and of what follows; Infinity if none remains.
   * @param restCost lower bound on what follows, by hardware.
   */
  leastCost(restCost: readonly number[]): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { hardware, price, replicas } of this.#lanes) {
      const cost = replicas * price + (restCost[hardware] ?? 0);
      if (cost < least) least = cost;
    }
    return least;
  }

  /** Closes a lane: more replicas are useless, or not available. */
  close({ lane }: Choice): void {
    this.#setReplicas(lane, Number.POSITIVE_INFINITY);
  }

  /**
   * Advances after a choice; skips choices that do exactly the same at no less cost.
   * @param used null if it was not served to the end.
   */
  advance(choice: Choice, used: ChoiceUse | null): void {
    const { hardware, batch, replicas, lane } = choice;
    this.#setReplicas(lane, replicas + 1);
    if (used === null) return;
    if (!used.allAtWork) this.close(choice);
    if (used.batch >= batch) return;
    for (const other of this.#lanes) {
      const isSame = other.hardware === hardware && other.batch > batch;
      if (isSame && other.replicas === replicas) other.replicas++;
      if (isSame && !used.allAtWork) other.replicas = Number.POSITIVE_INFINITY;
    }
  }

  #setReplicas(lane: number, replicas: number): void {
    const one = this.#lanes[lane];
    if (one !== undefined) one.replicas = replicas;
  }
}
