/** Depth of a task graph: the most tasks that a request passes one after another. */

interface LinkedTask {
  readonly edges: readonly { readonly parent: number | null }[];
}

/** @param tasks parents before their children. */
export function depthOf(tasks: readonly LinkedTask[]): number {
  const depths: number[] = [];
  for (const { edges } of tasks) {
    const before = edges.map(({ parent }) => (parent === null ? 0 : (depths[parent] ?? 0)));
    depths.push(1 + Math.max(0, ...before));
  }
  return Math.max(...depths);
}
