/** Answers a request for a level, by the method of its frame. */

import { methodOf } from "../methods/registry.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { LevelReply, LevelRequest } from "../processes/level-request.ts";

/** @param nowMs a monotonic clock, ms. @throws whatever the solver does. */
export async function answer(
  frame: BundleFrame,
  request: LevelRequest,
  nowMs: () => number,
): Promise<LevelReply> {
  const method = await methodOf(frame);
  if (request.kind === "evaluate") {
    return { kind: "evaluated", promised: method.promised(frame, request.level) };
  }
  const startMs = nowMs();
  if (request.kind === "solve") {
    const { level, solveMs } = await method.solveLevel(frame, request.loadQps, nowMs);
    return { kind: "solved", level, ms: solveMs ?? nowMs() - startMs };
  }
  if (request.kind === "settle") {
    const { level: own, neighbour } = request;
    const level = (await method.settle?.(frame, own, neighbour, nowMs)) ?? own;
    return { kind: "solved", level, ms: nowMs() - startMs };
  }
  const { baseline, level: own } = request;
  const level = method.baselineLevel?.(frame, own, baseline, nowMs) ?? null;
  if (level === null) return { kind: "unplanned", loadQps: own.loadQps };
  return { kind: "solved", level, ms: nowMs() - startMs };
}
