/** Many tasks over processes of their own, for experiments that keep all cores busy. */
import { type ChildProcess, fork } from "node:child_process";

/**
 * Hands tasks to `jobs` processes, one after the other. @param worker file that answers each
 * message, a task, with one, its result. @returns results in the order of the tasks. @throws Error
 * if a process ends by itself.
 */
export async function inProcesses<Task, Result>(
  worker: URL,
  tasks: readonly Task[],
  jobs: number,
): Promise<Result[]> {
  const results = new Array<Result>(tasks.length);
  const queue = tasks.entries();
  let done = 0;
  const drain = async (): Promise<void> => {
    const child = fork(worker);
    for (const [index, task] of queue) {
      results[index] = await answered<Result>(child, task);
      process.stderr.write(`\r${++done} of ${tasks.length}`);
    }
    child.kill();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, tasks.length) }, drain));
  process.stderr.write("\n");
  return results;
}

/** What a worker answers: call it once in the worker's file. */
export function answerTasks<Task, Result>(answer: (task: Task) => Result): void {
  process.on("message", (task) => process.send?.(answer(task as Task)));
}

function answered<Result>(child: ChildProcess, task: unknown): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`a process ended with ${code} at ${JSON.stringify(task)}`));
    child.once("exit", onExit);
    child.once("message", (result) => {
      child.off("exit", onExit);
      resolve(result as Result);
    });
    child.send(task as object);
  });
}
