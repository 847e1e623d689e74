/** Tosses which entry tasks a row of a request is for. */
import { Rng } from "../../../core/rng.ts";
import type { ServedEdge } from "../../../server/graph/signature/pipeline-signature.ts";

/** Fixed seed, so that the same requests enter the same tasks. */
const COIN_SEED = 1;
const COIN_STREAM = 0x656e7472;

export interface Entry {
  readonly row: number;
  readonly task: number;
}

/**
 * Decides which entry tasks a row of a request is for, where not every request reaches all of them.
 */
export class EntryCoin {
  readonly #edges: readonly ServedEdge[];
  readonly #coin = new Rng(COIN_SEED, COIN_STREAM);

  /** @param entryEdges from the requests, by ascending task. */
  constructor(entryEdges: readonly ServedEdge[]) {
    this.#edges = entryEdges;
  }

  entriesOf(rows: number): Entry[] {
    const entries: Entry[] = [];
    for (let row = 0; row < rows; row++) {
      for (const { child: task, share } of this.#edges) {
        // A share of 1 needs no random number.
        if (share >= 1 || this.#coin.nextFloat() < share) entries.push({ row, task });
      }
    }
    return entries;
  }
}
