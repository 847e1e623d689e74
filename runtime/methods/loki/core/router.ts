/** Routes queries in the plan that is followed. */
import type { PipelineRouting } from "../../../bundle/schema.ts";
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import { type Flows, flowsFor, mostAccurateFirst } from "./most-accurate-first.ts";
import type { PlanLayout } from "./plan-layout.ts";
import { pickTarget } from "./routing-rows.ts";

/** `auto` keeps to the plan's paths while the demand is at least this part of the planned one. */
const PLAN_BAND = 0.9;
/**
 * Part of its capacity to which a group is filled. Measured on the traffic chain at 60 % of the
 * plans' load, in mode `deadline`: filled to the brim, 0.4 to 2.5 % of the requests are violated,
 * to 0.95 up to 0.3 %, to 0.9 up to 0.01 % with 0.002 to 0.013 less accuracy than at the brim.
 */
const FILL_RATIO = 0.92;

/**
 * Routes of queries in the plan that is followed, at the current demand and with the current
 * servers.
 */
export class Router {
  layout: PlanLayout;
  /** Share of the requests that fit. */
  admittedShare = 1;
  /** Capacity of each group that no query is expected to use, queries per second. */
  leftoverQps: Float64Array;
  /** Queries of the beat at hand that may still be rerouted to a group. */
  readonly #spare: Float64Array;
  /** Queries per second of each task that are expected. */
  queriesByTask: Float64Array;
  readonly #shape: PipelineShape;
  readonly #routing: PipelineRouting;
  readonly #flowsByLayout: ReadonlyMap<PlanLayout, Flows>;
  readonly #planLeftoverQps: Float64Array;
  readonly #nodeQps: Float64Array;
  #keepsPlan = false;

  constructor(shape: PipelineShape, layouts: readonly PlanLayout[], routing: PipelineRouting) {
    this.#shape = shape;
    this.#routing = routing;
    this.layout = layouts[0]!;
    this.#flowsByLayout = new Map(layouts.map((l) => [l, flowsFor(shape, l.groupCount)]));
    const most = (counts: number[]) => Math.max(...counts);
    this.#planLeftoverQps = new Float64Array(most(layouts.map((l) => l.groupCount)));
    this.#nodeQps = new Float64Array(most(layouts.map((l) => l.nodeCount)));
    this.leftoverQps = this.#planLeftoverQps;
    this.#spare = new Float64Array(this.#planLeftoverQps.length);
    this.queriesByTask = new Float64Array(shape.taskCount);
  }

