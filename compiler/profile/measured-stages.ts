/**
 * Measures stages as they run in service: all stages of the best cut for a depth concurrently, each
 * on its own worker.
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
  /** Time for the caller of the stage while the other stages of its depth run. */
  readonly wallMs: Quantiles;
  readonly samples: number;
}

/** The best cut of a variant into a number of stages. */
export interface DepthTimes {
  readonly variant: string;
  /** In order. */
  readonly stages: readonly StageTimes[];
  /**
   * Time of the slowest stage in each round: the cycle time of a pipeline whose stages wait for one
   * another.
   */
  readonly slowestMs: Quantiles;
}

export interface StagePlan extends SegmentPlan {
  /**
   * Stages of every variant and depth; concatenated they are `segments`. A range of layers may
   * occur in several.
   */
  readonly depths: readonly (readonly Segment[])[];
}

/** Row d − 1 has the number of layers in each of d stages. */
type Cuts = readonly (readonly number[])[];

/** Plans every stage of every cut. @param cutsOf by variant. */
export async function planStages(
  plan: ProfilePlan,
  cutsOf: readonly Cuts[],
  folder: string,
): Promise<StagePlan> {
  const depths = plan.variants.flatMap((variant, index) =>
    (cutsOf[index] ?? []).map((cut) =>
      rangesOf(cut).map(({ from, to }): Segment => {
        // The depth distinguishes it from the same layers in a cut with fewer stages.
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
 * Returns a turn for each depth of each variant, or several if the machine has fewer places than it
 * has stages.
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
 * Each turn runs twice and only the second is kept: in a stream of instances a stage follows itself
 * and finds its weights in the cache. Stages would share cores if there were more stages than
 * cores, unlike in service. So as many neighbours as fit run together; the last group is filled up
 * with earlier stages whose times are discarded.
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
 * Number of places that fit on the machine's cores; this process needs little time and gets no
 * core, like a server.
 */
function placesOf({ machine, cores }: ProfilePlan): number {
  return Math.max(1, Math.floor(machine.cores / cores[0]));
}

/** Bounds the runs that the stages of any cuts take. */
export function mostStageRuns(plan: ProfilePlan): number {
  const turns = plan.variants.flatMap((variant) => {
    const depths = Array.from({ length: mostDepthOf(variant, plan.maxDepth) }, (_, i) => i + 1);
    return depths.flatMap((depth) => depthTurns(0, depth, placesOf(plan)));
  });
  return turns.flat().length * (WARM_UP_RUNS + plan.repeat);
}

/** Bounds the stages of a model: depth d has d of them. */
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
 * Returns each range of layers of a variant once, ascending by first and last layer. For a range in
 * several depths it returns the times with the highest mean, since guarantees must hold in each.
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
