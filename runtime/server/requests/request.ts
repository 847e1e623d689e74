/**
 * One client request in the scheduler: its rows are separate queries, collected here with their
 * batches.
 */

import { assert } from "../../core/assert.ts";
import type { PaceMonitor } from "../../core/pace.ts";
import { bucketRowShape } from "../tensors/padding.ts";
import type { ModelSignature } from "../tensors/signature.ts";
import { elementCountOf, rowBounds } from "../tensors/tensors.ts";
import type { VariantWish } from "./variant-wish.ts";

export interface BatchRun {
  /** Default: there is one task only. */
  readonly task?: string;
  readonly variantName: string;
  /** Index of the level that decided; −1 without levels. */
  readonly level: number;
  /** Rows, or queries, of all requests in it. */
  readonly rows: number;
  /** Queries that were waiting at the decision, its own included; 0 where it is unknown. */
  readonly queued: number;
  /** Time to the earliest deadline at its start; negative when that was over. */
  readonly slackMs: number;
  /** Pace of its worker at the decision; omitted if 1 or not measured. */
  readonly pace?: number;
  /** Largest correction of service times at the decision. Default: 1. */
  readonly correction?: number;
  /** −1 where several ran it. */
  readonly worker: number;
  /** Workers that ran it together, and the number of rows done before. Default: one worker. */
  readonly places?: readonly number[];
  readonly doneRows?: number;
  /** Time on the server's clock. */
  readonly startMs: number;
  /** When its worker had it. */
  readonly handedMs: number;
  /** NaN until it is over. */
  endMs: number;
  /** Time in the worker; NaN until it is over, and if the worker was lost. */
  wallMs: number;
  /** Whether its worker was lost. */
  readonly isLost?: true;
}

/** Pace and corrections that a decision used. */
export function paceFields(
  worker: number,
  monitor: PaceMonitor | undefined,
): Pick<BatchRun, "pace" | "correction"> {
  const pace = monitor?.paceOf(worker) ?? 1;
  const correction = monitor?.mostCorrection ?? 1;
  return {
    ...(pace === 1 ? {} : { pace }),
    ...(correction === 1 ? {} : { correction }),
  };
}

/** A batch as its requests remember it when its worker was lost. */
export function lostRun(run: BatchRun, nowMs: number): BatchRun {
  const { variantName, level, rows, queued, slackMs, pace, worker, startMs, handedMs } = run;
  const task = run.task === undefined ? {} : { task: run.task };
  const of = pace === undefined ? task : { ...task, pace };
  const decided = { ...of, variantName, level, rows, queued, slackMs, worker };
  return { ...decided, startMs, handedMs, endMs: nowMs, wallMs: Number.NaN, isLost: true };
}

export interface AnswerTimes {
  /** From its arrival until its first batch began. */
  readonly queueMs: number;
  /** Until that batch was put together and handed to its worker. */
  readonly inputMs: number;
  /** Until its last result was there; of a pipeline with the waiting between its tasks. */
  readonly inferMs: number;
  /** When that was, by the server's clock: what follows is cutting and writing. */
  readonly doneMs: number;
}

/** Times of one batch, ms. */
export interface BatchTimes {
  /** Putting it together and handing it to the worker. */
  readonly inputMs: number;
  /** Until the result was there. */
  readonly inferMs: number;
  /** Cutting the result at its rows. */
  readonly outputMs: number;
}

/**
 * @param startMs NaN if no batch of the request ran.
 * @param handedMs NaN if it is unknown.
 */
export function answerTimes(
  arrivalMs: number,
  startMs: number,
  handedMs: number,
  doneMs: number,
): AnswerTimes {
  const beginMs = Number.isNaN(startMs) ? doneMs : startMs;
  const ranMs = Number.isNaN(handedMs) ? beginMs : handedMs;
  return {
    queueMs: beginMs - arrivalMs,
    inputMs: ranMs - beginMs,
    inferMs: doneMs - ranMs,
    doneMs,
  };
}

export type FailureReason =
  | "queue-full"
  | "shed"
  | "late"
  /** The client's own timeout, which is shorter than the SLO, cannot be met. */
  | "timeout"
  | "no-worker"
  | "worker-lost"
  | "inference"
  /** A module will not have what its client sent. */
  | "refused"
  | "cancelled"
  /** The sequence has not begun, or is over. */
  | "sequence-not-open"
  /** The limit of sequences, or of the bytes of their states, is reached. */
  | "sequences-full"
  | "closed";

