/** A task and what leads to it, in words. */
import type { InferlineBundle, StageTask } from "../bundle/schema.ts";
import { percent } from "./text.ts";

/** What leads to a task, and in which shares. */
export function taskTitle(
  {
    tasks,
    entryBranch,
  }: Pick<InferlineBundle, "entryBranch"> & {
    readonly tasks: readonly Pick<StageTask, "name" | "branch">[];
  },
  { name, edges }: Pick<StageTask, "name" | "edges">,
): string {
  const sources = edges.map(({ parent, share }) => {
    const source = parent === null ? "requests" : (tasks[parent]?.name ?? "");
    const branch = parent === null ? entryBranch : tasks[parent]?.branch;
    const oneOf = branch === "exclusive" ? ", one of its branches" : "";
    return `${source} (${percent(share)}${oneOf})`;
  });
  const join = edges.length > 1 ? ": a join, which waits for all that are taken" : "";
  return `task ${name}, after ${sources.join(" and ")}${join}`;
}
