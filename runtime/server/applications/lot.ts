/** Who answers a request while a bundle is tried: by the request's id, or by lot without one. */
import { Rng } from "../../core/rng.ts";

/** Names this consumer of random numbers. */
const STREAM = 0x63_61_6e_61;

/** Of FNV-1a with 32 bits. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

export class Lot {
  readonly #share: number;
  /** What the salt has made of the hash, to which ids are added. */
  readonly #salted: number;
  readonly #rng: Rng;

  /**
   * @param share of the requests that are drawn, 0..1.
   * @param salt other bundles draw other ids; of the same, a larger share has those of a smaller.
   */
  constructor(share: number, salt: string) {
    this.#share = share;
    this.#salted = added(BASIS, `${salt}/`);
    this.#rng = new Rng(mixed(this.#salted), STREAM);
  }

  /** @param id the same is always drawn alike; undefined draws by itself. */
  isDrawn(id: string | undefined): boolean {
    if (id === undefined) return this.#rng.nextShortFloat() < this.#share;
    return mixed(added(this.#salted, id)) * 2 ** -32 < this.#share;
  }
}

/** FNV-1a over UTF-16 units. */
function added(hash: number, text: string): number {
  let sum = hash;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), PRIME);
  return sum;
}

/**
 * The finalizer of MurmurHash3, since the high bits of the sum hardly know the last characters.
 * @returns 32 bits, unsigned.
 */
function mixed(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
