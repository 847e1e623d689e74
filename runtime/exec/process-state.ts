/** What the operating system says of a worker process. */
import { readdirSync, readFileSync } from "node:fs";

/**
 * Whether a thread of a process runs or wants to: then it computes, or waits for a core, and is
 * neither stopped nor asleep. False where the system does not say, as elsewhere than on Linux.
 */
export function hasRunnableThread(pid: number | undefined): boolean {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).some((task) => isRunnable(readFileSync(`${tasks}/${task}/stat`)));
  } catch {
    return false;
  }
}

/** The state is the letter behind the name, which is in brackets and may hold any. */
function isRunnable(stat: Buffer): boolean {
  const text = stat.toString("latin1");
  return text[text.lastIndexOf(")") + 2] === "R";
}
