/** How often each kind of line there is in a log. */
export function countedBy(
  log: readonly string[],
  kindOf: (line: string) => string | undefined,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of log) {
    const kind = kindOf(line) ?? "";
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
