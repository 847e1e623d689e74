/**
 * Routes rows through a task graph in which they visit each task at most once, including rows that
 * fan-outs make of them.
 */
import { assert } from "../../../core/assert.ts";
import { NONE } from "../../../core/graph/pipeline-shape.ts";
import { REQUESTS, SPREAD, type TaskGraph, WINDOWS } from "../../../core/graph/task-graph.ts";
import { VisitProgress } from "../../../core/graph/visit-progress.ts";
import { at, type PipelineSignature, type TaskSignature } from "../signature/pipeline-signature.ts";
import type { CutOutput } from "./batch-tensors.ts";
import { type Course, type Courses, MOST_ROWS, NO_ROOM } from "./course.ts";
import { CourseRow, RowInputs, RowQuery } from "./course-rows.ts";
import { EdgeCoins } from "./edge-coins.ts";
import type { PipelineQuery, PipelineRequest } from "./pipeline-request.ts";

/** State that all courses through one pipeline share. */
interface Way {
  readonly signature: PipelineSignature;
  readonly graph: TaskGraph;
  /** Edges that lead away, ascending, from the requests and then from each task. */
  readonly edgesBySource: readonly (readonly number[])[];
  readonly progress: VisitProgress;
  /** Names for rows of requests that `progress` has not given away. */
  readonly freeRows: number[];
  readonly inputs: RowInputs;
  /** Maximum number of windows that a row may help to make. */
  readonly windowsOfRow: number;
}

/**
 * Courses through a graph of tasks, each of which a row visits at most once; a task with several
 * edges waits for all of them.
 */
export class VisitCourses implements Courses {
  readonly #way: Way;
  readonly #coins: EdgeCoins;

  /**
   * @param rowCapacity maximum number of rows of open requests.
   * @param madeCapacity maximum number of rows that fan-outs made of them.
   */
  constructor(
    signature: PipelineSignature,
    graph: TaskGraph,
    rowCapacity: number,
    madeCapacity = 0,
  ) {
    const freeRows = Array.from({ length: rowCapacity }, (_, index) => rowCapacity - 1 - index);
    const progress = new VisitProgress(graph, rowCapacity, madeCapacity);
    const sources = [REQUESTS, ...signature.tasks.keys()];
    const edgesBySource = sources.map((source) => edgesAwayFrom(graph, source));
    const inputs = new RowInputs(signature, graph, progress);
    const windowsOfRow = graph.kindByEdge.reduce((sum, kind, edge) => {
      return kind === WINDOWS ? sum + 1 / at([...graph.windowByEdge], edge) : sum;
    }, 0);
    this.#way = { signature, graph, edgesBySource, progress, freeRows, inputs, windowsOfRow };
    this.#coins = new EdgeCoins(graph);
  }

  courseOf(request: PipelineRequest): Course {
    const { graph, edgesBySource } = this.#way;
    const edges = at(edgesBySource, REQUESTS + 1);
    const nothing = edges.map(() => null);
    const isExclusive = isExclusiveAt(graph, REQUESTS);
    const enteredByRow = Array.from({ length: request.rows }, () =>
      this.#coins.toss(edges, isExclusive, nothing),
    );
    return new VisitCourse(this.#way, request, enteredByRow);
  }

  sentOf(task: number, cut: readonly CutOutput[], batchRow: number): readonly number[] | string {
    const { graph, signature, edgesBySource } = this.#way;
    const served = at(signature.tasks, task);
    const isExclusive = isExclusiveAt(graph, task);
    const counted = served.edgesAway.map(({ feed }) => {
      const count = feed?.count ?? null;
      return count === null ? null : at(cut, count).integer(batchRow);
    });
    const sent = this.#coins.toss(at(edgesBySource, task + 1), isExclusive, counted);
    return problemOf(served, sent, isExclusive) ?? sent;
  }
}

/** The rows of a request, those that were made of them, and their queries. */
class VisitCourse implements Course {
  readonly #way: Way;
  readonly #request: PipelineRequest;
  readonly #enteredByRow: readonly (readonly number[])[];
  /** Rows of the request; empty before the beginning and after the end. */
  readonly #rows: CourseRow[] = [];
  readonly #made = new Map<number, CourseRow>();

  constructor(way: Way, request: PipelineRequest, enteredByRow: readonly (readonly number[])[]) {
    this.#way = way;
    this.#request = request;
    this.#enteredByRow = enteredByRow;
  }

  begin(): readonly PipelineQuery[] | string {
    const { edgesBySource, progress, freeRows } = this.#way;
    const edges = at(edgesBySource, REQUESTS + 1);
    const queries: PipelineQuery[] = [];
    for (const [index, entered] of this.#enteredByRow.entries()) {
      const name = freeRows.pop();
      assert(name !== undefined, "a request is refused if there are too many rows");
      const row = new CourseRow(name, index, null);
      this.#rows.push(row);
      progress.open(name);
      const visited = this.#settle(row, edges, entered);
      if (typeof visited === "string") return visited;
      queries.push(...visited);
    }
    return queries;
  }

