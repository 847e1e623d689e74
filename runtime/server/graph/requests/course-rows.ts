/** Rows of a request in the pipeline, and the inputs that each task takes from earlier rows. */
import { assert } from "../../../core/assert.ts";
import { GATHER, type TaskGraph, WINDOWS } from "../../../core/graph/task-graph.ts";
import type { VisitProgress } from "../../../core/graph/visit-progress.ts";
import { elementCountOf, rowBounds } from "../../tensors/tensors.ts";
import {
  at,
  type PipelineSignature,
  type ServedEdge,
  type TaskSignature,
} from "../signature/pipeline-signature.ts";
import type { TensorPart } from "./batch-tensors.ts";
import { PipelineQuery, type PipelineRequest } from "./pipeline-request.ts";
import { fitToSizes } from "./row-sizes.ts";

/** A row of a request, or one that an edge has made of such a row. */
export class CourseRow {
  /** Same as in `VisitProgress`. */
  readonly name: number;
  /** Index of the row in its request, or of the one that it was made of. */
  readonly row: number;
  /** The row that it was made of; null for that of a request. */
  readonly madeOf: CourseRow | null;
  /** Indexed by task. */
  readonly queries: (PipelineQuery | undefined)[] = [];
  /** Rows made from this one, by scope, in their order. */
  readonly #made: CourseRow[][] = [];

  constructor(name: number, row: number, madeOf: CourseRow | null) {
    this.name = name;
    this.row = row;
    this.madeOf = madeOf;
  }

  /** Rows of a scope that were made of this one; not a copy. */
  madeBy(scope: number): CourseRow[] {
    this.#made[scope] ??= [];
    return this.#made[scope];
  }
}

export class RowQuery extends PipelineQuery {
  readonly of: CourseRow;

  constructor(
    request: PipelineRequest,
    task: number,
    inputs: readonly Uint8Array[],
    of: CourseRow,
  ) {
    super(request, task, null, inputs, of.row);
    this.of = of;
  }
}

/** Collects the inputs of a row at a task from the outputs, and inputs, of earlier tasks. */
export class RowInputs {
  readonly #signature: PipelineSignature;
  readonly #graph: TaskGraph;
  readonly #progress: VisitProgress;

  constructor(signature: PipelineSignature, graph: TaskGraph, progress: VisitProgress) {
    this.#signature = signature;
    this.#graph = graph;
    this.#progress = progress;
  }

