/** Converts frames of bundles for solvers and bounds, and tables between the axes of both. */
import type {
  ClassSpace,
  RamsisLevel,
  ServiceTimes,
  Table,
} from "stratagem-runtime/internal/bundle/schema";
import { rowLengths } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { workerCountOf } from "stratagem-runtime/internal/methods/ramsis/core/workers";
import type { RamsisFrame } from "../../model/frames.ts";
import {
  sloLess,
  stretchedQuantiles,
  stretchedTable,
  withoutPath,
} from "../../model/planned-times.ts";
import { pathMargins, shortestSloMs } from "../../simulate/serving/path-margins.ts";
import { plannedStretch } from "../../simulate/serving/planned-contention.ts";
import { rowedQueue } from "./solve/frame.ts";
import { queueRows } from "./solve/pooled/queue-rows.ts";
import type { LevelTables } from "./solve/ramsis.ts";

/** Batches of a request: one task. */
const BATCHES = 1;

/** Factor on the time of the fastest batch, so that rounded sums are not less than it. */
const ROOM = 1 + 1e-9;

/** Margin and contention that the plan of one level assumes for the serving path. */
export interface LevelPlan {
  readonly marginMs: number;
  /** Factor on measured service times. */
  readonly stretch: number;
}

/** Candidate plans at a load, the one with the least margin first. */
export function levelPlans(frame: RamsisFrame, loadQps: number): LevelPlan[] {
  const { serving } = frame.cluster;
  const { marginMs: baseMs = 0, stretch: baseStretch } = serving ?? {};
  if (serving === undefined || baseStretch === undefined) return [{ marginMs: baseMs, stretch: 1 }];
  const stretch = plannedStretch(serving, workerCountOf(frame), loadQps, BATCHES);
  const { marginsMs } = pathMargins(serving, frame.slo, loadQps, BATCHES);
  // A plan leaves time for the fastest batch, at any load of the serving path.
  const fastest = fastestMs(frame) / baseStretch;
  const roomMs = shortestSloMs(frame.slo) - ROOM * fastest;
  const tried = marginsMs.map((ms) => Math.max(baseMs, ms)).filter((ms) => ms <= roomMs);
  return (tried.length === 0 ? [baseMs] : tried).map((marginMs) => {
    const mostStretch = (shortestSloMs(frame.slo) - marginMs) / (ROOM * fastest);
    return { marginMs, stretch: Math.max(1, Math.min(stretch, mostStretch)) };
  });
}

/** Returns the plan that the tables of a level were made with. */
export function planOfLevel(
  frame: RamsisFrame,
  { loadQps, marginMs }: Pick<RamsisLevel, "loadQps" | "marginMs">,
): LevelPlan {
  const [first, ...others] = levelPlans(frame, loadQps);
  if (first === undefined) throw new RangeError("level without a plan");
  return [first, ...others].find((plan) => plan.marginMs === marginMs) ?? first;
}

function fastestMs({ tasks, buckets }: RamsisFrame): number {
  const times = (buckets ?? tasks).map(({ serviceTimes: { decisionMs } }) => {
    const [variants = 0, batches = 0] = decisionMs.shape;
    return Array.from({ length: variants }, (_, variant) => decisionMs.data[variant * batches]);
  });
  return Math.min(...times.flat().map((ms) => ms ?? Number.POSITIVE_INFINITY));
}

/**
 * Input of solvers for one load, independent of other loads: the SLO less the margin of its plan,
 * all times stretched by contention, and axes sized for the load and that SLO.
 */
export function planningFrame(frame: RamsisFrame, loadQps: number, plan: LevelPlan): RamsisFrame {
  const { serving } = frame.cluster;
  const { marginMs: baseMs = 0, stretch: baseStretch = 1 } = serving ?? {};
  const moreMs = plan.marginMs - baseMs;
  const planned = withoutPath(frame);
  const slo = sloLess(planned.slo, moreMs);
  const timesOf = (times: ServiceTimes): ServiceTimes => ({
    ...stretchedQuantiles(times, plan.stretch),
    decisionMs: scaled(times.decisionMs, serving === undefined ? 1 : plan.stretch / baseStretch),
  });
  const { maxQueue } = frame.policy;
  return remade({ ...planned, slo }, timesOf, (space, sloClass) => {
    const { latencyMs, share = 1 } = slo.classes?.[sloClass ?? -1] ?? {};
    const sloOf = latencyMs === undefined ? slo : { latencyMs };
    const queue = rowedQueue(share * loadQps, sloOf, { maxQueue });
    return withRows(withMargin(space, moreMs), queue, maxQueue);
  });
}

/**
 * The frame with other times and axes.
 * @param axesOf of all queries, or of a class.
 */
function remade(
  frame: RamsisFrame,
  timesOf: (times: ServiceTimes) => ServiceTimes,
  axesOf: <S extends ClassSpace>(space: S, sloClass?: number) => S,
): RamsisFrame {
  const { tasks, decisionSpace, classSpaces, buckets } = frame;
  const timed = <T extends { readonly serviceTimes: ServiceTimes }>(one: T): T => {
    return { ...one, serviceTimes: timesOf(one.serviceTimes) };
  };
  return {
    ...frame,
    tasks: tasks.map(timed),
    decisionSpace: axesOf(decisionSpace),
    ...(classSpaces !== undefined && {
      classSpaces: classSpaces.map((space, sloClass) => axesOf(space, sloClass)),
    }),
    ...(buckets !== undefined && { buckets: buckets.map((one) => timed(axesOf(one))) }),
  };
}

