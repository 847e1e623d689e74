/**
 * How the instances of one plan carry the load of another immediately. Source: Themis §4.4.1,
 * §5.1.2, §5.2.2.
 */
import assert from "node:assert/strict";
import type {
  ScaledStage,
  ScalePlan,
  ScaleReport,
  Table,
  ThemisLevel,
} from "stratagem-runtime/internal/bundle/schema";
import { planWithExtras } from "./extras.ts";
import type { ThemisPlanner } from "./planner.ts";
import type { ScalingPlan } from "./problem.ts";

const CELLS = 3;

/** The part of a level that determines the transitions to and from its plan. */
export interface ScaledLoad extends Pick<ThemisLevel, "loadQps"> {
  readonly steady: Pick<ScalePlan, "stages">;
  readonly solve: Pick<ScaleReport, "quantile">;
}

/**
 * uint16 [levelCount, levelCount, taskCount, 3]: batch, cores of each instance, instances to add.
 *
 * To the right of the diagonal the instances of the row's plan keep their number and get the cores
 * for the column's load, never fewer than they have; if that is not enough, the most that they can
 * carry, and additional instances. Their variants stay, too.
 * @param planners by level, of the variants of its plan.
 */
export function transitionsOf(
  planners: readonly ThemisPlanner[],
  levels: readonly ScaledLoad[],
  {
    extraCores,
    isVerticalOff,
  }: { readonly extraCores: "same" | "one"; readonly isVerticalOff: boolean },
): Table {
  const taskCount = levels[0]?.steady.stages.length ?? 0;
  const count = levels.length;
  const data = new Uint16Array(count * count * taskCount * CELLS);
  const rowsByPlan = new Map<string, number>();
  for (const [row, { steady }] of levels.entries()) {
    const key = JSON.stringify(steady.stages);
    const same = rowsByPlan.get(key);
    rowsByPlan.set(key, row);
    const known: KnownPlans = new Map();
    for (let column = 0; column < count; column++) {
      const at = (row * count + column) * taskCount * CELLS;
      const width = taskCount * CELLS;
      if (column > row && same !== undefined) {
        // Levels that share a plan share its transitions.
        const from = (same * count + column) * width;
        data.copyWithin(at, from, from + width);
        continue;
      }
      const isKept = column <= row || isVerticalOff;
      const to = isKept
        ? steady.stages
        : stretched(planners[row], levels, [row, column], { extraCores, known });
      fill(data, at, to);
    }
  }
  return { dtype: "uint16", shape: [count, count, taskCount, CELLS], data };
}

type Stretched = readonly (Omit<ScaledStage, "instances"> & { readonly extras?: number })[];

function fill(data: Uint16Array, from: number, stages: Stretched): void {
  let at = from;
  for (const { batch, cores, extras = 0 } of stages) {
    data[at++] = batch;
    data[at++] = cores;
    data[at++] = extras;
  }
}

/** Load that the instances of a row carry, by load and quantile: columns ask for the same loads. */
type KnownPlans = Map<string, ScalingPlan | null>;

interface StretchOptions {
  readonly extraCores: "same" | "one";
  readonly known: KnownPlans;
}

function stretched(
  planner: ThemisPlanner | undefined,
  levels: readonly ScaledLoad[],
  [row, column]: readonly [number, number],
  { extraCores, known }: StretchOptions,
): Stretched {
  assert(planner !== undefined, "every level has a planner");
  const { stages } = levelAt(levels, row).steady;
  const { loadQps, solve } = levelAt(levels, column);
  const mode = {
    kind: "vertical" as const,
    instances: stages.map(({ instances }) => instances),
    leastCores: stages.map(({ cores }) => cores),
  };
  const gridQps = gridBetween(levels, row, column);
  const found = planWithExtras(
    (qps, one) => {
      const { quantile } = solve;
      if (one.kind === "sized") {
        const cores = extraCores === "one" ? one.cores.map(() => 1) : one.cores;
        return planner.find(qps, { ...one, cores }, quantile);
      }
      const key = `${qps} ${quantile}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const found = planner.find(qps, one, quantile);
      known.set(key, found);
      return found;
    },
    loadQps,
    mode,
    gridQps,
  );
  if (found === null) return stages;
  const { running, extras } = found;
  const isRoom = extras !== null && planner.fits(running, extras);
  return running.stages.map(({ batch, cores }, task) => ({
    batch,
    cores,
    extras: isRoom ? (extras.stages[task]?.instances ?? 0) : 0,
  }));
}

/** Maximum loads of the grid. */
const GRID = 16;

/** Loads of levels from a row on, below a column: all of them, or as many as a grid has. */
function gridBetween(levels: readonly ScaledLoad[], row: number, column: number): number[] {
  const step = Math.max(1, Math.ceil((column - row) / GRID));
  const loadsQps = [];
  for (let index = column - step; index > row; index -= step) {
    loadsQps.push(levelAt(levels, index).loadQps);
  }
  return [...loadsQps, levelAt(levels, row).loadQps];
}

function levelAt(levels: readonly ScaledLoad[], index: number): ScaledLoad {
  const level = levels[index];
  if (level === undefined) throw new RangeError("level index out of range");
  return level;
}
