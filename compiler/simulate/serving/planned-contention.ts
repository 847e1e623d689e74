/** Stretch of measured service times in plans, due to contention. */
import type { Cluster, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import { Contention } from "./contention.ts";

type Path = Omit<ServingPath, "marginMs">;

/**
 * Utilisation of the server's process at a load, at most 1.
 * @param batches of a request.
 */
function serverUtilisation(path: Path, loadQps: number, batches: number): number {
  const { requestMs, answerMs, batchMs } = path;
  const eachMs = requestMs.mean + answerMs.mean + batches * batchMs.mean;
  return Math.min(1, (loadQps * eachMs) / 1000);
}

/** @param busy workers, or their cores, other than the server's process. */
export function plannedStretch(path: Path, busy: number, loadQps: number, batches: number): number {
  return new Contention(path).factorOf(busy + serverUtilisation(path, loadQps, batches));
}

/** Maximum rounds of planning; plans mostly settle after two. */
const MOST_ROUNDS = 8;

/**
 * Returns a plan that allows at least for the contention of its own workers: it is made for the
 * stretch of the plan before until that is enough. If it never is, the plan is made for the stretch
 * of all workers, or is the last one found.
 * @param planAt null if there is no plan.
 * @param busyOf workers, or cores, of a plan.
 */
export async function settledPlan<P>(
  { serving, pools }: Cluster,
  { loadQps, batches }: { readonly loadQps: number; readonly batches: number },
  planAt: (stretch: number) => Promise<P | null> | P | null,
  busyOf: (plan: P) => number,
): Promise<P> {
  const first = await planAt(1);
  if (first === null) throw new RangeError("no plan for the measured times");
  if (serving?.stretch === undefined) return first;
  let plan = first;
  let stretch = 1;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const needed = plannedStretch(serving, busyOf(plan), loadQps, batches);
    if (needed <= stretch) return plan;
    stretch = needed;
    const next = await planAt(stretch);
    if (next === null) return plan;
    plan = next;
  }
  const all = pools.reduce((sum, { workers, cores }) => sum + workers * (cores ?? 1), 0);
  return (await planAt(plannedStretch(serving, all, loadQps, batches))) ?? plan;
}