export interface OutputTensor {
  readonly shape: readonly number[];
  /** Row-major little-endian bytes, in order; concatenated they are the tensor. */
  readonly parts: readonly Uint8Array[];
}

/** Description of the variants that answered, and their mean accuracy. */
export interface Answerer {
  readonly variant: string;
  readonly accuracy: number;
}

export interface Answer extends AnswerTimes {
  readonly kind: "answered";
  /** Outputs in the order of `ClientSignature.outputs`. */
  readonly outputs: readonly OutputTensor[];
  readonly answerer: Answerer;
  /** Variant that answered each row, for models with one variant per row. */
  readonly variantByRow?: readonly number[];
  /** Batches in which its rows ran, in the order in which they were done. */
  readonly runs: readonly BatchRun[];
  /** Time that the first of its queries waited for each batch. Default: all arrived at once. */
  readonly waitsMs?: readonly number[];
}

export interface Failure {
  readonly kind: "failed";
  readonly reason: FailureReason;
  readonly message: string;
}

/** An answer with one variant per row. */
export interface RowAnswer extends Answer {
  readonly variantByRow: readonly number[];
}

export type Outcome<A extends Answer = Answer> = A | Failure;

/**
 * Rows of a request: per input of the signature its row-major little-endian bytes, kept until the
 * outcome.
 */
export interface RequestRows {
  readonly rows: number;
  readonly inputs: readonly Uint8Array[];
  readonly variant?: VariantWish | undefined;
}

export interface Submission<A extends Answer = Answer> {
  /** Never rejects. */
  readonly outcome: Promise<Outcome<A>>;
  /**
   * Abandons the request: waiting rows are withdrawn, and answers of running rows are discarded.
   * @param why default: "cancelled"; for "timeout" the rows count as dropped.
   */
  readonly cancel: (why?: GivenUp) => void;
}

/**
 * Reason for which a request was abandoned: its client disconnected, or its own deadline passed.
 */
export type GivenUp = "cancelled" | "timeout";

/** Error messages of abandoned requests. */
export const GIVEN_UP: Readonly<Record<GivenUp, string>> = {
  cancelled: "the client went away",
  timeout: "the client's own deadline has passed",
};

/** Output of one batch: the rows of request i are `bounds[i]` … `bounds[i + 1]` of the bytes. */
export interface RowedOutput {
  readonly rowShape: readonly number[];
  readonly bytes: Uint8Array;
  readonly bounds: readonly number[];
}

/** @returns undefined if the output is not one of `rows` rows. */
export function rowedOutput(
  signature: ModelSignature,
  output: number,
  result: { readonly shape: readonly number[]; readonly bytes: Uint8Array },
  rows: number,
): RowedOutput | undefined {
  const tensor = signature.outputs[output];
  assert(tensor !== undefined, "an output has a tensor in the signature");
  if (result.shape[0] !== rows) return undefined;
  const rowShape = result.shape.slice(1);
  const bounds = rowBounds(tensor.datatype, result.bytes, rows, elementCountOf(rowShape));
  return bounds === undefined ? undefined : { rowShape, bytes: result.bytes, bounds };
}

export class PendingRequest {
  readonly rows: number;
  readonly deadlineMs: number;
  readonly arrivalMs: number;
  /** Index of its class, or bucket; 0 without classes. */
  readonly sloClass: number;
  /** Per input of the signature its bytes and where its rows begin. */
  readonly inputs: readonly Uint8Array[];
  readonly inputBounds: readonly (readonly number[])[];
  /** Query of each row; entries appear as the rows are handed to the dispatcher. */
  readonly queryByRow: number[] = [];
  readonly variantByRow: number[] = [];
  readonly variant: VariantWish | undefined;
  startMs = Number.NaN;
  /** When its first batch was handed to a worker. */
  handedMs = Number.NaN;
  readonly #runs: BatchRun[] = [];
  #isSettled = false;
  #remaining: number;
  readonly #rowShapes: (readonly number[] | undefined)[] = [];
  readonly #partsByOutput: Uint8Array[][];
  readonly #variants: ModelSignature["variants"];
  readonly #settle: (outcome: Outcome<RowAnswer>) => void;