  /**
   * Sets all probabilities anew.
   * @param demandQps NaN while unknown, which is taken for the plan's.
   * @param isWhole whether the plan has all its servers.
   * @param pace of the servers.
   */
  refresh(
    layout: PlanLayout,
    demandQps: number,
    fanout: Float64Array,
    capacityQps: Float64Array,
    isWhole: boolean,
    pace = 1,
  ): void {
    const flows = this.#flowsByLayout.get(layout)!;
    const qps = Number.isNaN(demandQps) ? layout.demandQps / pace : demandQps;
    this.layout = layout;
    this.queriesByTask = flows.totalQps;
    this.admittedShare = mostAccurateFirst(
      this.#shape,
      layout,
      qps,
      fanout,
      capacityQps,
      FILL_RATIO,
      flows,
    );
    const isNear = this.#routing === "plan" || qps * pace >= PLAN_BAND * layout.demandQps;
    this.#keepsPlan = isWhole && isNear && this.#routing !== "most-accurate-first";
    if (this.#keepsPlan) this.#leaveByPlan(qps, fanout, capacityQps);
    this.leftoverQps = this.#keepsPlan ? this.#planLeftoverQps : flows.leftoverQps;
    for (let group = 0; group < layout.groupCount; group++) {
      this.#spare[group] = this.leftoverQps[group]!;
    }
  }

  /** Whether a group has capacity left after the queries rerouted since the last heartbeat. */
  hasSpare(group: number): boolean {
    return this.#spare[group]! > 0;
  }

  takeSpare(group: number): void {
    this.#spare[group]! -= 1;
  }

  /**
   * @param state NONE for a request's own query. @param ordinal of the task among possible next
   * ones.
   * @returns the next state.
   */
  next(state: number, ordinal: number): number {
    const { rows } = this.layout;
    const { firstGroup, firstRow, entryStart, groupByState } = rows;
    if (this.#keepsPlan) {
      const row = firstRow[state === NONE ? rows.planEntry : state]! + ordinal;
      if (entryStart[row + 1]! > entryStart[row]!) return pickTarget(rows, row);
    }
    const from = state === NONE ? rows.groupEntry : state;
    const offPlan = from < firstGroup ? firstGroup + groupByState[from]! : from;
    return pickTarget(rows, firstRow[offPlan]! + ordinal);
  }

  /** Returns the state of a query that was served by a variant, but on no known path. */
  stateOf(variant: number): number {
    const { rows, groupByVariant } = this.layout;
    const group = groupByVariant[variant]!;
    if (group !== NONE) return rows.firstGroup + group;
    return rows.firstTask + this.#shape.taskByVariant[variant]!;
  }

  /** State of a query in a group to which no path led it. */
  stateOfGroup(group: number): number {
    return this.layout.rows.firstGroup + group;
  }

  #leaveByPlan(demandQps: number, fanout: Float64Array, capacityQps: Float64Array): void {
    const { layout } = this;
    const { nodeCount, parentByNode, variantByNode, groupByNode, ratioByNode } = layout;
    const left = this.#planLeftoverQps;
    for (let group = 0; group < layout.groupCount; group++) left[group] = capacityQps[group]!;
    const perRequest = this.#nodeQps;
    for (let node = 0; node < nodeCount; node++) {
      const parent = parentByNode[node]!;
      const task = this.#shape.taskByVariant[variantByNode[node]!]!;
      perRequest[node] =
        parent === NONE
          ? this.#shape.entryShareByTask[task]!
          : perRequest[parent]! *
            fanout[
              this.#shape.fanoutStart[variantByNode[parent]!]! + this.#shape.ordinalByTask[task]!
            ]!;
      left[groupByNode[node]!]! -= demandQps * ratioByNode[node]! * perRequest[node]!;
    }
    for (let group = 0; group < layout.groupCount; group++) {
      if (!(left[group]! > 1e-9 * capacityQps[group]!)) left[group] = 0;
    }
  }
}

/**
 * Returns the factor by which the observed fan-outs change the load of a plan: the largest over its
 * tasks.
 * @param nodeQps scratch, [nodeCount].
 */
export function loadInflation(
  shape: PipelineShape,
  layout: PlanLayout,
  fanout: Float64Array,
): number {
  let worst = 0;
  for (let task = 0; task < shape.taskCount; task++) {
    const planned = taskLoad(shape, layout, shape.fanout, task);
    if (planned > 0) worst = Math.max(worst, taskLoad(shape, layout, fanout, task) / planned);
  }
  return worst > 0 ? worst : 1;
}

/** Queries of a task per request, on the plan's paths. */
function taskLoad(
  shape: PipelineShape,
  layout: PlanLayout,
  fanout: Float64Array,
  task: number,
): number {
  let load = 0;
  for (let node = 0; node < layout.nodeCount; node++) {
    if (shape.taskByVariant[layout.variantByNode[node]!] !== task) continue;
    let product = layout.ratioByNode[node]!;
    let child = task;
    for (let at = layout.parentByNode[node]!; at !== NONE; at = layout.parentByNode[at]!) {
      const variant = layout.variantByNode[at]!;
      product *= fanout[shape.fanoutStart[variant]! + shape.ordinalByTask[child]!]!;
      child = shape.taskByVariant[variant]!;
    }
    load += product * shape.entryShareByTask[child]!;
  }
  return load;
}
