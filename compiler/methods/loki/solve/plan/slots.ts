/** Lists the possible settings of servers, without those that no optimum needs. */
import type { PipelineProblem } from "../../../../model/pipeline.ts";

/** One setting of a server: a variant of a task in one of its configurations. */
interface Slot {
  readonly task: number;
  readonly variant: number;
  readonly configuration: number;
  readonly pool: number;
  readonly latencyMs: number;
  readonly throughputQps: number;
  /** The smallest set of slots that contains it. */
  readonly set: number;
  /** The set of the slots of its variant in its pool. */
  readonly group: number;
}

/**
 * Slots whose servers are counted together: all servers, those of a pool, of a task in a pool, of a
 * variant in a pool (a group), and, if a variant may use several batch sizes, of one slot. Every
 * set but the first is inside another; the number of servers in each is an integer.
 */
interface SlotSet {
  readonly parent: number | null;
  readonly level: SetLevel;
  readonly slots: readonly number[];
}

export type SetLevel = "total" | "pool" | "task" | "group" | "slot";

export interface SlotModel {
  readonly problem: PipelineProblem;
  readonly slots: readonly Slot[];
  /** Parents before their children; 0 is all servers, 1 + p is pool p. */
  readonly sets: readonly SlotSet[];
  /** Indexed by task and variant, ascending in latency. */
  readonly slotsOf: readonly (readonly (readonly number[])[])[];
  /** Whether there are too many paths to list them. */
  readonly isLarge: boolean;
}

/**
 * Lists the possible settings of servers, less two kinds that no optimum needs: a configuration
 * that another of the same variant and pool beats in latency and in throughput, and one that is too
 * slow for every path.
 * @param isAllowed whether a variant of a task may be used.
 */
export function slotModel(
  problem: PipelineProblem,
  isAllowed: (task: number, variant: number) => boolean = () => true,
): SlotModel {
  const builder = new SetBuilder(problem);
  const budgets = latencyBudgets(problem, isAllowed);
  const slotsOf = problem.tasks.map((task, taskIndex) =>
    task.variants.map((variant, variantIndex) => {
      if (!isAllowed(taskIndex, variantIndex)) return [];
      const budget = budgets[taskIndex] ?? 0;
      return variant.configurations
        .map((_, configuration) => configuration)
        .filter((one) => (variant.configurations[one]?.latencyMs ?? 0) <= budget)
        .filter((one) => !isBeaten(variant.configurations, one))
        .sort((one, other) => latencyOf(variant, one) - latencyOf(variant, other) || one - other)
        .map((configuration) => builder.add(taskIndex, variantIndex, configuration));
    }),
  );
  const isLarge = problem.leaves.some(({ accuracyByPath }) => accuracyByPath === null);
  return { problem, slots: builder.slots, sets: builder.sets, slotsOf, isLarge };
}

type Variants = PipelineProblem["tasks"][number]["variants"];
type Configurations = Variants[number]["configurations"];

function latencyOf(variant: Variants[number], configuration: number): number {
  return variant.configurations[configuration]?.latencyMs ?? 0;
}

function isBeaten(configurations: Configurations, index: number): boolean {
  const one = configurations[index];
  if (one === undefined) return true;
  return configurations.some((other, otherIndex) => {
    if (otherIndex === index || other.pool !== one.pool) return false;
    if (other.latencyMs > one.latencyMs || other.throughputQps < one.throughputQps) return false;
    const isSame = other.latencyMs === one.latencyMs && other.throughputQps === one.throughputQps;
    return !isSame || otherIndex < index;
  });
}

/** Sums of latencies up to this many times a limit are within it. */
export const LATENCY_ROUNDING = 1 + 1e-12;

/**
 * Upper bound on the step of each task, ms, when all other steps of the path are as fast as
 * possible.
 */
function latencyBudgets(
  { tasks, leaves }: PipelineProblem,
  isAllowed: (task: number, variant: number) => boolean,
): number[] {
  const fastest = tasks.map((task, index) =>
    Math.min(
      ...task.variants.flatMap((variant, at) =>
        isAllowed(index, at) ? variant.configurations.map(({ latencyMs }) => latencyMs) : [],
      ),
    ),
  );
  return tasks.map((_, index) =>
    Math.min(
      ...leaves
        .filter(({ path }) => path.includes(index))
        .map(({ path, latencyLimitMs }) => {
          const others = path.filter((step) => step !== index);
          const rest = others.reduce((sum, step) => sum + (fastest[step] ?? 0), 0);
          return latencyLimitMs * LATENCY_ROUNDING - rest;
        }),
    ),
  );
}

class SetBuilder {
  readonly slots: Slot[] = [];
  readonly sets: { parent: number | null; level: SetLevel; slots: number[] }[] = [];
  readonly #setOf = new Map<string, number>();
  readonly #problem: PipelineProblem;

  constructor(problem: PipelineProblem) {
    this.#problem = problem;
    this.sets.push({ parent: null, level: "total", slots: [] });
    for (const _ of problem.servers) this.sets.push({ parent: 0, level: "pool", slots: [] });
  }

  add(task: number, variant: number, configuration: number): number {
    const found = this.#problem.tasks[task]?.variants[variant]?.configurations[configuration];
    const { pool, latencyMs, throughputQps } = found ?? { pool: 0, latencyMs: 0, throughputQps: 1 };
    const taskSet = this.#set(`${pool} ${task}`, 1 + pool, "task");
    const group = this.#set(`${pool} ${task} ${variant}`, taskSet, "group");
    const set = this.#problem.oneBatchPerVariant
      ? group
      : this.#set(`${pool} ${task} ${variant} ${configuration}`, group, "slot");
    const index = this.slots.length;
    this.slots.push({ task, variant, configuration, pool, latencyMs, throughputQps, set, group });
    for (let at: number | null = set; at !== null; at = this.sets[at]?.parent ?? null) {
      this.sets[at]?.slots.push(index);
    }
    return index;
  }

  #set(key: string, parent: number, level: SetLevel): number {
    const found = this.#setOf.get(key);
    if (found !== undefined) return found;
    this.sets.push({ parent, level, slots: [] });
    this.#setOf.set(key, this.sets.length - 1);
    return this.sets.length - 1;
  }
}