  /**
   * Takes each input from the first taken edge that provides it, padded to the sizes of the task;
   * returns, as text, which input is missing, too large or cannot be concatenated.
   */
  queryOf(request: PipelineRequest, task: number, row: CourseRow): RowQuery | string {
    const served = at(this.#signature.tasks, task);
    const { name, edges, inputs, axes } = served;
    const shapes: (readonly number[])[] | undefined = axes.length === 0 ? undefined : [];
    const firstEdge = this.#graph.inStart[task] ?? 0;
    const taken = edges.flatMap((served, index): Arrival[] => {
      const edge = firstEdge + index;
      const from = this.#sources(edge, row, task);
      return from.length === 0 ? [] : [{ served, edge, from }];
    });
    const bytesByInput: Uint8Array[] = [];
    for (const [index, input] of inputs.entries()) {
      const bytes = this.#firstGiven(request, taken, index, row, shapes);
      if (bytes === undefined) {
        const senders = taken.map(({ served }) => this.#nameOf(served.parent)).join(" and ");
        return (
          `${name}: its input "${input.name}" is not given by ${senders}, ` +
          "from where the row came"
        );
      }
      if (typeof bytes === "string") return `${name}: its input "${input.name}" ${bytes}`;
      bytesByInput.push(bytes);
    }
    const query = new RowQuery(request, task, bytesByInput, row);
    const problem = shapes === undefined ? undefined : fitToSizes(query, served, shapes);
    return problem ?? query;
  }

  /** Rows that arrive along an edge and form a row of a task; empty where the edge is not taken. */
  #sources(edge: number, row: CourseRow, task: number): readonly CourseRow[] {
    const kind = this.#graph.kindByEdge[edge];
    if (kind !== GATHER && kind !== WINDOWS) {
      const isMade = this.#graph.scopes[this.#graph.scopeByTask[task] ?? 0]?.edge === edge;
      if (isMade) return row.madeOf === null ? [] : [row.madeOf];
      return this.#progress.isTaken(row.name, edge) ? [row] : [];
    }
    const scope = this.#graph.scopeByTask[this.#graph.parentByEdge[edge] ?? 0] ?? 0;
    const madeOf = kind === WINDOWS ? row.madeOf : row;
    const taken = (madeOf?.madeBy(scope) ?? []).filter(({ name }) =>
      this.#progress.isTaken(name, edge),
    );
    if (kind === GATHER) return taken;
    const window = this.#graph.windowByEdge[edge] ?? 1;
    const first = window * this.#progress.ordinalOf(row.name);
    return taken.slice(first, first + window);
  }

  /** @param shapes takes the shape of what is given; undefined for inputs of one size. */
  #firstGiven(
    request: PipelineRequest,
    arrivals: readonly Arrival[],
    input: number,
    row: CourseRow,
    shapes: (readonly number[])[] | undefined,
  ): Uint8Array | string | undefined {
    for (const { served, edge, from } of arrivals) {
      const { parent, child, feed, isGather } = served;
      if (parent === null) {
        const given = at(at(this.#signature.tasks, child).requestInputs, input);
        if (given < 0) continue;
        shapes?.push(request.rowShape(given));
        return request.inputRow(given, row.row);
      }
      const output = feed?.outputByInput[input] ?? null;
      const passed = feed?.passedByInput[input] ?? null;
      if (output === null && passed === null) continue;
      const parts =
        output === null
          ? from.map(({ queries }) => this.#passedPart(queries[parent], parent, passed ?? 0))
          : from.map(({ queries }) => partOf(queries[parent], output));
      const [part] = parts;
      assert(part !== undefined, "an edge that is taken brings a row");
      shapes?.push(isGather ? [parts.length, ...part.rowShape] : part.rowShape);
      if (isGather) return joinedRows(parts);
      const isMade = this.#graph.scopes[this.#graph.scopeByTask[child] ?? 0]?.edge === edge;
      if (!isMade || part.rows === 1) {
        assert(part.rows === 1, "what a row takes along is one row of the task before");
        return part.bytes;
      }
      const task = at(this.#signature.tasks, parent);
      assert(output !== null, "an input is one row of its query");
      return rowOf(task, output, part, this.#progress.ordinalOf(row.name));
    }
    return undefined;
  }

  /** The input that a task was given for a row, and passes on. */
  #passedPart(query: PipelineQuery | undefined, parent: number, input: number): TensorPart {
    const bytes = query?.inputs[input];
    assert(bytes !== undefined, "a task that passes inputs on keeps them");
    const { rowShape } = at(at(this.#signature.tasks, parent).inputs, input);
    return { rows: 1, rowShape, bytes };
  }

  #nameOf(parent: number | null): string {
    return parent === null ? "the request" : at(this.#signature.tasks, parent).name;
  }
}

/** An edge along which rows have arrived. */
interface Arrival {
  readonly served: ServedEdge;
  readonly edge: number;
  readonly from: readonly CourseRow[];
}

function partOf(query: PipelineQuery | undefined, output: number): TensorPart {
  const part = query?.outputs[output];
  assert(part !== undefined, "a task that sends a row on was there");
  return part;
}

/** Rows of their tasks, one after the other; or, as text, why they do not make one. */
function joinedRows(parts: readonly TensorPart[]): Uint8Array | string {
  const [first] = parts;
  const shape = first?.rowShape.join(", ") ?? "";
  const other = parts.find(({ rowShape }) => rowShape.join(", ") !== shape);
  if (other !== undefined) {
    return `gathers rows of the shapes [${shape}] and [${other.rowShape.join(", ")}]`;
  }
  assert(
    parts.every(({ rows }) => rows === 1),
    "what is gathered is one row of each",
  );
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part.bytes, offset);
    offset += part.bytes.length;
  }
  return bytes;
}

/** Selects one of the rows that a task made from a row. */
function rowOf(
  { outputs }: TaskSignature,
  output: number,
  { bytes, rows, rowShape }: TensorPart,
  ordinal: number,
): Uint8Array {
  const bounds = rowBounds(at(outputs, output).datatype, bytes, rows, elementCountOf(rowShape));
  assert(bounds !== undefined && ordinal < rows, "as many rows are given as are counted");
  return bytes.subarray(bounds[ordinal], bounds[ordinal + 1]);
}
