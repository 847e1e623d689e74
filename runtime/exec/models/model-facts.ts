/** Findings that a worker reports about a model it has loaded. */

/** A node of a model that runs on the processor although its worker is on a GPU. */
export interface CpuNode {
  readonly name: string;
  /** Operator, such as NonZero. */
  readonly op: string;
}

/** Findings of loading a model. */
export interface LoadFacts {
  /** Time to open it, ms, without its first runs. */
  readonly loadMs: number;
  /** Time of its first runs of all sizes, ms; 0 without first runs. */
  readonly warmMs: number;
  /**
   * Number of nodes that ran in the first batch, those of its taken branches included; null if not
   * measured, as on processors, or not available.
   */
  readonly nodes: number | null;
  /** Nodes of these that ran on the processor under a GPU provider, in the order they ran. */
  readonly cpuNodes: readonly CpuNode[];
  /** Whether there are such nodes; true with an empty list means that it is not known which. */
  readonly hasFallback: boolean;
}

/** Returns the facts of a model without nodes that a provider could leave to the processor. */
export function factsOf(loadMs: number, warmMs = 0): LoadFacts {
  return { loadMs, warmMs, nodes: null, cpuNodes: [], hasFallback: false };
}

export interface ModelFacts extends LoadFacts {
  /** Index of the variant. */
  readonly variant: number;
}

/** Whether to serve models with nodes that a GPU provider leaves to the processor. */
export type CpuFallback = "allow" | "refuse";

export const CPU_FALLBACKS = ["allow", "refuse"] as const satisfies readonly CpuFallback[];

/** Maximum number of operators or names in one line. */
const MOST_SHOWN = 6;

/**
 * Describes the nodes that fall back, as in `38 of 88 nodes run on the CPU: Transpose (5), NonZero,
 * …`; null without a fallback.
 */
export function fallbackText({
  nodes,
  cpuNodes,
  hasFallback,
}: Omit<LoadFacts, "loadMs" | "warmMs">): string | null {
  if (!hasFallback) return null;
  if (cpuNodes.length === 0) return "some nodes run on the CPU; which ones is not known";
  const ops = Object.entries(opCounts(cpuNodes)).map(([op, count]) => {
    return count === 1 ? op : `${op} (${count})`;
  });
  const of = nodes === null ? "" : ` of ${nodes}`;
  const run = nodes === null && cpuNodes.length === 1 ? "node runs" : "nodes run";
  return `${cpuNodes.length}${of} ${run} on the CPU: ${firstOf(ops)}`;
}

/** Describes them, with their names, in the error of `--cpu-fallback refuse`. */
export function refusalText({ nodes, cpuNodes }: Pick<LoadFacts, "nodes" | "cpuNodes">): string {
  const expected = "expected every node on the GPU (--cpu-fallback refuse)";
  if (cpuNodes.length === 0) return `${expected}; some would run on the CPU`;
  const of = nodes === null ? "" : ` of ${nodes}`;
  const named = cpuNodes.map(({ name, op }) => `${name} (${op})`);
  return `${expected}; ${cpuNodes.length}${of} would run on the CPU: ${firstOf(named)}`;
}

/** Counts nodes by operator, most frequent first, then by name. */
export function opCounts(nodes: readonly CpuNode[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { op } of nodes) counts.set(op, 1 + (counts.get(op) ?? 0));
  const sorted = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return Object.fromEntries(sorted);
}

function firstOf(words: readonly string[]): string {
  const more = words.length > MOST_SHOWN ? ", …" : "";
  return words.slice(0, MOST_SHOWN).join(", ") + more;
}
