/** Answers one request for a level, with the method of its frame. */

import { methodOf } from "../methods/registry.ts";
import type { BundleFrame } from "../model/frames.ts";
import { type FoundBranch, rootBranches } from "../model/root-branches.ts";
import type { LevelReply, LevelRequest } from "../processes/level-request.ts";
import { promisedLevel } from "./paces.ts";
import { simulatedLoad } from "./simulated-load.ts";

/**
 * @param nowMs a monotonic clock, ms.
 * @param onBranch called for every searched branch.
 * @throws whatever the solver throws.
 */
export async function answer(
  frame: BundleFrame,
  request: LevelRequest,
  nowMs: () => number,
  onBranch: (branch: FoundBranch) => void = () => {},
): Promise<LevelReply> {
  const method = await methodOf(frame);
  const startMs = nowMs();
  if (request.kind === "solve") {
    const { loadQps, branches: asked } = request;
    const branches = asked === undefined ? undefined : rootBranches(asked, onBranch);
    const { level, solveMs } = await method.solveLevel(frame, loadQps, nowMs, branches);
    const solved = { kind: "solved", level, ms: solveMs ?? nowMs() - startMs } as const;
    return branches?.isPart ? { ...solved, isPart: true } : solved;
  }
  if (request.kind === "pace-levels") {
    const { bundle, pace } = request;
    const levels = (await method.paces?.levels(bundle, frame, pace, nowMs)) ?? [];
    return { kind: "pace-levels", levels };
  }
  if (request.kind === "promise") {
    return { kind: "promised", level: promisedLevel(frame, request, method) };
  }
  if (request.kind === "move") {
    const level = method.moved(frame, request.loadQps, request.around);
    return { kind: "solved", level, ms: nowMs() - startMs };
  }
  if (request.kind === "settle") {
    const { level: own, neighbour } = request;
    const level = await method.settle(frame, own, neighbour, nowMs);
    return { kind: "solved", level, ms: nowMs() - startMs };
  }
  if (request.kind === "simulate") {
    return { kind: "simulated", load: await simulatedLoad(request.bundle, request.run, method) };
  }
  const { baseline, level: own } = request;
  const level = method.baselineLevel(frame, own, baseline, nowMs);
  if (level === null) return { kind: "unplanned", loadQps: own.loadQps };
  return { kind: "solved", level, ms: nowMs() - startMs };
}
