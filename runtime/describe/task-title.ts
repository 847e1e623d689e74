/** Title of a task and its incoming edges. */
import type { InferlineBundle, StageEdge, StageTask } from "../bundle/schema.ts";
import { percent, short } from "./text.ts";

/** Returns the task's name with its sources and their shares. */
export function taskTitle(
  {
    tasks,
    entryBranch,
  }: Pick<InferlineBundle, "entryBranch"> & {
    readonly tasks: readonly Pick<StageTask, "name" | "branch">[];
  },
  { name, edges }: Pick<StageTask, "name" | "edges">,
): string {
  const sources = edges.map(({ parent, share, ...rows }) => {
    const source = parent === null ? "requests" : (tasks[parent]?.name ?? "");
    const branch = parent === null ? entryBranch : tasks[parent]?.branch;
    const oneOf = branch === "exclusive" ? ", one of its branches" : "";
    return `${source} (${percent(share)}${oneOf}${rowsText(rows)})`;
  });
  const join = edges.length > 1 ? ": a join, which waits for all taken edges" : "";
  return `task ${name}, after ${sources.join(" and ")}${join}`;
}

/** Describes the effect of an edge on rows, after a comma; empty without one. */
function rowsText({ fanout, gather }: Pick<StageEdge, "fanout" | "gather">): string {
  if (fanout !== undefined) return `, ${short(fanout)} rows each`;
  if (gather === undefined) return "";
  return gather === "all" ? ", all its rows gathered" : `, each ${gather} rows gathered`;
}
