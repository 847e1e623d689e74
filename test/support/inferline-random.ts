import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { type InferlineTaskSketch, inferlineBundle } from "./inferline-bundle.ts";

/**
 * A pipeline of one to six stages with joins, chances, exclusive branches, several pools and plans,
 * all by the seed.
 */
export function randomInferlineBundle(seed: number): InferlineBundle {
  const rng = new Rng(seed, 77);
  const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
  const taskCount = 1 + below(6);
  const poolCount = 1 + below(3);
  const tasks: InferlineTaskSketch[] = [];
  for (let task = 0; task < taskCount; task++) {
    const names = tasks.map(({ name }) => name);
    const parents = task === 0 ? [] : names.filter(() => below(3) === 0).slice(0, 3);
    const isEntry = task === 0 || parents.length === 0;
    tasks.push({
      name: `t${task}`,
      from: isEntry
        ? { requests: below(2) === 0 ? 1 : 0.3 + 0.1 * below(5) }
        : Object.fromEntries(
            parents.map((name) => [name, below(2) === 0 ? 1 : 0.2 + 0.1 * below(7)]),
          ),
      accuracy: 0.9,
      latencyMs: Array.from({ length: poolCount }, () => {
        const base = 1 + below(12);
        const slope = below(3);
        return { 1: base, 2: base + slope, 4: base + 3 * slope, 8: base + 7 * slope };
      }),
    });
  }
  return inferlineBundle({
    tasks: tasks.map((task) => exclusiveIfPossible(task, tasks, below(2) === 0)),
    workers: Array.from({ length: poolCount }, () => 200),
    sloMs: 20 + below(60),
    communicationLatencyMs: below(2) === 0 ? 0 : 1 + below(3),
    levels: [
      {
        loadQps: 100,
        stages: tasks.map(() => [[1, 2, 4, 8][below(4)] ?? 1, 1 + below(4), below(poolCount)]),
      },
    ],
  });
}

/** Shares of exclusive edges add up to 1 at most. */
function exclusiveIfPossible(
  task: InferlineTaskSketch,
  tasks: readonly InferlineTaskSketch[],
  isWanted: boolean,
): InferlineTaskSketch {
  const shares = tasks.flatMap(({ from }) => Number(from?.[task.name] ?? 0));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return isWanted && total <= 1 ? { ...task, branch: "exclusive" } : task;
}
