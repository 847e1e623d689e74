/** Keeps the assignments found so far as sparse columns. */
import { type PipelineProblem, pathAccuracy } from "../../../../model/pipeline.ts";
import type { SlotModel } from "./slots.ts";

/** Initial number of columns. */
const FIRST_CAPACITY = 256;

/**
 * Assignments found so far, one column each: a slot for every task of the tree of one entry.
 * Compressed sparse columns, grown by doubling.
 *
 * The use of a slot is the number of its servers that the requests at the demand of the pool occupy
 * when all of them take the assignment.
 */
export class ColumnPool {
  readonly demandQps: number;
  count = 0;
  start = new Uint32Array(FIRST_CAPACITY + 1);
  slot = new Uint32Array(4 * FIRST_CAPACITY);
  use = new Float64Array(4 * FIRST_CAPACITY);
  /** Weighted accuracy of the leaves of the tree. */
  value = new Float64Array(FIRST_CAPACITY);
  /** Index of the entry among the entries. */
  entry = new Uint32Array(FIRST_CAPACITY);
  readonly #model: SlotModel;
  readonly #known = new Map<string, number>();

  constructor(model: SlotModel, demandQps: number) {
    this.#model = model;
    this.demandQps = demandQps;
  }

  /**
   * @param choice slot by task, -1 outside the tree.
   * @returns its column, the existing one if it is known.
   */
  add(entry: number, choice: Int32Array): number {
    const key = choice.join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const column = this.count;
    this.#reserve(choice.length);
    let end = this.start[column] ?? 0;
    const queries = queriesByTask(this.#model, choice);
    for (const [task, id] of choice.entries()) {
      if (id < 0) continue;
      this.slot[end] = id;
      const throughput = this.#model.slots[id]?.throughputQps ?? 1;
      this.use[end] = (this.demandQps * (queries[task] ?? 0)) / throughput;
      end++;
    }
    this.value[column] = accuracyOf(this.#model, choice);
    this.entry[column] = entry;
    this.count++;
    this.start[this.count] = end;
    this.#known.set(key, column);
    return column;
  }

  slotsOf(column: number): Uint32Array {
    return this.slot.subarray(this.start[column], this.start[column + 1]);
  }

  usesOf(column: number): Float64Array {
    return this.use.subarray(this.start[column], this.start[column + 1]);
  }

  #reserve(entries: number): void {
    if (this.count === this.value.length) {
      this.start = intoLarger(this.start, new Uint32Array(2 * this.count + 1));
      this.value = intoLarger(this.value, new Float64Array(2 * this.count));
      this.entry = intoLarger(this.entry, new Uint32Array(2 * this.count));
    }
    if ((this.start[this.count] ?? 0) + entries > this.slot.length) {
      const size = 2 * this.slot.length + entries;
      this.slot = intoLarger(this.slot, new Uint32Array(size));
      this.use = intoLarger(this.use, new Float64Array(size));
    }
  }
}

function intoLarger<T extends Uint32Array | Float64Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}

/** Mean queries per request that reach each task under an assignment. */
function queriesByTask({ problem, slots }: SlotModel, choice: Int32Array): Float64Array {
  const queries = new Float64Array(choice.length);
  for (const [index, task] of problem.tasks.entries()) {
    const id = choice[index] ?? -1;
    if (id < 0) continue;
    queries[index] =
      task.parent === null
        ? task.entryShare
        : (queries[task.parent] ?? 0) *
          fanoutTo(problem, task.parent, index, slots[choice[task.parent] ?? -1]?.variant ?? 0);
  }
  return queries;
}

export function fanoutTo(
  { tasks }: PipelineProblem,
  parent: number,
  child: number,
  variant: number,
): number {
  const at = tasks[parent]?.children.indexOf(child) ?? -1;
  return tasks[parent]?.variants[variant]?.fanouts[at] ?? 0;
}

function accuracyOf({ problem, slots }: SlotModel, choice: Int32Array): number {
  let sum = 0;
  for (const leaf of problem.leaves) {
    if ((choice[leaf.task] ?? -1) < 0) continue;
    const variants = leaf.path.map((step) => slots[choice[step] ?? -1]?.variant ?? 0);
    sum += leaf.weight * pathAccuracy(problem, leaf, variants);
  }
  return sum;
}
