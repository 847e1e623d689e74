/** A share of a compile: which of how many machines. */

/** The most machines that one compile is spread over. */
export const MAX_SHARDS = 10_000;

export interface Shard {
  /** From 1 to `of`. */
  readonly number: number;
  readonly of: number;
}

/** The shard of a text such as 3/7; undefined if it is none. */
export function readShard(text: string): Shard | undefined {
  const match = /^(\d{1,5})\/(\d{1,5})$/.exec(text);
  const [number, of] = [Number(match?.[1]), Number(match?.[2])];
  const isOne = number >= 1 && number <= of && of <= MAX_SHARDS;
  return isOne ? { number, of } : undefined;
}

export function shardText({ number, of }: Shard): string {
  return `${number}/${of}`;
}

/** Of a list that ascends in its cost, every so many: all shards get cheap ones and dear ones. */
export function shareOfList<T>(items: readonly T[], { number, of }: Shard): T[] {
  return items.filter((_, index) => index % of === number - 1);
}
