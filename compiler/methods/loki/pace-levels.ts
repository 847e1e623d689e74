/** Plans for machines that are slower than profiled. */
import type { LokiLevel, LokiPaceLevel } from "stratagem-runtime/internal/bundle/schema";
import { PLANNED_PACES } from "../../levels/paces.ts";
import type { LokiFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedProfile } from "../../model/planned-times.ts";
import { frameOfPlan, isServable } from "./planning-frame.ts";
import { loki } from "./solve/loki.ts";

/** A plan that carries as much is kept beside another for so much more accuracy. */
const LEAST_GAIN = 1e-4;
/** Beyond capacity a plan is kept only where it carries so much more than another. */
const LEAST_MORE = 1.01;

/** What is kept, in terms of a machine as profiled. */
interface Kept {
  /** Load that it is meant for. */
  readonly meantQps: number;
  readonly accuracy: number;
  readonly servers: number;
}

/**
 * Plans for the loads of the levels on machines of the planned paces: as if all times were so many
 * times as long. A plan is left out where one for as much load or more, of a level or of another
 * pace, is as accurate on no more servers: decisions are by load times pace, whatever the pace is.
 * Plans have the room of their levels, and are not simulated.
 */
export async function lokiPaceLevels(
  frame: LokiFrame,
  levels: readonly LokiLevel[],
  nowMs: () => number,
): Promise<LokiPaceLevel[]> {
  const kept: Kept[] = levels.map(({ loadQps, plan }) => keptOf(loadQps, plan, 1));
  const found: LokiPaceLevel[] = [];
  const candidates = PLANNED_PACES.flatMap((pace) => levels.map((level) => ({ level, pace })));
  candidates.sort((a, b) => b.level.loadQps * b.pace - a.level.loadQps * a.pace);
  for (const { level, pace } of candidates) {
    const planned = await planAtPace(frame, level, pace, nowMs);
    if (planned === null) continue;
    const own = keptOf(level.loadQps, planned.plan, pace);
    if (!isOfUse(own, kept)) continue;
    kept.push(own);
    found.push({ pace, loadQps: level.loadQps, plan: planned.plan });
  }
  return found.sort((a, b) => a.pace - b.pace || a.loadQps - b.loadQps);
}

function keptOf(loadQps: number, plan: LokiLevel["plan"], pace: number): Kept {
  const { accuracy, servers, demandQps } = plan;
  return { meantQps: Math.min(loadQps, demandQps) * pace, accuracy, servers };
}

function isOfUse(own: Kept, kept: readonly Kept[]): boolean {
  const most = Math.max(...kept.map(({ meantQps }) => meantQps));
  if (own.meantQps > most * LEAST_MORE) return true;
  return kept.every(
    (other) =>
      other.meantQps < own.meantQps ||
      other.accuracy < own.accuracy - LEAST_GAIN ||
      other.servers > own.servers,
  );
}

/** Null where a machine so slow cannot be in time at all. */
async function planAtPace(
  frame: LokiFrame,
  level: LokiLevel,
  pace: number,
  nowMs: () => number,
): Promise<Pick<LokiLevel, "plan"> | null> {
  const { loadQps, plan, feasible } = level;
  const paced = framed(frameOfPlan(frame, loadQps, plan), pace);
  if (!isServable(paced)) return null;
  const headroom = feasible ? Math.max(0, plan.demandQps / loadQps - 1) : 0;
  const planned = await loki.planLevel(paced, loadQps, { headroom, nowMs });
  const settled = { ...level, plan: planned.plan };
  return { plan: await loki.settle(paced, settled, level, nowMs) };
}

const framed = framesByStretch((frame: LokiFrame, pace: number): LokiFrame => {
  return {
    ...frame,
    tasks: frame.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => ({
        ...variant,
        profiles: variant.profiles.map((profile) => stretchedProfile(profile, pace)),
      })),
    })),
  };
});
