/** How many times as long as measured service times are planned to take. */
import type { Cluster, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import { Contention } from "./contention.ts";

type Path = Omit<ServingPath, "marginMs">;

/**
 * Share of its time that the server's process works at a load, at most 1.
 * @param batches of a request.
 */
function serverUtilisation(path: Path, loadQps: number, batches: number): number {
  const { requestMs, answerMs, batchMs } = path;
  const eachMs = requestMs.mean + answerMs.mean + batches * batchMs.mean;
  return Math.min(1, (loadQps * eachMs) / 1000);
}

/** @param busy workers, or cores of them, beside the server's process. */
export function plannedStretch(path: Path, busy: number, loadQps: number, batches: number): number {
  return new Contention(path).factorOf(busy + serverUtilisation(path, loadQps, batches));
}

/** Plans again are made at most; they mostly stay after two. */
const MOST_ROUNDS = 8;

/**
 * A plan that reckons with at least what its own workers take from each other: it is made for the
 * stretch of the plan before until that is enough. Where it never is, it is made for that of all
 * workers, or is the last there was.
 * @param planAt null where there is no plan. @param busyOf workers, or cores, that a plan has.
 */
export async function settledPlan<P>(
  { serving, pools }: Cluster,
  { loadQps, batches }: { readonly loadQps: number; readonly batches: number },
  planAt: (stretch: number) => Promise<P | null> | P | null,
  busyOf: (plan: P) => number,
): Promise<P> {
  const first = await planAt(1);
  if (first === null) throw new RangeError("there is a plan for times as measured");
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
