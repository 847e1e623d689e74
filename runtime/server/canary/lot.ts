/** Who answers a request while a bundle is tried: by the request's id, or by lot without one. */
import { Rng } from "../../core/rng.ts";

/** Names this consumer of random numbers. */
const STREAM = 0x63_61_6e_61;

export class Lot {
  readonly #share: number;
  readonly #salt: string;
  readonly #rng: Rng;

  /**
   * @param share of the requests that are drawn, 0..1.
   * @param salt other bundles draw other ids; of the same, a larger share has those of a smaller.
   */
  constructor(share: number, salt: string) {
    this.#share = share;
    this.#salt = salt;
    this.#rng = new Rng(hashOf(salt), STREAM);
  }

  /** @param id the same is always drawn alike; undefined draws by itself. */
  isDrawn(id: string | undefined): boolean {
    if (id === undefined) return this.#rng.nextShortFloat() < this.#share;
    return hashOf(`${this.#salt}/${id}`) * 2 ** -32 < this.#share;
  }
}

/**
 * FNV-1a over UTF-16 units, mixed by the finalizer of MurmurHash3, since the high bits of the first
 * hardly know the last characters. @returns 32 bits, unsigned.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
