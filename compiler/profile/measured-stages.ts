/**
 * Stages as they run in service: those of the best cut for a depth at the same time, each on a
 * worker of its own, next to one another.
 */
import { assert } from "stratagem-runtime/internal/core/assert";
import { type Quantiles, quantilesOf } from "./latency-profile.ts";
import { type Cell, type Turn, WARM_UP_RUNS } from "./measure.ts";
import type { PlannedVariant, ProfilePlan } from "./profile-plan.ts";
import { planSegments, type Segment, type SegmentPlan } from "./segments.ts";

interface StageTimes {
  readonly variant: string;
  readonly from: number;
  readonly to: number;
  /** As who asks for the stage sees it, while the others of its depth run. */
  readonly wallMs: Quantiles;
  readonly samples: number;
}

/** The best cut of a variant into as many stages as it has. */
export interface DepthTimes {
  readonly variant: string;
  /** In their order. */
  readonly stages: readonly StageTimes[];
  /**
   * Times of the stage that took longest in each round: the step of a pipeline whose stages all
   * wait for one another.
   */
  readonly slowestMs: Quantiles;
}

export interface StagePlan extends SegmentPlan {
  /**
   * Stages of every variant and depth; together they are the segments, in their order. A range of
   * layers may occur in several.
   */
  readonly depths: readonly (readonly Segment[])[];
}

/** Layers of each of d stages, in row d − 1. */
type Cuts = readonly (readonly number[])[];

/** Every stage of every cut. @param cutsOf by variant. */
export async function planStages(
  plan: ProfilePlan,
  cutsOf: readonly Cuts[],
  folder: string,
): Promise<StagePlan> {
  const depths = plan.variants.flatMap((variant, index) =>
    (cutsOf[index] ?? []).map((cut) =>
      rangesOf(cut).map(({ from, to }): Segment => {
        // The depth makes it another than that of the same layers among fewer neighbours.
        const name = `${variant.name} depth ${cut.length} layers ${from}-${to}`;
        return { name, variant, from, to };
      }),
    ),
  );
  const segments = await planSegments({ ...plan, variants: [] }, depths.flat(), folder);
  return { ...segments, depths };
}

/** @param cut layers of each stage. */
export function rangesOf(cut: readonly number[]): { readonly from: number; readonly to: number }[] {
  let from = 0;
  return cut.map((count) => {
    const to = from + count;
    const range = { from, to };
    from = to;
    return range;
  });
}

/**
 * A turn for each depth of each variant, or several where it has more stages than places fit on the
 * machine.
 */
export function stageTurns({ depths, plan }: StagePlan): Turn[] {
  let first = 0;
  return depths.flatMap((stages) => {
    const turns = depthTurns(first, stages.length, placesOf(plan));
    first += stages.length;
    return turns;
  });
}

/**
 * Each turn comes twice, and the first is not kept: in a stream of instances a stage comes right
 * after itself, and finds its weights where it left them.
 *
 * More stages than there are cores for would take turns, which says nothing of places that have
 * them. So as many neighbours as fit run together; the last of them have some before them once more
 * for company, whose times are not kept.
 */
function depthTurns(first: number, depth: number, places: number): Turn[] {
  const together = Math.min(depth, places);
  return Array.from({ length: Math.ceil(depth / together) }, (_, group) => {
    const own = group * together;
    const begin = Math.min(own, depth - together);
    const turn = Array.from({ length: together }, (_, worker) => {
      const stage = begin + worker;
      return { cell: first + stage, worker, isKept: stage >= own };
    });
    return [turn.map((run) => ({ ...run, isKept: false })), turn];
  }).flat();
}

/**
 * Places that fit on the cores of the machine; this process, which takes little, has none of its
 * own, like a server.
 */
function placesOf({ machine, cores }: ProfilePlan): number {
  return Math.max(1, Math.floor(machine.cores / cores[0]));
}

/** The most runs that the stages of any cuts take. */
export function mostStageRuns(plan: ProfilePlan): number {
  const turns = plan.variants.flatMap((variant) => {
    const depths = Array.from({ length: mostDepthOf(variant, plan.maxDepth) }, (_, i) => i + 1);
    return depths.flatMap((depth) => depthTurns(0, depth, placesOf(plan)));
  });
  return turns.flat().length * (WARM_UP_RUNS + plan.repeat);
}

/** Stages of a model at most: depth d has d of them. */
export function mostStagesOf(variant: PlannedVariant, maxDepth: number): number {
  const depth = mostDepthOf(variant, maxDepth);
  return (depth * (depth + 1)) / 2;
}

function mostDepthOf({ layers }: PlannedVariant, maxDepth: number): number {
  return Math.min(maxDepth, layers?.layerCount ?? 0);
}

/** @param cells of the plan of the stages. */
export function depthTimesOf({ depths }: StagePlan, cells: readonly Cell[]): DepthTimes[] {
  let first = 0;
  return depths.map((stages): DepthTimes => {
    const own = cells.slice(first, first + stages.length);
    first += stages.length;
    const [of, ...others] = stages;
    assert(of !== undefined && own.length === 1 + others.length, "a depth is measured as a whole");
    const runs = own.map(({ wallMs }) => wallMs);
    const slowestMs = (runs[0] ?? []).map((_, run) => Math.max(...runs.map((ms) => ms[run] ?? 0)));
    return {
      variant: of.variant.name,
      stages: stages.map(({ variant, from, to }, index) => {
        const wallMs = runs[index] ?? [];
        const samples = wallMs.length;
        return { variant: variant.name, from, to, wallMs: quantilesOf(wallMs), samples };
      }),
      slowestMs: quantilesOf(slowestMs),
    };
  });
}

/**
 * Each range of layers of a variant once, ascending by first and last layer. Of one that occurs in
 * several depths these are the times in the depth where it took longest in the mean, since what is
 * promised of it has to hold in each.
 */
export function longestStages(depths: readonly DepthTimes[], variant: string): StageTimes[] {
  const byRange = new Map<string, StageTimes>();
  const stages = depths.filter((depth) => depth.variant === variant).flatMap((one) => one.stages);
  for (const stage of stages) {
    const range = `${stage.from}-${stage.to}`;
    const known = byRange.get(range);
    if (known === undefined || known.wallMs.mean < stage.wallMs.mean) byRange.set(range, stage);
  }
  return [...byRange.values()].sort((a, b) => a.from - b.from || a.to - b.to);
}
