/** Tracks how far each request has come through the graph. */
import { assert } from "../assert.ts";
import { NONE } from "./pipeline-shape.ts";
import { PLAIN, REQUESTS, SPREAD, type TaskGraph, WINDOWS } from "./task-graph.ts";

/** States of an edge of a row. */
const UNDECIDED = 0;
const NOT_TAKEN = 1;
const TAKEN = 2;

/**
 * States of a task for a row: undecided, skipped, awaited, done; or visited once all edges into it
 * are settled.
 */
const UNKNOWN = 0;
const SKIPPED = 1;
const VISITED = 2;
const SERVED = 3;
const COMING = 4;

/**
 * How far each request has come through the graph: which edges are settled, and which tasks are
 * therefore visited or skipped.
 *
 * A task is visited once all edges into it are settled and one of them is taken, and skipped if
 * none is; then the edges away from it are settled as not taken in the same moment. A join so waits
 * for every task before it, as a server must: one that still runs may yet send its query.
 *
 * A row of a request visits a task once at most. An edge with a fan-out makes rows of it, in their
 * own scope, each of which goes on by itself. A gather waits until the edge is settled for all rows
 * that were made of one; it is taken if one of them takes it, or makes a row of each whole window
 * of those that do, in their order. What does not fill a window goes no further.
 *
 * The driver opens a request, settles its entry edges, and for each query that is over says `serve`
 * and settles the edges away from its task, by `settle` or, where the edge has a fan-out, `spread`.
 * Rows are named by small integers: those of requests by the driver, below the capacity, and others
 * here. A name may be opened again once the driver has no more use for what it stood for.
 */
export class VisitProgress {
  /**
   * Tasks that have become visited since `clearReady`, `readyCount` of them, each with its row;
   * ascending within one `settle` for one row.
   */
  readyTask: Uint32Array;
  readyRow: Uint32Array;
  readyCount = 0;
  readonly #graph: TaskGraph;
  /** Whether rows of requests are the only rows. */
  readonly #isPlain: boolean;
  readonly #requestCapacity: number;
  /** [rowCapacity, edgeCount] */
  readonly #edge: Uint8Array;
  /** [rowCapacity, taskCount], both; edges into the task that are not settled. */
  readonly #task: Uint8Array;
  readonly #undecided: Uint16Array;
  /** [requestCapacity]: tasks of all rows that are neither skipped nor served. */
  readonly #openTasks: Uint32Array;
  /** [taskCount]: edges into each task. */
  readonly #inCount: Uint16Array;
  /**
   * [taskCount]: whether a task was skipped whose edges are still to be settled; all 0 between two
   * calls.
   */
  readonly #isToSkip: Uint8Array;
  /** [rowCapacity]: the row that it was made of, and its request; itself for that of a request. */
  readonly #parent: Int32Array;
  readonly #request: Uint32Array;
  /** [rowCapacity]: position among the rows that the same edge made of the same row. */
  readonly #ordinal: Uint32Array;
  /** [rowCapacity]: the next row of the request, or the next free one; plus one, 0 for none. */
  readonly #next: Uint32Array;
  #free = 0;
  /** Rows that can still be made. */
  freeRows: number;
  /** [rowCapacity, edgeCount], of a gather: rows that it waits for, and that take it so far. */
  readonly #awaited: Uint32Array;
  readonly #gathered: Uint32Array;
  /** Gathers that wait for nothing any more, and the rows they gather for. */
  readonly #dueEdge: number[] = [];
  readonly #dueRow: number[] = [];

