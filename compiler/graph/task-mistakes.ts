/** What pipelines of tasks with one model each cannot be, whoever plans them. */
import type { Task } from "../spec/application.ts";
import { conflict, invalid, type Mistake, show } from "../spec/mistakes.ts";
import { fanoutTo, rootOf } from "./task-order.ts";
import { MAX_TASKS } from "./visit-plan.ts";

/** @param method that messages name. */
export function* shapeMistakes(tasks: readonly Task[], method: string): Generator<Mistake> {
  if (tasks.length > MAX_TASKS) {
    yield invalid(["tasks"], `at most ${MAX_TASKS} tasks`, String(tasks.length));
  }
  const root = rootOf(tasks);
  for (const [index, task] of tasks.entries()) {
    if (!task.passThrough || task === root) continue;
    yield {
      code: "INPUT_UNSUPPORTED",
      path: ["tasks", index, "passThrough"],
      message:
        `${method} lets only the root, ${show(root.name)}, pass requests on; ` +
        `leave ${show(task.name)} out, and lead edges to what follows it`,
    };
  }
}

/** @param index of the task. @param method that messages name. */
export function* fanoutMistakes(
  { name, variants, to }: Task,
  index: number,
  method: string,
): Generator<Mistake> {
  for (const [position, variant] of variants.entries()) {
    for (const { task } of to) {
      const fanout = fanoutTo(variant, task);
      const path = ["tasks", index, "variants", position, "fanout"];
      if (fanout > 1) {
        const message =
          `${method} sends a query to ${show(task)} at most once for each of ${show(name)}, ` +
          `got a fan-out of ${fanout}; allowed: up to 1`;
        yield { code: "INPUT_UNSUPPORTED", path, message };
      }
      const first = variants[0] === undefined ? fanout : fanoutTo(variants[0], task);
      if (fanout === first) continue;
      const message =
        `${method} runs one model for a task, whatever the hardware, ` +
        `so fan-outs are the same, got ${fanout} and ${first}`;
      yield conflict(path, message);
    }
  }
}
