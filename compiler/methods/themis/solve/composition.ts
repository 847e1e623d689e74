/**
 * Composition of a pipeline's latency: a tree of sums and maxima wherever its graph is
 * series-parallel.
 */

/**
 * Two parts that act as one: every predecessor of `right` follows `left` (series), or both have the
 * same ends (parallel).
 */
export interface Merge {
  readonly kind: "series" | "parallel";
  readonly left: number;
  readonly right: number;
}

interface Composition {
  /** Part `stageCount + i` is made by merge i, of parts before it. */
  readonly merges: readonly Merge[];
  /** Parts that are left, parents before children; only one if the graph is series-parallel. */
  readonly rest: readonly RestPart[];
}

export interface RestPart {
  readonly part: number;
  /** Indices into `rest`. */
  readonly parents: readonly number[];
}

interface Part {
  readonly part: number;
  parents: Set<number>;
  children: Set<number>;
}

/** @param parentsOf by task, tasks before their children. */
export function compositionOf(parentsOf: readonly (readonly number[])[]): Composition {
  const merges: Merge[] = [];
  let parts = partsOf(parentsOf);
  for (;;) {
    const merge = nextMerge(parts);
    if (merge === undefined) break;
    merges.push(merge);
    parts = mergedParts(parts, merge, parentsOf.length + merges.length - 1);
  }
  const indexOf = new Map(parts.map(({ part }, index) => [part, index]));
  const rest = parts.map(({ part, parents }) => {
    return { part, parents: [...parents].map((parent) => indexOf.get(parent) ?? 0) };
  });
  return { merges, rest };
}

/** Tasks with the edges that no longer path implies: latencies are not negative. */
function partsOf(parentsOf: readonly (readonly number[])[]): readonly Part[] {
  const ancestorsOf: Set<number>[] = [];
  const parts = parentsOf.map((parents, part): Part => {
    const before = new Set(parents.flatMap((parent) => [...(ancestorsOf[parent] ?? [])]));
    ancestorsOf.push(new Set([...before, ...parents]));
    const direct = parents.filter((parent) => !before.has(parent));
    return { part, parents: new Set(direct), children: new Set() };
  });
  for (const { part, parents } of parts) {
    for (const parent of parents) parts[parent]?.children.add(part);
  }
  return parts;
}

function nextMerge(parts: readonly Part[]): Merge | undefined {
  const byPart = new Map(parts.map((one) => [one.part, one]));
  for (const [index, { part, parents, children }] of parts.entries()) {
    const [child] = children;
    if (child !== undefined && children.size === 1 && byPart.get(child)?.parents.size === 1) {
      return { kind: "series", left: part, right: child };
    }
    const twin = parts
      .slice(index + 1)
      .find((other) => isSame(other.parents, parents) && isSame(other.children, children));
    if (twin !== undefined) return { kind: "parallel", left: part, right: twin.part };
  }
  return undefined;
}

function mergedParts(
  parts: readonly Part[],
  { left, right }: Merge,
  merged: number,
): readonly Part[] {
  const children = parts.find(({ part }) => part === right)?.children ?? new Set();
  const renamed = (names: ReadonlySet<number>) =>
    new Set([...names].map((name) => (name === left || name === right ? merged : name)));
  return parts.flatMap((one) => {
    if (one.part === right) return [];
    // It replaces the left part, with its parents and children.
    if (one.part === left) return [{ part: merged, parents: one.parents, children }];
    return [{ part: one.part, parents: renamed(one.parents), children: renamed(one.children) }];
  });
}

function isSame(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one));
}
