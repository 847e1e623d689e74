/** Leads rows through a graph of tasks that they visit once at most. */
import { assert } from "../../core/assert.ts";
import { REQUESTS, type TaskGraph } from "../../core/graph/task-graph.ts";
import { VisitProgress } from "../../core/graph/visit-progress.ts";
import type { CutOutput } from "./batch-tensors.ts";
import type { Course, Courses } from "./course.ts";
import { EdgeCoins } from "./edge-coins.ts";
import { PipelineQuery, type PipelineRequest } from "./pipeline-request.ts";
import {
  at,
  type PipelineSignature,
  type ServedEdge,
  type TaskSignature,
} from "./pipeline-signature.ts";

/** What the courses through one pipeline share. */
interface Way {
  readonly signature: PipelineSignature;
  readonly graph: TaskGraph;
  /** Edges that lead away, ascending, from the requests and then from each task. */
  readonly edgesBySource: readonly (readonly number[])[];
  readonly progress: VisitProgress;
  /** Names for rows that `progress` has not given away. */
  readonly freeRows: number[];
}

/**
 * Courses through a graph of tasks, each of which a row visits once at most; a task with several
 * edges waits for all of them.
 */
export class VisitCourses implements Courses {
  readonly #way: Way;
  readonly #coins: EdgeCoins;

  /** @param rowCapacity rows of requests that are open at most. */
  constructor(signature: PipelineSignature, graph: TaskGraph, rowCapacity: number) {
    const freeRows = Array.from({ length: rowCapacity }, (_, index) => rowCapacity - 1 - index);
    const progress = new VisitProgress(graph, rowCapacity);
    const sources = [REQUESTS, ...signature.tasks.keys()];
    const edgesBySource = sources.map((source) => edgesAwayFrom(graph, source));
    this.#way = { signature, graph, edgesBySource, progress, freeRows };
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

/**
 * Queries of a request by task and row; what a row still waits for is known by its name in the
 * progress.
 */
class VisitCourse implements Course {
  readonly #way: Way;
  readonly #request: PipelineRequest;
  readonly #enteredByRow: readonly (readonly number[])[];
  /** Of each row its name; empty before the beginning and after the end. */
  readonly #names: number[] = [];
  /** Of each task, by row. */
  readonly #queries: readonly (PipelineQuery | undefined)[][];

  constructor(way: Way, request: PipelineRequest, enteredByRow: readonly (readonly number[])[]) {
    this.#way = way;
    this.#request = request;
    this.#enteredByRow = enteredByRow;
    this.#queries = way.signature.tasks.map(() => []);
  }

  begin(): readonly PipelineQuery[] | string {
    const { edgesBySource, progress, freeRows } = this.#way;
    const edges = at(edgesBySource, REQUESTS + 1);
    const queries: PipelineQuery[] = [];
    for (const [row, entered] of this.#enteredByRow.entries()) {
      const name = freeRows.pop();
      assert(name !== undefined, "a request is refused if there are too many rows");
      this.#names.push(name);
      progress.open(name);
      const visited = this.#settle(row, edges, entered);
      if (typeof visited === "string") return visited;
      queries.push(...visited);
    }
    return queries;
  }

  follow(query: PipelineQuery, sent: readonly number[]): readonly PipelineQuery[] | string {
    const { edgesBySource, progress } = this.#way;
    const { task, row } = query;
    progress.serve(at(this.#names, row), task);
    return this.#settle(row, at(edgesBySource, task + 1), sent);
  }

  queriesByTask(): PipelineQuery[][] {
    return this.#queries.map((byRow) => byRow.filter((query) => query !== undefined));
  }

  end(): void {
    this.#way.freeRows.push(...this.#names.splice(0));
  }

  /**
   * @returns queries of the tasks that are visited now; or, as text, which input one of them lacks.
   */
  #settle(
    row: number,
    edges: readonly number[],
    sent: readonly number[],
  ): PipelineQuery[] | string {
    const { progress } = this.#way;
    const name = at(this.#names, row);
    progress.clearReady();
    for (const [index, edge] of edges.entries()) progress.settle(name, edge, sent[index] === 1);
    const queries: PipelineQuery[] = [];
    for (const task of progress.readyTask.subarray(0, progress.readyCount)) {
      const inputs = this.#inputsOf(task, row);
      if (typeof inputs === "string") return inputs;
      const query = new PipelineQuery(this.#request, task, null, inputs, row);
      at(this.#queries, task)[row] = query;
      queries.push(query);
    }
    return queries;
  }

  /** Each input from the first edge that was taken and gives it. */
  #inputsOf(task: number, row: number): Uint8Array[] | string {
    const { signature, graph, progress } = this.#way;
    const { name, edges, inputs } = at(signature.tasks, task);
    const firstEdge = graph.inStart[task] ?? 0;
    const taken = edges.filter((_, index) =>
      progress.isTaken(at(this.#names, row), firstEdge + index),
    );
    const bytesByInput: Uint8Array[] = [];
    for (const [index, input] of inputs.entries()) {
      const bytes = this.#firstGiven(taken, index, row);
      if (bytes === undefined) {
        const senders = taken.map(({ parent }) => this.#nameOf(parent)).join(" and ");
        return (
          `${name}: its input "${input.name}" is not given by ${senders}, ` +
          "from where the row came"
        );
      }
      bytesByInput.push(bytes);
    }
    return bytesByInput;
  }

  #firstGiven(edges: readonly ServedEdge[], input: number, row: number): Uint8Array | undefined {
    for (const { parent, child, feed } of edges) {
      if (parent === null) {
        const given = at(at(this.#way.signature.tasks, child).requestInputs, input);
        if (given >= 0) return this.#request.inputRow(given, row);
        continue;
      }
      const output = feed?.outputByInput[input] ?? null;
      if (output === null) continue;
      const part = this.#queries[parent]?.[row]?.outputs[output];
      assert(part?.rows === 1, "what a row takes along is one row of the task before");
      return part.bytes;
    }
    return undefined;
  }

  #nameOf(parent: number | null): string {
    return parent === null ? "the request" : at(this.#way.signature.tasks, parent).name;
  }
}

/** Why the counts that a model gave for a row do not tell where it goes, as text. */
function problemOf(
  { edgesAway, outputs }: TaskSignature,
  sent: readonly number[],
  isExclusive: boolean,
): string | undefined {
  const counts = edgesAway.map(({ feed }) => {
    return feed === null || feed.count === null ? "" : at(outputs, feed.count).name;
  });
  const wrong = sent.findIndex((count) => count !== 0 && count !== 1);
  if (wrong >= 0) {
    return `output "${counts[wrong]}" counts ${sent[wrong]} for a row, expected 0 or 1`;
  }
  const taken = counts.filter((_, index) => sent[index] === 1);
  if (!isExclusive || taken.length <= 1) return undefined;
  return `outputs "${taken.join('" and "')}" both send a row on, expected one of them at most`;
}

function edgesAwayFrom({ outStart, outEdge }: TaskGraph, source: number): number[] {
  return [...outEdge.subarray(outStart[source + 1], outStart[source + 2])];
}

function isExclusiveAt({ isExclusive }: TaskGraph, source: number): boolean {
  return isExclusive[source + 1] === 1;
}