function scaled(table: Table, factor: number): Table {
  return factor === 1 ? table : stretchedTable(table, factor);
}

/** Shortens the slack grid by the margin. */
function withMargin<S extends ClassSpace>(space: S, moreMs: number): S {
  if (moreMs === 0) return space;
  const all = Float64Array.from(space.slackMs.data);
  const topMs = (all.at(-1) ?? 0) - moreMs;
  const data = Float64Array.from([...all.filter((ms) => ms < topMs), topMs]);
  return { ...space, slackMs: { ...space.slackMs, shape: [data.length], data } };
}

/** Limits the queue to a length; keeps one row per length if the original has. */
function withRows<S extends ClassSpace>(space: S, maxQueue: number, maxBatch: number): S {
  if (space.queued === undefined || maxQueue >= space.maxQueue) return space;
  const data = Float64Array.from(queueRows(maxQueue + 1, maxBatch));
  return { ...space, maxQueue, queued: { ...space.queued, shape: [data.length], data } };
}

/**
 * Converts a level solved in a planning frame to the axes that all levels share: each state takes
 * the decision of the last state of the level's own axes that is not above it.
 */
export function onSharedAxes<Level extends LevelTables>(
  frame: RamsisFrame,
  planned: RamsisFrame,
  level: Level,
  { marginMs }: LevelPlan,
): Level {
  const spread = (table: Table) => spreadTable(table, planned.decisionSpace, frame.decisionSpace);
  const { actionByState, mixture, classTables, bucketTables } = level;
  const baseMs = frame.cluster.serving?.marginMs ?? 0;
  return {
    ...level,
    ...(marginMs > baseMs && { marginMs }),
    actionByState: spread(actionByState),
    mixture: mixture && { ...mixture, actionByState: spread(mixture.actionByState) },
    ...(classTables !== undefined && {
      classTables: classTables.map((one, at) => {
        const own = planned.classSpaces?.[at] ?? planned.decisionSpace;
        const shared = frame.classSpaces?.[at] ?? frame.decisionSpace;
        return { ...one, actionByState: spreadTable(one.actionByState, own, shared) };
      }),
    }),
    ...(bucketTables !== undefined && {
      bucketTables: bucketTables.map((one, at) => {
        const own = planned.buckets?.[at] ?? planned.decisionSpace;
        return spreadTable(one, own, frame.buckets?.[at] ?? frame.decisionSpace);
      }),
    }),
  };
}

/** Converts a level back to its own axes. */
export function onOwnAxes(
  frame: RamsisFrame,
  planned: RamsisFrame,
  level: RamsisLevel,
): RamsisLevel {
  const spread = (table: Table) => spreadTable(table, frame.decisionSpace, planned.decisionSpace);
  const { actionByState, mixture } = level;
  return {
    ...level,
    actionByState: spread(actionByState),
    mixture: mixture && { ...mixture, actionByState: spread(mixture.actionByState) },
  };
}

/** The columns of a shorter grid are those of a longer one, except for the last of both. */
function spreadTable(table: Table, from: ClassSpace, to: ClassSpace): Table {
  if (from.slackMs === to.slackMs && from.queued === to.queued) return table;
  const [rows, rowsTo] = [rowLengths(from), rowLengths(to)];
  const [columns, columnsTo] = [from.slackMs.data, to.slackMs.data];
  const topMs = Math.min(columns[columns.length - 1] ?? 0, columnsTo[columnsTo.length - 1] ?? 0);
  const columnOf = Array.from(columnsTo, (ms) =>
    ms >= topMs ? columns.length - 1 : lastUpTo(columns, ms),
  );
  const data = new Uint16Array(rowsTo.length * columnsTo.length);
  for (let row = 0; row < rowsTo.length; row++) {
    const begin = lastUpTo(rows, rowsTo[row] ?? 1) * columns.length;
    for (let column = 0; column < columnOf.length; column++) {
      data[row * columnOf.length + column] = table.data[begin + (columnOf[column] ?? 0)] ?? 0;
    }
  }
  return { dtype: "uint16", shape: [rowsTo.length, columnsTo.length], data };
}

/** @param ascending from the least possible value. */
function lastUpTo(ascending: ArrayLike<number>, value: number): number {
  let at = ascending.length - 1;
  while (at > 0 && (ascending[at] ?? 0) > value) at--;
  return at;
}

/** Frame for bounds: models alone, as measured, with the whole SLO. */
export function boundingFrame(frame: RamsisFrame): RamsisFrame {
  const { serving, ...cluster } = frame.cluster;
  const { stretch = 1, marginMs = 0 } = serving ?? {};
  const timesOf = (times: ServiceTimes): ServiceTimes => {
    return { ...times, decisionMs: stretchedTable(times.decisionMs, 1 / stretch) };
  };
  return remade({ ...frame, cluster }, timesOf, (space) => longer(space, marginMs));
}

/** Lengthens the slack grid. */
function longer<S extends Pick<ClassSpace, "slackMs">>(space: S, byMs: number): S {
  const data = Float64Array.from(space.slackMs.data);
  data[data.length - 1] = (data.at(-1) ?? 0) + byMs;
  return { ...space, slackMs: { ...space.slackMs, data } };
}
