/** Up to `maxCount` of the items, evenly spread, including the first and the last. */
export function spread<Item>(items: readonly Item[], maxCount: number): Item[] {
  if (items.length <= maxCount) return [...items];
  const step = (items.length - 1) / (maxCount - 1);
  return Array.from({ length: maxCount }, (_, at) => items[Math.round(at * step)]).filter(
    (item) => item !== undefined,
  );
}
