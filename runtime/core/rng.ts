/**
 * Seeded random numbers, the same on every machine: xoshiro128** 1.1, seeded through splitmix32.
 *
 * Two streams of one seed start at unrelated states, so what one consumer draws never shifts what
 * another sees. Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
 * TOMS 47(4), 2021.
 */
export class Rng {
  readonly #state = new Uint32Array(4);

  /** @param seed integer, |seed| <= 2^53. @param stream 32-bit integer that names the consumer. */
  constructor(seed: number, stream: number) {
    let mixed = mix32(seed >>> 0);
    mixed = mix32(mixed ^ Math.floor(seed / 0x1_0000_0000));
    mixed = mix32(mixed ^ stream);
    for (let word = 0; word < 4; word++) {
      mixed = (mixed + 0x9e3779b9) | 0;
      this.#state[word] = mix32(mixed);
    }
    // The all-zero state is the one fixed point of the generator.
    this.#state[3]! |= 1;
  }

  /** Uniform in [0, 1), a multiple of 2^-53. */
  nextFloat(): number {
    const high = nextUint32(this.#state) >>> 5;
    const low = nextUint32(this.#state) >>> 6;
    return (high * 0x400_0000 + low) * 2 ** -53;
  }

  /** Uniform in [0, 1), a multiple of 2^-32: at half the price. */
  nextShortFloat(): number {
    return nextUint32(this.#state) * 2 ** -32;
  }
}

/**
 * One step of xoshiro128**.
 * @param state uint32 [4], not all zero, modified in place.
 * @returns the next 32 bits, unsigned.
 */
export function nextUint32(state: Uint32Array): number {
  const s0 = state[0]!;
  const s1 = state[1]!;
  const s2 = state[2]! ^ s0;
  const s3 = state[3]! ^ s1;
  const scrambled = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9);
  state[0] = s0 ^ s3;
  state[1] = s1 ^ s2;
  state[2] = s2 ^ (s1 << 9);
  state[3] = rotateLeft(s3, 11);
  return scrambled >>> 0;
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/**
 * The output function of splitmix32: a bijection of 32-bit words in which every input bit reaches
 * every output bit.
 */
function mix32(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
