/** Leads rows through a tree of tasks. */
import { assert } from "../../../core/assert.ts";
import type { CutOutput } from "../../../server/graph/requests/batch-tensors.ts";
import { type Course, type Courses, MOST_ROWS } from "../../../server/graph/requests/course.ts";
import {
  PipelineQuery,
  type PipelineRequest,
} from "../../../server/graph/requests/pipeline-request.ts";
import { fitToSizes } from "../../../server/graph/requests/row-sizes.ts";
import {
  at,
  type PipelineSignature,
  type ServedEdge,
} from "../../../server/graph/signature/pipeline-signature.ts";
import { type Entry, EntryCoin } from "./entry-coin.ts";

/** Courses through a tree of tasks, where a row becomes any number of queries of the next task. */
export class TreeCourses implements Courses {
  readonly #signature: PipelineSignature;
  readonly #coin: EntryCoin;

  constructor(signature: PipelineSignature) {
    this.#signature = signature;
    this.#coin = new EntryCoin(signature.entryEdges);
  }

  courseOf(request: PipelineRequest): Course {
    return new TreeCourse(this.#signature, request, this.#coin.entriesOf(request.rows));
  }

  sentOf(task: number, cut: readonly CutOutput[], batchRow: number): readonly number[] | string {
    const { edgesAway, outputs } = at(this.#signature.tasks, task);
    const sent: number[] = [];
    for (const { feed } of edgesAway) {
      const output = feed?.count ?? null;
      const count = output === null ? 1 : at(cut, output).integer(batchRow);
      // Rows of outputs would be missing, but inputs that are passed on can be repeated at will.
      if (output !== null && (count < 0 || count > MOST_ROWS)) {
        const { name } = at(outputs, output);
        return `output "${name}" counts ${count} for a row, expected 0 to ${MOST_ROWS}`;
      }
      sent.push(count);
    }
    return sent;
  }
}

/** Course of a request where the queries made from a query are its children. */
class TreeCourse implements Course {
  readonly #signature: PipelineSignature;
  readonly #request: PipelineRequest;
  readonly #entries: readonly Entry[];
  /**
   * Queries of each task, in the order of the rows; those of tasks that are no entries stay empty.
   */
  readonly #firstByTask: readonly PipelineQuery[][];

  constructor(signature: PipelineSignature, request: PipelineRequest, entries: readonly Entry[]) {
    this.#signature = signature;
    this.#request = request;
    this.#entries = entries;
    this.#firstByTask = signature.tasks.map(() => []);
  }

  begin(): readonly PipelineQuery[] | string {
    const queries: PipelineQuery[] = [];
    for (const { row, task } of this.#entries) {
      const served = at(this.#signature.tasks, task);
      const { requestInputs, axes } = served;
      const inputs = requestInputs.map((input) => this.#request.inputRow(input, row));
      const query = new PipelineQuery(this.#request, task, null, inputs);
      if (axes.length > 0) {
        const shapes = requestInputs.map((input) => this.#request.rowShape(input));
        const problem = fitToSizes(query, served, shapes);
        if (problem !== undefined) return problem;
      }
      at(this.#firstByTask, task).push(query);
      queries.push(query);
    }
    return queries;
  }

  follow(
    query: PipelineQuery,
    sent: readonly number[],
    cut: readonly CutOutput[],
    batchRow: number,
  ): readonly PipelineQuery[] | string {
    const { edgesAway } = at(this.#signature.tasks, query.task);
    query.children = edgesAway.map((edge, index) =>
      Array.from({ length: at(sent, index) }, (_, position) => {
        const inputs = fedInputs(edge, query, cut, batchRow, position);
        return new PipelineQuery(query.request, edge.child, query, inputs);
      }),
    );
    const children = query.children.flat();
    for (const [index, edge] of edgesAway.entries()) {
      const served = at(this.#signature.tasks, edge.child);
      if (served.axes.length === 0) continue;
      const { inputs } = at(this.#signature.tasks, query.task);
      const shapes = (edge.feed?.outputByInput ?? []).map((output, input) => {
        if (output !== null) return at(cut, output).rowShape;
        return at(inputs, edge.feed?.passedByInput[input] ?? 0).rowShape;
      });
      for (const child of at(query.children, index)) {
        const problem = fitToSizes(child, served, shapes);
        if (problem !== undefined) return problem;
      }
    }
    return children;
  }

  /** Returns the queries in the order of the rows, and of their outputs. */
  queriesByTask(): PipelineQuery[][] {
    const queriesByTask: PipelineQuery[][] = [];
    for (const [task, { edges }] of this.#signature.tasks.entries()) {
      const parent = edges[0]?.parent ?? null;
      if (parent === null) {
        queriesByTask.push(at(this.#firstByTask, task));
        continue;
      }
      const { edgesAway } = at(this.#signature.tasks, parent);
      const position = edgesAway.findIndex(({ child }) => child === task);
      const queries = at(queriesByTask, parent).flatMap(({ children }) => children[position] ?? []);
      queriesByTask.push(queries);
    }
    return queriesByTask;
  }

  end(): void {}
}

function fedInputs(
  { feed }: ServedEdge,
  parent: PipelineQuery,
  cut: readonly CutOutput[],
  batchRow: number,
  position: number,
): Uint8Array[] {
  return (feed?.outputByInput ?? []).map((output, input) => {
    if (output !== null) return at(cut, output).row(batchRow, position);
    const passed = feed?.passedByInput[input] ?? null;
    assert(passed !== null, "the only edge to a task gives it every input");
    return at(parent.inputs, passed);
  });
}
