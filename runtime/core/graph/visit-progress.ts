/** Keeps how far each request has come through the graph. */
import { assert } from "../assert.ts";
import { REQUESTS, type TaskGraph } from "./task-graph.ts";

/** What is known of an edge of a request. */
const UNDECIDED = 0;
const NOT_TAKEN = 1;
const TAKEN = 2;

/** What is known of a task of a request: may come, will not, is waited for, is over. */
const UNKNOWN = 0;
const SKIPPED = 1;
const VISITED = 2;
const SERVED = 3;

/**
 * How far each request has come through the graph: which edges are settled, and which tasks are
 * therefore visited or skipped.
 *
 * A task is visited once all edges into it are settled and one of them is taken, and skipped if
 * none is; then the edges away from it are settled as not taken in the same moment. A join so waits
 * for every task before it, as a server must: one that still runs may yet send its query.
 *
 * The driver opens a request, settles its entry edges, and for each query that is over says `serve`
 * and settles the edges away from its task. Requests are named by small integers; a name may be
 * opened again once the driver has no more use for what it stood for.
 */
export class VisitProgress {
  /**
   * Tasks that have become visited since `clearReady`, `readyCount` of them, ascending within one
   * `settle`.
   */
  readonly readyTask: Uint32Array;
  readyCount = 0;
  readonly #graph: TaskGraph;
  /** [requestCapacity, edgeCount] */
  readonly #edge: Uint8Array;
  /** [requestCapacity, taskCount], both; edges into the task that are not settled. */
  readonly #task: Uint8Array;
  readonly #undecided: Uint16Array;
  /** [requestCapacity]: tasks that are neither skipped nor served. */
  readonly #openTasks: Uint16Array;
  /** [taskCount]: edges into each task. */
  readonly #inCount: Uint16Array;
  /**
   * [taskCount]: whether a task was skipped whose edges are still to be settled; all 0 between two
   * calls.
   */
  readonly #isToSkip: Uint8Array;

  constructor(graph: TaskGraph, requestCapacity: number) {
    const { taskCount, edgeCount, inStart } = graph;
    this.#graph = graph;
    this.readyTask = new Uint32Array(taskCount);
    this.#edge = new Uint8Array(requestCapacity * edgeCount);
    this.#task = new Uint8Array(requestCapacity * taskCount);
    this.#undecided = new Uint16Array(requestCapacity * taskCount);
    this.#openTasks = new Uint16Array(requestCapacity);
    this.#inCount = Uint16Array.from(
      { length: taskCount },
      (_, task) => inStart[task + 1]! - inStart[task]!,
    );
    this.#isToSkip = new Uint8Array(taskCount);
  }

  /** A new request has the name; nothing of it is settled. */
  open(request: number): void {
    const { taskCount, edgeCount } = this.#graph;
    const firstEdge = request * edgeCount;
    const firstTask = request * taskCount;
    for (let edge = 0; edge < edgeCount; edge++) this.#edge[firstEdge + edge] = UNDECIDED;
    for (let task = 0; task < taskCount; task++) {
      this.#task[firstTask + task] = UNKNOWN;
      this.#undecided[firstTask + task] = this.#inCount[task]!;
    }
    this.#openTasks[request] = taskCount;
  }

  /**
   * Settles an edge from the requests or from a served task; tasks that are visited now are
   * appended to `readyTask`.
   */
  settle(request: number, edge: number, isTaken: boolean): void {
    const source = this.#graph.parentByEdge[edge]!;
    const firstTask = request * this.#graph.taskCount;
    assert(
      source === REQUESTS || this.#task[firstTask + source] === SERVED,
      "an edge is settled when the task before it is served",
    );
    this.#settleOne(request, edge, isTaken);
    // Tasks are in topological order, so one pass reaches all that a skipped one lets be skipped.
    const { taskCount, childByEdge } = this.#graph;
    const isToSkip = this.#isToSkip;
    const first = childByEdge[edge]!;
    if (isToSkip[first] === 0) return;
    for (let task = first; task < taskCount; task++) {
      if (isToSkip[task] === 0) continue;
      isToSkip[task] = 0;
      this.#skipEdges(request, task);
    }
  }

  /** The query of a visited task is over. The edges away from the task are to be settled next. */
  serve(request: number, task: number): void {
    const at = request * this.#graph.taskCount + task;
    assert(this.#task[at] === VISITED, "a task that is served was visited");
    this.#task[at] = SERVED;
    this.#openTasks[request]!--;
  }

  /** Whether nothing of the request waits, runs or is undecided. */
  isDone(request: number): boolean {
    return this.#openTasks[request] === 0;
  }

  /** Whether the edge is settled as taken. */
  isTaken(request: number, edge: number): boolean {
    return this.#edge[request * this.#graph.edgeCount + edge] === TAKEN;
  }

  clearReady(): void {
    this.readyCount = 0;
  }

  #settleOne(request: number, edge: number, isTaken: boolean): void {
    const { taskCount, edgeCount, inStart, childByEdge } = this.#graph;
    const atEdge = request * edgeCount + edge;
    assert(this.#edge[atEdge] === UNDECIDED, "an edge is settled once");
    this.#edge[atEdge] = isTaken ? TAKEN : NOT_TAKEN;
    const task = childByEdge[edge]!;
    const at = request * taskCount + task;
    if (--this.#undecided[at]! > 0) return;
    const end = inStart[task + 1]!;
    let before = inStart[task]!;
    while (before < end && this.#edge[request * edgeCount + before] !== TAKEN) before++;
    if (before < end) {
      this.#task[at] = VISITED;
      this.readyTask[this.readyCount++] = task;
    } else {
      this.#task[at] = SKIPPED;
      this.#openTasks[request]!--;
      this.#isToSkip[task] = 1;
    }
  }

  #skipEdges(request: number, task: number): void {
    const { outStart, outEdge } = this.#graph;
    for (let out = outStart[task + 1]!; out < outStart[task + 2]!; out++) {
      this.#settleOne(request, outEdge[out]!, false);
    }
  }
}