  /** @param madeCapacity rows that edges have made, of open requests at most. */
  constructor(graph: TaskGraph, requestCapacity: number, madeCapacity = 0) {
    const { taskCount, edgeCount, inStart, scopes } = graph;
    const rowCapacity = requestCapacity + madeCapacity;
    this.#graph = graph;
    this.#isPlain = scopes.length === 1;
    this.#requestCapacity = requestCapacity;
    this.readyTask = new Uint32Array(taskCount);
    this.readyRow = new Uint32Array(taskCount);
    this.#edge = new Uint8Array(rowCapacity * edgeCount);
    this.#task = new Uint8Array(rowCapacity * taskCount);
    this.#undecided = new Uint16Array(rowCapacity * taskCount);
    this.#openTasks = new Uint32Array(requestCapacity);
    this.#inCount = Uint16Array.from(
      { length: taskCount },
      (_, task) => inStart[task + 1]! - inStart[task]!,
    );
    this.#isToSkip = new Uint8Array(taskCount);
    const linked = scopes.length > 1 ? rowCapacity : 0;
    this.#parent = new Int32Array(linked);
    this.#request = new Uint32Array(linked);
    this.#ordinal = new Uint32Array(linked);
    this.#next = new Uint32Array(linked);
    this.freeRows = madeCapacity;
    const gatherCells = scopes.some(({ gathers }) => gathers.length > 0) ? edgeCount : 0;
    this.#awaited = new Uint32Array(rowCapacity * gatherCells);
    this.#gathered = new Uint32Array(rowCapacity * gatherCells);
  }

  /** Opens a request under this name; nothing of it is settled. */
  open(request: number): void {
    this.#begin(request);
    this.#openTasks[request] = this.#graph.scopes[0]!.taskCount;
    if (this.#isPlain) return;
    this.#parent[request] = NONE;
    this.#request[request] = request;
    this.#ordinal[request] = 0;
    this.#next[request] = 0;
  }

  /** The request is over: the names of the rows that were made of it are free. */
  close(request: number): void {
    if (this.#isPlain) return;
    let named = this.#next[request]!;
    while (named !== 0) {
      const after = this.#next[named - 1]!;
      this.#next[named - 1] = this.#free;
      this.#free = named;
      this.freeRows++;
      named = after;
    }
    this.#next[request] = 0;
  }

  requestOf(row: number): number {
    return this.#isPlain ? row : this.#request[row]!;
  }

  /** Row that a row was made from; NONE for that of a request. */
  parentOf(row: number): number {
    return this.#isPlain ? NONE : this.#parent[row]!;
  }

  /** Position of a row among those that the same edge made from the same row. */
  ordinalOf(row: number): number {
    return this.#isPlain ? 0 : this.#ordinal[row]!;
  }

  /** Returns the next row of the same request, whose own row is first; NONE after the last. */
  nextRow(row: number): number {
    return this.#isPlain ? NONE : this.#next[row]! - 1;
  }

  /**
   * Settles an edge without a fan-out, from the requests or from a served task; tasks that are
   * visited now are appended to `readyTask`.
   */
  settle(row: number, edge: number, isTaken: boolean): void {
    this.#assertServed(row, edge);
    assert(
      this.#isPlain || this.#graph.kindByEdge[edge] !== SPREAD,
      "the number of made rows is known",
    );
    this.#settleOne(row, edge, isTaken);
    const first = this.#graph.childByEdge[edge]!;
    if (this.#isToSkip[first] === 1) this.#skip(row, first);
    if (!this.#isPlain) this.#gatherDue();
  }

  /**
   * Settles an edge with a fan-out: makes as many rows as are sent, which come to its task in their
   * order. Requires room for them.
   */
  spread(row: number, edge: number, sent: number): void {
    this.#assertServed(row, edge);
    assert(this.#graph.kindByEdge[edge] === SPREAD, "an edge with a fan-out makes rows");
    this.#make(row, edge, sent);
    this.#gatherDue();
  }

  /**
   * Marks the query of a visited task as answered. The edges away from the task are settled next.
   */
  serve(row: number, task: number): void {
    const at = row * this.#graph.taskCount + task;
    assert(this.#task[at] === VISITED, "a task that is served was visited");
    this.#task[at] = SERVED;
    this.#openTasks[this.requestOf(row)]!--;
  }

  /** Whether no query of the request waits, runs or is undecided. */
  isDone(request: number): boolean {
    return this.#openTasks[request] === 0;
  }

  /** Whether the edge is settled as taken; for a gather, by the row that it comes from. */
  isTaken(row: number, edge: number): boolean {
    return this.#edge[row * this.#graph.edgeCount + edge] === TAKEN;
  }

  clearReady(): void {
    this.readyCount = 0;
  }

  #assertServed(row: number, edge: number): void {
    const source = this.#graph.parentByEdge[edge]!;
    assert(
      source === REQUESTS || this.#task[row * this.#graph.taskCount + source] === SERVED,
      "an edge is settled when the task before it is served",
    );
  }

  #begin(row: number): void {
    const { taskCount, edgeCount } = this.#graph;
    const firstEdge = row * edgeCount;
    const firstTask = row * taskCount;
    for (let edge = 0; edge < edgeCount; edge++) this.#edge[firstEdge + edge] = UNDECIDED;
    for (let task = 0; task < taskCount; task++) {
      this.#task[firstTask + task] = UNKNOWN;
      this.#undecided[firstTask + task] = this.#inCount[task]!;
    }
  }

  #settleOne(row: number, edge: number, isTaken: boolean): void {
    const { edgeCount, kindByEdge } = this.#graph;
    const kind = this.#isPlain ? PLAIN : kindByEdge[edge]!;
    if (kind === SPREAD) {
      this.#make(row, edge, 0);
      return;
    }
    const atEdge = row * edgeCount + edge;
    assert(this.#edge[atEdge] === UNDECIDED, "an edge is settled once");
    this.#edge[atEdge] = isTaken ? TAKEN : NOT_TAKEN;
    if (kind === PLAIN) this.#decide(row, edge, isTaken);
    else this.#gather(row, edge, isTaken);
  }

  /** One edge less into a task of a row is open. */
  #decide(row: number, edge: number, isTaken: boolean): void {
    const { taskCount, childByEdge } = this.#graph;
    const task = childByEdge[edge]!;
    const at = row * taskCount + task;
    if (isTaken) this.#task[at] = COMING;
    if (--this.#undecided[at]! > 0) return;
    if (this.#task[at] === COMING) {
      this.#task[at] = VISITED;
      this.#ready(row, task);
    } else {
      this.#task[at] = SKIPPED;
      this.#openTasks[this.requestOf(row)]!--;
      this.#isToSkip[task] = 1;
    }
  }

  /** Tasks are in topological order, so one pass reaches all that a skipped one lets be skipped. */
  #skip(row: number, first: number): void {
    const { taskCount, outStart, outEdge } = this.#graph;
    const isToSkip = this.#isToSkip;
    for (let task = first; task < taskCount; task++) {
      if (isToSkip[task] === 0) continue;
      isToSkip[task] = 0;
      for (let out = outStart[task + 1]!; out < outStart[task + 2]!; out++) {
        this.#settleOne(row, outEdge[out]!, false);
      }
    }
  }

  /** A row's edge to a gather is settled. */
  #gather(row: number, edge: number, isTaken: boolean): void {
    const to = this.#parent[row]!;
    const cell = to * this.#graph.edgeCount + edge;
    if (isTaken) this.#gathered[cell]!++;
    if (--this.#awaited[cell]! === 0) this.#setDue(to, edge);
  }

  #setDue(row: number, edge: number): void {
    this.#dueRow.push(row);
    this.#dueEdge.push(edge);
  }

  #gatherDue(): void {
    while (this.#dueEdge.length > 0) {
      const row = this.#dueRow.pop()!;
      const edge = this.#dueEdge.pop()!;
      const count = this.#gathered[row * this.#graph.edgeCount + edge]!;
      if (this.#graph.kindByEdge[edge] === WINDOWS) {
        this.#make(row, edge, Math.floor(count / this.#graph.windowByEdge[edge]!));
      } else {
        const task = this.#graph.childByEdge[edge]!;
        this.#decide(row, edge, count > 0);
        if (this.#isToSkip[task] === 1) this.#skip(row, task);
      }
    }
  }

  /** Makes rows from one; gathers of their scope wait for them, or are due if count is 0. */
  #make(row: number, edge: number, count: number): void {
    const { edgeCount, kindByEdge, childByEdge, scopeByTask, scopes } = this.#graph;
    const task = childByEdge[edge]!;
    const scope = scopes[scopeByTask[task]!]!;
    const request = this.#request[row]!;
    if (kindByEdge[edge] === SPREAD) {
      const atEdge = row * edgeCount + edge;
      assert(this.#edge[atEdge] === UNDECIDED, "an edge is settled once");
      this.#edge[atEdge] = count > 0 ? TAKEN : NOT_TAKEN;
    }
    for (const gather of scope.gathers) {
      const cell = row * edgeCount + gather;
      this.#awaited[cell] = count;
      this.#gathered[cell] = 0;
      if (count === 0) this.#setDue(row, gather);
    }
    this.#openTasks[request]! += count * scope.taskCount;
    for (let ordinal = 0; ordinal < count; ordinal++) {
      const made = this.#takeName(request);
      this.#begin(made);
      this.#parent[made] = row;
      this.#request[made] = request;
      this.#ordinal[made] = ordinal;
      this.#task[made * this.#graph.taskCount + task] = VISITED;
      this.#ready(made, task);
    }
  }

  /** Returns a free name, listed with those of the request. */
  #takeName(request: number): number {
    assert(this.freeRows > 0, "there is room for the rows that are made");
    let name = this.#free - 1;
    if (name === NONE) name = this.#requestCapacity + this.#usedRows++;
    else this.#free = this.#next[name]!;
    this.freeRows--;
    this.#next[name] = this.#next[request]!;
    this.#next[request] = name + 1;
    return name;
  }

  /** Names that were ever taken: memory of the others is never touched. */
  #usedRows = 0;

  #ready(row: number, task: number): void {
    if (this.readyCount === this.readyTask.length) {
      this.readyTask = doubled(this.readyTask);
      this.readyRow = doubled(this.readyRow);
    }
    this.readyRow[this.readyCount] = row;
    this.readyTask[this.readyCount++] = task;
  }
}

function doubled(values: Uint32Array): Uint32Array {
  const grown = new Uint32Array(2 * values.length);
  grown.set(values);
  return grown;
}
