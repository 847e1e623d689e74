/** One client request in a pipeline: the queries of its rows, and their outputs for the client. */
import { assert } from "../../../core/assert.ts";
import {
  type Answerer,
  answerTimes,
  type BatchRun,
  type FailureReason,
  joined,
  type Outcome,
  type OutputTensor,
  type RequestRows,
} from "../../requests/request.ts";
import { bucketRowShape } from "../../tensors/padding.ts";
import { elementCountOf, rowBounds } from "../../tensors/tensors.ts";
import { at, type PipelineSignature, type TaskSignature } from "../signature/pipeline-signature.ts";
import type { TensorPart } from "./batch-tensors.ts";

/** Number of last batches among which a known batch is searched. */
const MAX_RUNS = 16;

/** One row for one task. */
export class PipelineQuery {
  readonly request: PipelineRequest;
  readonly task: number;
  /** In a tree, the query that it follows. */
  readonly parent: PipelineQuery | null;
  /** Index of the row in its request, where no row has two queries for a task. */
  readonly row: number;
  /** Bytes of each input of the task; empty once the query is done, unless the task passes on. */
  inputs: readonly Uint8Array[];
  /** Sizes of its row, where inputs of the task have axes of several: the index of its bucket. */
  bucket = 0;
  /** Index among the variants of all tasks; −1 until it runs. */
  variant = -1;
  /** Workers that were lost under it. */
  losses = 0;
  /** Reason of the last loss; empty without one. */
  lossMessage = "";
  /** When it was handed in, by the clock of the server. */
  sinceMs = Number.NaN;
  /** Parts of each output of the task; empty until the query is done. */
  outputs: readonly TensorPart[] = [];
  /**
   * Queries that follow this one for each child task of a tree, in order; empty until it is done.
   */
  children: readonly (readonly PipelineQuery[])[] = [];
  /** Whether it is done and no query follows. */
  isLast = false;

  constructor(
    request: PipelineRequest,
    task: number,
    parent: PipelineQuery | null,
    inputs: readonly Uint8Array[],
    row = 0,
  ) {
    this.request = request;
    this.task = task;
    this.parent = parent;
    this.inputs = inputs;
    this.row = row;
  }
}

/** Knows the queries of a request. */
export interface QuerySource {
  /** Gives the queries of each task in the order in which the client gets their outputs. */
  queriesByTask(): readonly (readonly PipelineQuery[])[];
}

/** Determines the variants that answered. @param queriesByTask all of them done. */
export type AnswererOf = (queriesByTask: readonly (readonly PipelineQuery[])[]) => Answerer;

interface PipelineRequestOptions {
  readonly signature: PipelineSignature;
  readonly answererOf: AnswererOf;
  readonly rows: RequestRows;
  /** Sizes that its rows were padded to; 0 where inputs have one size. */
  readonly bucket: number;
  readonly arrivalMs: number;
  readonly deadlineMs: number;
  readonly settle: (outcome: Outcome) => void;
}

export class PipelineRequest {
  readonly rows: number;
  readonly arrivalMs: number;
  readonly deadlineMs: number;
  /** Slots of its queries that wait or run. */
  readonly slots = new Set<number>();
  startMs = Number.NaN;
  /** When the first batch with a query of it was handed to a worker. */
  handedMs = Number.NaN;
  /** Accuracy of the variants that answered; 0 before. */
  accuracy = 0;
  readonly #signature: PipelineSignature;
  readonly #answererOf: AnswererOf;
  readonly #settle: (outcome: Outcome) => void;
  readonly #inputs: readonly Uint8Array[];
  readonly #inputBounds: readonly (readonly number[])[];
  readonly #bucket: number;
  /** Queries that are not done. */
  #open = 0;
  readonly #runs: BatchRun[] = [];
  /** Time that the first of its queries waited for each batch. */
  readonly #waitsMs: number[] = [];
  #isSettled = false;

