/** Data of the requests that are under way. */
import type { TaskGraph } from "stratagem-runtime/internal/core/graph/task-graph";

/**
 * Requests under way, in slots that are reused. Slots are taken from the lowest up, so that memory
 * of unused slots is never touched.
 */
export class RequestSlots {
  openCount = 0;
  /** [capacity]: number of the request in the slot. */
  readonly request: Uint32Array;
  /** [capacity]: sum of the accuracies of the paths that have ended, and their number. */
  readonly accuracySum: Float64Array;
  readonly endCount: Uint16Array;
  /**
   * [capacity, taskCount]: accuracy of the variant that served the task; 1 for a task not visited.
   */
  readonly #accuracyByTask: Float64Array;
  /** Per task: itself and all tasks before it. */
  readonly #paths: readonly (readonly number[])[];
  readonly #capacity: number;
  readonly #free: Uint32Array;
  #freeCount = 0;
  #usedCount = 0;

  constructor(capacity: number, graph: TaskGraph) {
    this.#paths = pathsOf(graph);
    this.#accuracyByTask = new Float64Array(capacity * graph.taskCount);
    this.#capacity = capacity;
    this.request = new Uint32Array(capacity);
    this.accuracySum = new Float64Array(capacity);
    this.endCount = new Uint16Array(capacity);
    this.#free = new Uint32Array(capacity);
  }

  get isFull(): boolean {
    return this.openCount === this.#capacity;
  }

  /** Takes a free slot, which must exist. */
  open(request: number): number {
    const slot = this.#freeCount > 0 ? (this.#free[--this.#freeCount] ?? 0) : this.#usedCount++;
    this.openCount++;
    this.request[slot] = request;
    this.accuracySum[slot] = 0;
    this.endCount[slot] = 0;
    const taskCount = this.#paths.length;
    this.#accuracyByTask.fill(1, slot * taskCount, (slot + 1) * taskCount);
    return slot;
  }

  close(slot: number): void {
    this.#free[this.#freeCount++] = slot;
    this.openCount--;
  }

  /**
   * Records that a task of the request was served.
   * @param isEnd whether the path ends there.
   */
  serve(slot: number, task: number, accuracy: number, isEnd: boolean): void {
    const first = slot * this.#paths.length;
    this.#accuracyByTask[first + task] = accuracy;
    if (!isEnd) return;
    let product = 1;
    for (const one of this.#paths[task] ?? []) product *= this.#accuracyByTask[first + one] ?? 1;
    this.accuracySum[slot] = (this.accuracySum[slot] ?? 0) + product;
    this.endCount[slot] = (this.endCount[slot] ?? 0) + 1;
  }

  /** Mean over the paths that have ended; NaN for a request that visited no task. */
  accuracy(slot: number): number {
    return (this.accuracySum[slot] ?? Number.NaN) / (this.endCount[slot] ?? 0);
  }
}

function pathsOf({ taskCount, inStart, parentByEdge }: TaskGraph): number[][] {
  const paths: number[][] = [];
  for (let task = 0; task < taskCount; task++) {
    const parents = parentByEdge.subarray(inStart[task], inStart[task + 1]);
    const before = [...parents].flatMap((parent) => paths[parent] ?? []);
    paths.push([...new Set([...before, task])]);
  }
  return paths;
}