  constructor(
    signature: ModelSignature,
    { rows, inputs, variant }: RequestRows,
    times: {
      readonly arrivalMs: number;
      readonly deadlineMs: number;
      readonly sloClass?: number;
    },
    settle: (outcome: Outcome<RowAnswer>) => void,
  ) {
    assert(inputs.length === signature.inputs.length, "a request has every input of the model");
    this.rows = rows;
    this.variant = variant;
    this.arrivalMs = times.arrivalMs;
    this.deadlineMs = times.deadlineMs;
    this.sloClass = times.sloClass ?? 0;
    this.inputs = inputs;
    this.inputBounds = signature.inputs.map(({ datatype, rowShape: own }, index) => {
      const bytes = inputs[index] ?? new Uint8Array();
      const isPadded = signature.axes !== undefined;
      const rowShape = isPadded ? bucketRowShape(signature, index, this.sloClass) : own;
      const bounds = rowBounds(datatype, bytes, rows, elementCountOf(rowShape));
      assert(bounds !== undefined, "the bytes of an input are its rows");
      return bounds;
    });
    this.#remaining = rows;
    this.#partsByOutput = signature.outputs.map(() => []);
    this.#variants = signature.variants;
    this.#settle = settle;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * Takes the answer of one row, and settles the request with the last.
   * @param index the row's place in the batch. @param run the batch, for logs and traces.
   */
  takeRow(
    row: number,
    outputs: readonly RowedOutput[],
    index: number,
    nowMs: number,
    run?: BatchRun,
  ): void {
    assert(!this.#isSettled, "a request that is settled takes no rows");
    for (let output = 0; output < outputs.length; output++) {
      const { rowShape, bytes, bounds } = outputs[output] as RowedOutput;
      const known = this.#rowShapes[output];
      if (known === undefined) this.#rowShapes[output] = rowShape;
      else if (known !== rowShape && known.join() !== rowShape.join()) {
        const message =
          `rows have outputs of shapes [${known.join(", ")}] and ` + `[${rowShape.join(", ")}]`;
        this.fail("inference", message);
        return;
      }
      const parts = this.#partsByOutput[output];
      assert(parts !== undefined, "a batch has the outputs of the signature");
      parts[row] = bytes.subarray(bounds[index], bounds[index + 1]);
    }
    if (run !== undefined && this.#runs[this.#runs.length - 1] !== run) this.#runs.push(run);
    this.#remaining--;
    if (this.#remaining === 0) this.#answer(nowMs);
  }

  /** Called when a batch with rows of the request was lost; they may be retried. */
  noteLost(run: BatchRun): void {
    if (this.#runs[this.#runs.length - 1] !== run) this.#runs.push(run);
  }

  /** Settles the request unless it is settled. */
  fail(reason: FailureReason, message: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle({ kind: "failed", reason, message });
  }

  #answer(nowMs: number): void {
    this.#isSettled = true;
    this.#settle({
      kind: "answered",
      outputs: this.#partsByOutput.map((parts, output) => ({
        shape: [this.rows, ...(this.#rowShapes[output] ?? [])],
        parts: joined(parts),
      })),
      variantByRow: this.variantByRow,
      answerer: answererOf(this.variantByRow, this.#variants),
      ...answerTimes(this.arrivalMs, this.startMs, this.handedMs, nowMs),
      runs: this.#runs,
    });
  }
}

/**
 * Returns the variant, or those of the rows in order of first appearance, and the mean accuracy
 * over the rows.
 */
function answererOf(
  variantByRow: readonly number[],
  variants: ModelSignature["variants"],
): Answerer {
  const first = variants[variantByRow[0] ?? 0];
  if (variantByRow.length === 1 && first !== undefined) {
    return { variant: first.name, accuracy: first.accuracy };
  }
  let accuracySum = 0;
  const names = new Set<string>();
  for (const index of variantByRow) {
    const variant = variants[index];
    if (variant === undefined) continue;
    names.add(variant.name);
    accuracySum += variant.accuracy;
  }
  const isOne = names.size === 1;
  const accuracy = isOne ? variants[variantByRow[0] ?? 0]?.accuracy : undefined;
  return {
    variant: [...names].join(","),
    accuracy: accuracy ?? accuracySum / variantByRow.length,
  };
}

/** Joins parts that are adjacent in memory, so that rows that ran together are written together. */
export function joined(parts: readonly Uint8Array[]): readonly Uint8Array[] {
  if (parts.length < 2) return parts;
  const joinedParts: Uint8Array[] = [];
  let last: Uint8Array | undefined;
  for (const part of parts) {
    const isNext =
      last !== undefined &&
      last.buffer === part.buffer &&
      last.byteOffset + last.length === part.byteOffset;
    if (last !== undefined && isNext) {
      last = new Uint8Array(last.buffer, last.byteOffset, last.length + part.length);
      joinedParts[joinedParts.length - 1] = last;
    } else {
      last = part;
      joinedParts.push(part);
    }
  }
  return joinedParts;
}