  constructor(options: PipelineRequestOptions) {
    const { signature, rows, bucket, arrivalMs, deadlineMs } = options;
    assert(rows.inputs.length === signature.inputs.length, "a request has every input");
    this.rows = rows.rows;
    this.arrivalMs = arrivalMs;
    this.deadlineMs = deadlineMs;
    this.#signature = signature;
    this.#answererOf = options.answererOf;
    this.#settle = options.settle;
    this.#inputs = rows.inputs;
    this.#bucket = bucket;
    this.#inputBounds = signature.inputs.map(({ datatype }, index) => {
      const elements = elementCountOf(this.rowShape(index));
      const bounds = rowBounds(datatype, at(rows.inputs, index), rows.rows, elements);
      assert(bounds !== undefined, "the bytes of an input are its rows");
      return bounds;
    });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** @param input index among those of the signature. */
  rowShape(input: number): readonly number[] {
    const { inputs, axes } = this.#signature;
    if (axes === undefined) return at(inputs, input).rowShape;
    return bucketRowShape(this.#signature, input, this.#bucket);
  }

  /** @param input index among those of the signature. */
  inputRow(input: number, row: number): Uint8Array {
    const bounds = at(this.#inputBounds, input);
    return at(this.#inputs, input).subarray(bounds[row], bounds[row + 1]);
  }

  /** Adds queries that must be done before there is an answer. */
  expect(queries: number): void {
    this.#open += queries;
  }

  /**
   * Called when a query is done. Following queries must be passed to `expect` before
   * `answerIfDone` is called.
   */
  take(
    query: PipelineQuery,
    outputs: readonly TensorPart[],
    isLast: boolean,
    run?: BatchRun,
  ): void {
    assert(!this.#isSettled, "a request that is settled takes no answers");
    query.outputs = outputs;
    query.isLast = isLast;
    if (!at(this.#signature.tasks, query.task).passesOn) query.inputs = [];
    this.#open--;
    if (run !== undefined) this.noteRun(query, run);
  }

  /** A query of it ran in a batch, or would have. */
  noteRun({ sinceMs }: PipelineQuery, run: BatchRun): void {
    if (this.#runs.includes(run, -MAX_RUNS)) return;
    this.#runs.push(run);
    this.#waitsMs.push(run.startMs - sinceMs);
  }

  /** Settles the request if all its queries are done. */
  answerIfDone(source: QuerySource, nowMs: number): void {
    if (this.#open > 0 || this.#isSettled) return;
    const queriesByTask = source.queriesByTask();
    const outputs: OutputTensor[] = [];
    for (const [index, task] of this.#signature.tasks.entries()) {
      const gathered = gatheredOutputs(task, at(queriesByTask, index));
      if (typeof gathered === "string") {
        this.fail("inference", gathered);
        return;
      }
      outputs.push(...gathered);
      if (task.tellsRows) outputs.push(rowsOutput(at(queriesByTask, index)));
    }
    this.#isSettled = true;
    const answerer = this.#answererOf(queriesByTask);
    this.accuracy = answerer.accuracy;
    this.#settle({
      kind: "answered",
      outputs,
      answerer,
      ...answerTimes(this.arrivalMs, this.startMs, this.handedMs, nowMs),
      runs: this.#runs,
      waitsMs: this.#waitsMs,
    });
  }

  /** Settles the request unless it is settled. */
  fail(reason: FailureReason, message: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle({ kind: "failed", reason, message });
  }
}

/** The outputs of a task, concatenated; or, as text, why they cannot be. */
function gatheredOutputs(
  { name, outputs }: TaskSignature,
  queries: readonly PipelineQuery[],
): OutputTensor[] | string {
  const gathered: OutputTensor[] = [];
  for (const [index, output] of outputs.entries()) {
    let rows = 0;
    let rowShape: readonly number[] | undefined;
    const parts: Uint8Array[] = [];
    for (const query of queries) {
      const part = at(query.outputs, index);
      if (rows === 0) rowShape = part.rowShape;
      else if (part.rows > 0 && rowShape?.join() !== part.rowShape.join()) {
        return (
          `rows of "${name}.${output.name}" have the shapes [${rowShape?.join(", ")}] and ` +
          `[${part.rowShape.join(", ")}]`
        );
      }
      rows += part.rows;
      if (part.rows > 0) parts.push(part.bytes);
    }
    // Nothing ran: a dimension that is open has no size either.
    const shape = rowShape ?? output.rowShape.map((size) => Math.max(0, size));
    gathered.push({ shape: [rows, ...shape], parts: joined(parts) });
  }
  return gathered;
}

function rowsOutput(queries: readonly PipelineQuery[]): OutputTensor {
  const rows = BigInt64Array.from(queries, ({ row }) => BigInt(row));
  return { shape: [rows.length], parts: [new Uint8Array(rows.buffer)] };
}
