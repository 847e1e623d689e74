/** Puts together what two policies did with the same query. */
import type { OutcomeObserver } from "./query-outcomes.ts";

/** In place of a variant: nobody answered. */
export const DROPPED = -1;

/** Queries of which one side is known; beyond it the oldest are let go. */
const MAX_OPEN = 2 ** 16;

export interface PairCount {
  /** Variant of the policy that serves, or DROPPED. */
  readonly served: number;
  /** Variant of the policy that looks on, or DROPPED. */
  readonly shadow: number;
  readonly queries: number;
}

type Side = "served" | "shadow";

/** How often each pair of answerers came, of the queries whose outcome both sides know. */
export class PairedQueries {
  readonly #open = new Map<number, { readonly side: Side; readonly variant: number }>();
  readonly #counts = new Map<string, { served: number; shadow: number; queries: number }>();

  /** What a side tells. */
  observer(side: Side): OutcomeObserver {
    return {
      onBatch: () => {},
      onAnswered: (query, variant) => this.#settle(side, query, variant),
      onDropped: (query) => this.#settle(side, query, DROPPED),
      onCancelled: (query) => void this.#open.delete(query),
      onRefused: () => {},
    };
  }

  get counts(): readonly PairCount[] {
    return [...this.#counts.values()].sort((one, other) => other.queries - one.queries);
  }

  /** Queries that one side waits for the other with. */
  get openCount(): number {
    return this.#open.size;
  }

  #settle(side: Side, query: number, variant: number): void {
    const other = this.#open.get(query);
    if (other === undefined || other.side === side) {
      this.#open.set(query, { side, variant });
      if (this.#open.size > MAX_OPEN) this.#letGo();
      return;
    }
    this.#open.delete(query);
    if (side === "shadow") this.#count(other.variant, variant);
    else this.#count(variant, other.variant);
  }

  #letGo(): void {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#open.delete(oldest);
  }

  #count(served: number, shadow: number): void {
    const key = `${served} ${shadow}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { served, shadow, queries: 1 });
    else known.queries++;
  }
}

/** Tells several what happens. */
export function toAll(observers: readonly OutcomeObserver[]): OutcomeObserver {
  return {
    onBatch: (variant, level, rows) => {
      for (const one of observers) one.onBatch(variant, level, rows);
    },
    onAnswered: (query, variant, isLate) => {
      for (const one of observers) one.onAnswered(query, variant, isLate);
    },
    onDropped: (query) => {
      for (const one of observers) one.onDropped(query);
    },
    onCancelled: (query) => {
      for (const one of observers) one.onCancelled(query);
    },
    onRefused: (queries) => {
      for (const one of observers) one.onRefused(queries);
    },
  };
}
