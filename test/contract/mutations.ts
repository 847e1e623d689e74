/** Changes to the bytes of files, at random. */
import { Rng } from "../../runtime/core/rng.ts";

const SEED = 20_241_121;

/** Throws of a seed, the same each time. */
export class Dice {
  readonly #rng: Rng;

  constructor(stream: number) {
    this.#rng = new Rng(SEED, stream);
  }

  below(count: number): number {
    return Math.floor(this.#rng.nextFloat() * count);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** One to four flips, sets, truncations, insertions and splices. */
export function mutateBytes(bytes: Uint8Array, dice: Dice): Uint8Array {
  let mutated = Buffer.from(bytes);
  for (let left = 1 + dice.below(4); left > 0; left--) {
    const at = dice.below(mutated.length);
    const [head, tail] = [mutated.subarray(0, at), mutated.subarray(at)];
    const kind = dice.below(8);
    if (kind < 3) mutated[at] = (mutated[at] ?? 0) ^ (1 << dice.below(8));
    else if (kind < 5) mutated[at] = dice.below(256);
    else if (kind === 5) mutated = Buffer.from(head);
    else if (kind === 6) mutated = Buffer.concat([head, Buffer.of(dice.below(256)), tail]);
    else {
      const from = dice.below(mutated.length);
      const chunk = mutated.subarray(from, from + dice.below(40));
      mutated = Buffer.concat([head, chunk, tail.subarray(dice.below(40))]);
    }
  }
  return mutated;
}
