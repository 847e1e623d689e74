import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { type EdgeSketch, type InferlineTaskSketch, inferlineBundle } from "./inferline-bundle.ts";

/**
 * A pipeline of three to eight stages whose edges make rows and gather them, in scopes within
 * scopes, with joins, chances and exclusive branches, all by the seed.
 */
export function randomFanoutBundle(seed: number): InferlineBundle {
  const rng = new Rng(seed, 79);
  const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const share = (): number => (below(2) === 0 ? 1 : 0.3 + 0.1 * below(6));
  const tasks: InferlineTaskSketch[] = [];
  const scopeByTask: number[] = [];
  const parents = [-1];
  const inScope = (scope: number): string[] =>
    tasks.filter((_, task) => scopeByTask[task] === scope).map(({ name }) => name);
  const taskCount = 3 + below(6);
  for (let task = 0; task < taskCount; task++) {
    let scope = task === 0 ? 0 : pick(scopeByTask);
    let from: Record<string, number | EdgeSketch> = {};
    const kind = task === 0 ? 0 : below(8);
    const made = parents.flatMap((_, one) => (one > 0 && inScope(one).length > 0 ? [one] : []));
    if (kind <= 0) {
      scope = 0;
      from = { requests: share() };
    } else if (kind <= 2 || (kind >= 5 && made.length === 0)) {
      const fanout = pick([0.4, 1, 2, 2.5, 4.3]);
      from = { [pick(inScope(scope))]: { share: share(), fanout } };
      parents.push(scope);
      scope = parents.length - 1;
    } else if (kind <= 4) {
      for (const name of inScope(scope)) if (below(2) === 0) from[name] = share();
      if (Object.keys(from).length === 0) from = { [pick(inScope(scope))]: share() };
    } else if (kind <= 6) {
      const gathered = pick(made);
      scope = parents[gathered] as number;
      for (const one of made.filter((other) => parents[other] === scope)) {
        if (one === gathered || below(2) === 0) {
          from[pick(inScope(one))] = { share: share(), gather: "all" };
        }
      }
      for (const name of inScope(scope)) if (below(3) === 0) from[name] = share();
    } else {
      const gathered = pick(made);
      from = { [pick(inScope(gathered))]: { share: share(), gather: pick([1, 2, 3]) } };
      parents.push(parents[gathered] as number);
      scope = parents.length - 1;
    }
    scopeByTask.push(scope);
    const base = 1 + below(6);
    const slope = below(3);
    tasks.push({
      name: `t${task}`,
      from,
      accuracy: 0.9,
      branch: below(4) === 0 ? "exclusive" : "independent",
      latencyMs: { 1: base, 2: base + slope, 4: base + 3 * slope, 8: base + 7 * slope },
    });
  }
  return inferlineBundle({
    tasks: tasks.map((task) => withFittingShares(task, tasks)),
    workers: [200],
    sloMs: 30 + below(120),
    communicationLatencyMs: below(2) === 0 ? 0 : 1 + below(3),
    levels: [{ loadQps: 100, stages: tasks.map(() => [pick([1, 2, 4, 8]), 1 + below(4)]) }],
  });
}

/** Shares of exclusive edges add up to 1 at most. */
function withFittingShares(
  task: InferlineTaskSketch,
  tasks: readonly InferlineTaskSketch[],
): InferlineTaskSketch {
  const shares = tasks.flatMap(({ from = {} }) => {
    const edge = from[task.name];
    return edge === undefined ? [] : [typeof edge === "number" ? edge : (edge.share ?? 1)];
  });
  const total = shares.reduce((sum, share) => sum + share, 0);
  return total <= 1 ? task : { ...task, branch: "independent" };
}