  follow(
    query: PipelineQuery,
    sent: readonly number[],
  ): readonly PipelineQuery[] | string | typeof NO_ROOM {
    assert(query instanceof RowQuery, "a query of the course is of one of its rows");
    const { edgesBySource, progress } = this.#way;
    const edges = at(edgesBySource, query.task + 1);
    if (!this.#hasRoom(edges, sent)) return NO_ROOM;
    progress.serve(query.of.name, query.task);
    return this.#settle(query.of, edges, sent);
  }

  queriesByTask(): PipelineQuery[][] {
    const { signature, graph } = this.#way;
    const rowsByScope = graph.scopes.map((): CourseRow[] => []);
    for (const [scope, { parent }] of graph.scopes.entries()) {
      const rows = parent < 0 ? this.#rows : at(rowsByScope, parent);
      const own = parent < 0 ? rows : rows.flatMap((row) => row.madeBy(scope));
      rowsByScope[scope] = [...own];
    }
    return signature.tasks.map((_, task) => {
      const rows = at(rowsByScope, graph.scopeByTask[task] ?? 0);
      return rows.flatMap((row) => row.queries[task] ?? []);
    });
  }

  end(): void {
    const { progress, freeRows } = this.#way;
    for (const { name } of this.#rows.splice(0)) {
      progress.close(name);
      freeRows.push(name);
    }
    this.#made.clear();
  }

  /**
   * Checks the capacity for the rows that are sent, and for the windows that they and all others
   * may make.
   */
  #hasRoom(edges: readonly number[], sent: readonly number[]): boolean {
    const { graph, progress, windowsOfRow } = this.#way;
    if (graph.scopes.length === 1) return true;
    const making = edges.reduce((sum, edge, index) => {
      return graph.kindByEdge[edge] === SPREAD ? sum + at(sent, index) : sum;
    }, 0);
    return making + windowsOfRow * (making + this.#made.size) <= progress.freeRows;
  }

  /**
   * @returns queries of the tasks that are visited now; or, as text, which input one of them lacks.
   */
  #settle(
    from: CourseRow,
    edges: readonly number[],
    sent: readonly number[],
  ): PipelineQuery[] | string {
    const { progress, graph, inputs } = this.#way;
    progress.clearReady();
    for (const [index, edge] of edges.entries()) {
      const count = at(sent, index);
      if (graph.kindByEdge[edge] === SPREAD) progress.spread(from.name, edge, count);
      else progress.settle(from.name, edge, count === 1);
    }
    const queries: PipelineQuery[] = [];
    for (let index = 0; index < progress.readyCount; index++) {
      const task = progress.readyTask[index] ?? 0;
      const row = this.#rowOf(progress.readyRow[index] ?? 0, graph.scopeByTask[task] ?? 0, from);
      const query = inputs.queryOf(this.#request, task, row);
      if (typeof query === "string") return query;
      row.queries[task] = query;
      queries.push(query);
    }
    return queries;
  }

  /**
   * @param from a row whose edge was settled: the visited row was made of it, or it of the visited
   * one.
   */
  #rowOf(name: number, scope: number, from: CourseRow): CourseRow {
    for (let row: CourseRow | null = from; row !== null; row = row.madeOf) {
      if (row.name === name) return row;
    }
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const { progress, graph } = this.#way;
    const parentName = progress.parentOf(name);
    assert(parentName !== NONE, "a row of a request is known");
    const parent = this.#rowOf(parentName, graph.scopes[scope]?.parent ?? 0, from);
    const row = new CourseRow(name, parent.row, parent);
    parent.madeBy(scope).push(row);
    this.#made.set(name, row);
    return row;
  }
}

/** Describes why the counts that a model returned for a row do not determine its edges. */
function problemOf(
  { edgesAway, outputs }: TaskSignature,
  sent: readonly number[],
  isExclusive: boolean,
): string | undefined {
  const counts = edgesAway.map(({ feed }) => {
    return feed === null || feed.count === null ? "" : at(outputs, feed.count).name;
  });
  const wrong = sent.findIndex((count, index) => {
    return count < 0 || count > (edgesAway[index]?.isFanout === true ? MOST_ROWS : 1);
  });
  if (wrong >= 0) {
    const isFanout = edgesAway[wrong]?.isFanout === true;
    const allowed = isFanout ? `0 to ${MOST_ROWS}` : "0 or 1";
    return `output "${counts[wrong]}" counts ${sent[wrong]} for a row, expected ${allowed}`;
  }
  const taken = counts.filter((_, index) => (sent[index] ?? 0) > 0);
  if (!isExclusive || taken.length <= 1) return undefined;
  return `outputs "${taken.join('" and "')}" both send a row on, expected at most one of them`;
}

function edgesAwayFrom({ outStart, outEdge }: TaskGraph, source: number): number[] {
  return [...outEdge.subarray(outStart[source + 1], outStart[source + 2])];
}

function isExclusiveAt({ isExclusive }: TaskGraph, source: number): boolean {
  return isExclusive[source + 1] === 1;
}
