/** Share of a compile: the number of the shard, and the number of shards. */

/** Most machines of a compile. */
export const MAX_SHARDS = 10_000;

export interface Shard {
  /** Counted from 1 to `of`. */
  readonly number: number;
  readonly of: number;
}

/** Parses text such as 3/7; undefined if it is invalid. */
export function readShard(text: string): Shard | undefined {
  const match = /^(\d{1,5})\/(\d{1,5})$/.exec(text);
  const [number, of] = [Number(match?.[1]), Number(match?.[2])];
  const isOne = number >= 1 && number <= of && of <= MAX_SHARDS;
  return isOne ? { number, of } : undefined;
}

export function shardText({ number, of }: Shard): string {
  return `${number}/${of}`;
}

/**
 * Takes every `of`-th item of a list with ascending cost, so that all shards get cheap and
 * expensive ones.
 */
export function shareOfList<T>(items: readonly T[], { number, of }: Shard): T[] {
  return items.filter((_, index) => index % of === number - 1);
}
