/** Builds the plan of a bundle from a point of the search. */
import type { Instance, PathNode, PipelinePlan } from "../../../../model/pipeline.ts";
import type { ColumnPool } from "./column-pool.ts";
import { entriesOf } from "./node-program.ts";
import type { Point } from "./search.ts";
import type { SlotModel } from "./slots.ts";

/**
 * The plan of a point: assignments that agree on the steps up to a task share its node, whatever
 * their other branches do.
 */
export function planOf(model: SlotModel, pool: ColumnPool, point: Point): PipelinePlan {
  const { tasks } = model.problem;
  const parts = assignmentsOf(model, pool, point);
  const used = [...new Set(parts.flatMap(({ choice }) => [...choice]))].filter((id) => id >= 0);
  used.sort((one, other) => one - other);
  const instances = used.map((id): Instance => {
    const { task, variant, configuration, set } = model.slots[id] ?? missing();
    return { task, variant, configuration, replicas: point.serversBySet[set] ?? 0 };
  });
  const nodes: { parent: number | null; instance: number; ratio: number }[] = [];
  const nodeOf = new Map<string, number>();
  for (const [index, task] of tasks.entries()) {
    for (const { choice, share, nodeByTask } of parts) {
      const id = choice[index] ?? -1;
      if (id < 0) continue;
      const parent = task.parent === null ? null : (nodeByTask[task.parent] ?? null);
      const key = `${parent} ${index} ${id}`;
      const known = nodeOf.get(key) ?? nodes.length;
      if (known === nodes.length) nodes.push({ parent, instance: used.indexOf(id), ratio: 0 });
      nodeOf.set(key, known);
      nodeByTask[index] = known;
      const node = nodes[known];
      // Shares that sum to 1 may be rounded to more.
      if (node !== undefined) node.ratio = Math.min(1, node.ratio + share);
    }
  }
  const servers = instances.reduce((sum, { replicas }) => sum + replicas, 0);
  const accuracy = parts.reduce((sum, { share, value }) => sum + share * value, 0);
  return { instances, nodes: nodes satisfies PathNode[], accuracy, servers };
}

interface Part {
  readonly choice: Int32Array;
  readonly share: number;
  readonly value: number;
  readonly nodeByTask: number[];
}

/** The assignments of a point, most used first, with shares that sum to 1 for each entry. */
function assignmentsOf(model: SlotModel, pool: ColumnPool, { columns, shares }: Point): Part[] {
  const sums = new Float64Array(entriesOf(model).length);
  for (const [at, column] of columns.entries()) {
    const entry = pool.entry[column] ?? 0;
    sums[entry] = (sums[entry] ?? 0) + (shares[at] ?? 0);
  }
  return columns
    .map((column, at): Part => {
      const choice = new Int32Array(model.problem.tasks.length).fill(-1);
      for (const id of pool.slotsOf(column)) choice[model.slots[id]?.task ?? 0] = id;
      const share = (shares[at] ?? 0) / (sums[pool.entry[column] ?? 0] ?? 1);
      return { choice, share, value: pool.value[column] ?? 0, nodeByTask: [] };
    })
    .sort(
      (one, other) => other.share - one.share || (one.choice.join() < other.choice.join() ? -1 : 1),
    );
}

function missing(): never {
  throw new Error("assertion failed: a slot of an assignment is in the model");
}
