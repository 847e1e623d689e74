/** Process that solves levels, or recomputes what they promise, one at a time; told first what the levels share. */
import {
  type InferlineLevel,
  type Level,
  type LokiLevel,
  type RamsisLevel,
  type ThemisLevel,
  violationCeiling,
} from "../../runtime/bundle/schema.ts";
import { placedLevel } from "../methods/accordion/placed-level.ts";
import { promisedByStages, provisionedLevel } from "../methods/inferline/provisioned-level.ts";
import { predictLevel, simulatedExpectation } from "../methods/loki/predicted-level.ts";
import { baselinePlan, type PipelineBaseline } from "../methods/loki/solve/baseline-plan.ts";
import { classedExpectation, classedLevel, hasClasses } from "../methods/ramsis/classed-level.ts";
import { SOLVERS } from "../methods/registry.ts";
import type { AccordionFrame, BundleFrame, LokiFrame, RamsisFrame } from "../methods/solver.ts";

export type LevelRequest =
  | { readonly kind: "solve"; readonly loadQps: number }
  /** Of the plans that are as good as a level's, the one closest to its neighbour's. */
  | { readonly kind: "settle"; readonly level: LokiLevel; readonly neighbour: LokiLevel }
  /** The plan of a baseline for the load of a level. */
  | { readonly kind: "baseline"; readonly baseline: PipelineBaseline; readonly level: LokiLevel }
  | { readonly kind: "evaluate"; readonly level: Level };

export type { PipelineBaseline };

export type LevelReply =
  | { readonly kind: "solved"; readonly level: Level; readonly ms: number }
  /** A baseline has no plan for the level. */
  | { readonly kind: "unplanned"; readonly loadQps: number }
  | { readonly kind: "evaluated"; readonly promised: object };

/** Why a request has no reply: the stack of what the solver threw. */
export interface LevelFailure {
  readonly kind: "failed";
  readonly stack: string;
}

const nowMs = (): number => performance.now();
/** Time of the last optimisation of a request, where a simulation follows it; NaN where there was none. */
let solveMs = Number.NaN;

// A terminal interrupts the whole group; the compiler ends its workers itself. Without it there is nobody to work for.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit());
process.once("message", (frame: BundleFrame) => {
  process.on("message", (request: LevelRequest) => {
    void attempt(frame, request).then((reply) => process.send?.(reply));
  });
});

/** Never rejects. */
async function attempt(
  frame: BundleFrame,
  request: LevelRequest,
): Promise<LevelReply | LevelFailure> {
  try {
    return await answer(frame, request);
  } catch (error) {
    return { kind: "failed", stack: String(error instanceof Error ? error.stack : error) };
  }
}

async function answer(frame: BundleFrame, request: LevelRequest): Promise<LevelReply> {
  if (request.kind === "evaluate") {
    return { kind: "evaluated", promised: promisedBy(frame, request.level) };
  }
  if (request.kind === "baseline") return baselineLevel(frame as LokiFrame, request);
  const startMs = nowMs();
  solveMs = Number.NaN;
  const level = await solved(frame, request);
  return { kind: "solved", level, ms: Number.isNaN(solveMs) ? nowMs() - startMs : solveMs };
}

/** What a level states that can be computed again from it and its frame, figures by name. */
function promisedBy(frame: BundleFrame, level: Level): object {
  if (frame.method === "loki") return simulatedExpectation(frame, level as LokiLevel);
  if (frame.method === "inferline") return promisedByStages(frame, level as InferlineLevel);
  if (frame.method === "themis") return SOLVERS.themis.expectedOf(frame, level as ThemisLevel);
  if (frame.method === "accordion") return promisedByPlaces(frame, level.loadQps);
  return promisedByTables(frame, level as RamsisLevel);
}

function promisedByTables(frame: RamsisFrame, level: RamsisLevel): object {
  return hasClasses(frame)
    ? classedExpectation(frame, level)
    : SOLVERS.ramsis.expectedOf(frame, level);
}

function promisedByPlaces(frame: AccordionFrame, loadQps: number): object {
  const { capacityQps, expected } = placedLevel(frame, loadQps);
  return { capacityQps, expected };
}

function baselineLevel(
  frame: LokiFrame,
  { baseline, level }: Extract<LevelRequest, { kind: "baseline" }>,
): LevelReply {
  const startMs = nowMs();
  const plan = baselinePlan(frame, baseline, level.loadQps, nowMs);
  if (plan === null) return { kind: "unplanned", loadQps: level.loadQps };
  return { kind: "solved", level: { ...level, plan, stages: null }, ms: nowMs() - startMs };
}

async function solved(
  frame: BundleFrame,
  request: Exclude<LevelRequest, { kind: "evaluate" | "baseline" }>,
): Promise<Level> {
  if (request.kind === "settle") return settled(frame, request.level, request.neighbour);
  if (frame.method === "ramsis") return solvedLevel(frame, request.loadQps);
  if (frame.method === "inferline") return provisionedLevel(frame, request.loadQps);
  if (frame.method === "themis") return SOLVERS.themis.open(frame).scaleLevel(request.loadQps);
  if (frame.method === "accordion") return placedLevel(frame, request.loadQps);
  return plannedLevel(frame, request.loadQps);
}

function solvedLevel(frame: RamsisFrame, loadQps: number): RamsisLevel {
  return hasClasses(frame)
    ? classedLevel(frame, loadQps)
    : SOLVERS.ramsis.solveLevel(frame, loadQps);
}

/** Rooms that are tried where the policy leaves it to us, the smallest first. */
const HEADROOMS = [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2];

async function plannedLevel(frame: LokiFrame, loadQps: number): Promise<LokiLevel> {
  const { headroom } = frame.policy;
  const ceiling = violationCeiling(frame.slo);
  let best: LokiLevel | null = null;
  for (const room of headroom === "auto" ? HEADROOMS : [headroom]) {
    const startMs = nowMs();
    const planned = await SOLVERS.loki.planLevel(frame, loadQps, { headroom: room, nowMs });
    solveMs = nowMs() - startMs;
    const level = predictLevel(frame, planned);
    const { violationRate } = level.expected;
    if (best === null || violationRate < best.expected.violationRate) best = level;
    // More room than the capacity changes nothing.
    const isAtCapacity = planned.plan.demandQps < loadQps * (1 + room) * (1 - 1e-9);
    if (violationRate <= ceiling || isAtCapacity) break;
  }
  if (best === null) throw new RangeError("some headroom is tried");
  return best;
}

async function settled(
  frame: BundleFrame,
  level: LokiLevel,
  neighbour: LokiLevel,
): Promise<LokiLevel> {
  const lokiFrame = frame as LokiFrame;
  const plan = await SOLVERS.loki.settle(lokiFrame, level, neighbour, nowMs);
  const isSame = JSON.stringify(plan) === JSON.stringify(level.plan);
  return isSame ? level : predictLevel(lokiFrame, { ...level, plan });
}
