/** Plans and promises of Loki for machines that are slower than profiled. */
import type {
  LokiBundle,
  LokiLevel,
  LokiPaceLevel,
  PaceFigures,
} from "stratagem-runtime/internal/bundle/schema";
import type { LokiFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedProfile } from "../../model/planned-times.ts";
import { withEnoughBatches } from "../../simulate/latency-sample.ts";
import { AS_PROFILED } from "../../simulate/serving/machine-state.ts";
import type { MethodPaces } from "../method.ts";
import { SettledOutcomes, settledMs } from "../settled-outcomes.ts";
import { frameOfPlan, isServable } from "./planning-frame.ts";
import { simulatedOutcome } from "./simulated-level.ts";
import { loki } from "./solve/loki.ts";

/** Least accuracy gain for which a plan of the same capacity is kept. */
const LEAST_GAIN = 1e-4;
/** Least capacity ratio for which a plan beyond capacity is kept. */
const LEAST_MORE = 1.01;
/** Fraction of a level's promise queries that a promise at a pace is simulated for. */
export const PROMISE_PART = 1 / 32;

export const lokiPaces: MethodPaces<LokiBundle, LokiFrame, LokiPaceLevel> = {
  async levels({ levels }, frame, pace) {
    const found: LokiPaceLevel[] = [];
    for (const level of levels) {
      const plan = await planAtPace(frame, level, pace);
      if (plan !== null) found.push({ pace, loadQps: level.loadQps, plan });
    }
    return found;
  },
  with(bundle, levels) {
    const { provenance, ...rest } = bundle;
    const paceLevels = ofUse(bundle.levels, levels);
    return paceLevels.length === 0 ? bundle : { ...rest, paceLevels, provenance };
  },
  promised: promisedAt,
  promising: (level, promised) => ({ ...level, expected: { ...level.expected, ...promised } }),
};

/**
 * Returns the useful plans for a pace. A plan is left out if another one, of a level or of any
 * pace, for at least the same load is as accurate on no more servers; loads are compared as load
 * times pace, by which plans are chosen at any pace.
 */
function ofUse(levels: readonly LokiLevel[], paced: readonly LokiPaceLevel[]): LokiPaceLevel[] {
  const kept = levels.map(({ loadQps, plan }) => meantOf(loadQps, plan, 1));
  const byLoad = paced.map((level) => ({
    level,
    own: meantOf(level.loadQps, level.plan, level.pace),
  }));
  byLoad.sort((a, b) => b.own.meantQps - a.own.meantQps);
  const found: LokiPaceLevel[] = [];
  for (const { level, own } of byLoad) {
    if (!isOfUse(own, kept)) continue;
    kept.push(own);
    found.push(level);
  }
  return found.sort((a, b) => a.pace - b.pace || a.loadQps - b.loadQps);
}

/** The load of a plan, on a machine as profiled. */
interface Meant {
  readonly meantQps: number;
  readonly accuracy: number;
  readonly servers: number;
}

function meantOf(loadQps: number, plan: LokiLevel["plan"], pace: number): Meant {
  const { accuracy, servers, demandQps } = plan;
  return { meantQps: Math.min(loadQps, demandQps) * pace, accuracy, servers };
}

function isOfUse(own: Meant, kept: readonly Meant[]): boolean {
  const most = Math.max(...kept.map(({ meantQps }) => meantQps));
  if (own.meantQps > most * LEAST_MORE) return true;
  return kept.every(
    (other) =>
      other.meantQps < own.meantQps ||
      other.accuracy < own.accuracy - LEAST_GAIN ||
      other.servers > own.servers,
  );
}

/** The plan has the headroom of the level's; null if so slow a machine is always late. */
async function planAtPace(
  frame: LokiFrame,
  level: LokiLevel,
  pace: number,
): Promise<LokiLevel["plan"] | null> {
  const { loadQps, plan, feasible } = level;
  const paced = pacedFrame(frameOfPlan(frame, loadQps, plan), pace);
  if (!isServable(paced)) return null;
  const headroom = feasible ? Math.max(0, plan.demandQps / loadQps - 1) : 0;
  const planned = await loki.planLevel(paced, loadQps, headroom);
  return loki.settle(paced, { ...level, plan: planned.plan }, level);
}

const pacedFrame = framesByStretch((frame: LokiFrame, pace: number): LokiFrame => {
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

function promisedAt(bundle: LokiBundle, index: number, pace: number, seed?: number): PaceFigures {
  const { loadQps = 0 } = bundle.levels[index] ?? {};
  const beforeMs = settledMs(bundle.slo);
  const { outcomes, ...outcome } = withEnoughBatches((longer) => {
    const outcomes = new SettledOutcomes(bundle.slo.latencyMs, beforeMs);
    const outcome = simulatedOutcome(bundle, bundle, loadQps, {
      part: PROMISE_PART,
      longer,
      ...(seed !== undefined && { seed }),
      beforeMs,
      countedFromMs: beforeMs,
      stations: { machine: { ...AS_PROFILED, pace } },
      onOutcome: outcomes.count,
    });
    return { ...outcome, outcomes };
  });
  return outcomes.figures(pace, outcome);
}
