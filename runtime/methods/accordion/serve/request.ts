/**
 * One client request on places: its rows are the instances of one query, and their answers are
 * gathered here.
 */
import { assert } from "../../../core/assert.ts";
import type { StayedTensor } from "../../../exec/models/executor.ts";
import { at } from "../../../server/graph/signature/pipeline-signature.ts";
import {
  answerTimes,
  type BatchRun,
  type FailureReason,
  joined,
  type Outcome,
  type RequestRows,
} from "../../../server/requests/request.ts";
import { elementCountOf, rowBounds } from "../../../server/tensors/tensors.ts";
import type { AccordionModel } from "./served-models.ts";

/** A tensor of one instance. */
export interface InstanceValue {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  /** Place of a tensor that stays on a worker between stages: it has no bytes here. */
  readonly stayed?: StayedTensor;
}

interface AccordionRequestOptions {
  /** Index among the models. */
  readonly model: number;
  readonly ofModel: AccordionModel;
  readonly rows: RequestRows;
  readonly isHigh: boolean;
  readonly arrivalMs: number;
  readonly deadlineMs: number;
  readonly settle: (outcome: Outcome) => void;
}

export class AccordionRequest {
  readonly model: number;
  readonly ofModel: AccordionModel;
  readonly rows: number;
  readonly isHigh: boolean;
  readonly arrivalMs: number;
  readonly deadlineMs: number;
  /** When its first instance began. */
  startMs = Number.NaN;
  /** When that was handed to its place. */
  handedMs = Number.NaN;
  /** Places that it has had, one after another. */
  readonly #runs: BatchRun[] = [];
  readonly #inputs: readonly Uint8Array[];
  readonly #inputBounds: readonly (readonly number[])[];
  readonly #settle: (outcome: Outcome) => void;
  /** Finished rows of each output of the model. */
  readonly #partsByOutput: Uint8Array[][];
  readonly #rowShapes: (readonly number[])[] = [];
  #doneRows = 0;
  #isSettled = false;

  constructor(options: AccordionRequestOptions) {
    const { ofModel, rows } = options;
    const { inputs, outputs } = ofModel.signature;
    assert(rows.inputs.length === inputs.length, "a request has every input of the model");
    this.model = options.model;
    this.ofModel = ofModel;
    this.rows = rows.rows;
    this.isHigh = options.isHigh;
    this.arrivalMs = options.arrivalMs;
    this.deadlineMs = options.deadlineMs;
    this.#settle = options.settle;
    this.#inputs = rows.inputs;
    this.#inputBounds = inputs.map(({ datatype, rowShape }, index) => {
      const elements = elementCountOf(rowShape);
      const bounds = rowBounds(datatype, at(rows.inputs, index), rows.rows, elements);
      assert(bounds !== undefined, "the bytes of an input are its rows");
      return bounds;
    });
    this.#partsByOutput = outputs.map(() => []);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** It has these places from now on. @param queued queries that waited then, itself included. */
  notePlaces(places: readonly number[], queued: number, nowMs: number): void {
    this.#endRun(nowMs);
    const [variant] = this.ofModel.signature.variants;
    this.#runs.push({
      variantName: variant?.name ?? "",
      ...{ level: -1, rows: this.rows, queued, slackMs: this.deadlineMs - nowMs, worker: -1 },
      ...{ places, doneRows: this.#doneRows, startMs: nowMs, handedMs: nowMs },
      ...{ endMs: Number.NaN, wallMs: Number.NaN },
    });
  }

  /** Its stages run on places of its own, one row behind the other, until it has others. */
  #endRun(nowMs: number): void {
    const run = this.#runs.at(-1);
    if (run === undefined) return;
    run.endMs = nowMs;
    run.wallMs = nowMs - run.startMs;
  }

  /** Rows that have their answers: always the first ones. */
  get doneRows(): number {
    return this.#doneRows;
  }

  /** Inputs of the model for one row, by name. */
  inputsOf(row: number): Map<string, InstanceValue> {
    const { inputs } = this.ofModel.signature;
    return new Map(
      inputs.map(({ name, rowShape }, index) => {
        const bounds = at(this.#inputBounds, index);
        const bytes = at(this.#inputs, index).subarray(bounds[row], bounds[row + 1]);
        return [name, { shape: [1, ...rowShape], bytes }];
      }),
    );
  }

  /**
   * Takes the answer of the next row. @returns what is wrong with it, as text; the row is not done
   * then.
   */
  take(values: ReadonlyMap<string, InstanceValue>): string | undefined {
    assert(this.#doneRows < this.rows, "a request takes as many answers as it has rows");
    const { outputs } = this.ofModel.signature;
    const taken = outputs.map(({ name }) => values.get(name));
    for (const [index, value] of taken.entries()) {
      const { name } = at(outputs, index);
      const shape = `output "${name}" has the shape [${value?.shape.join(", ")}]`;
      if (value?.shape[0] !== 1) return `${shape}, expected one row`;
      const rowShape = value.shape.slice(1);
      const known = this.#rowShapes[index];
      if (known === undefined) this.#rowShapes[index] = rowShape;
      else if (known.join() !== rowShape.join()) {
        return `${shape}, the row before [1, ${known.join(", ")}]`;
      }
    }
    for (const [index, value] of taken.entries()) {
      if (value !== undefined) at(this.#partsByOutput, index).push(value.bytes);
    }
    this.#doneRows++;
    return undefined;
  }

  /** Settles the request once all its rows are done. */
  answer(nowMs: number): void {
    assert(!this.#isSettled && this.#doneRows === this.rows, "what is answered is done");
    const [variant] = this.ofModel.signature.variants;
    assert(variant !== undefined, "a model is a variant");
    this.#isSettled = true;
    this.#endRun(nowMs);
    this.#settle({
      kind: "answered",
      outputs: this.#partsByOutput.map((parts, index) => ({
        shape: [this.rows, ...at(this.#rowShapes, index)],
        parts: joined(parts),
      })),
      answerer: { variant: variant.name, accuracy: variant.accuracy },
      ...answerTimes(this.arrivalMs, this.startMs, this.handedMs, nowMs),
      runs: this.#runs,
      waitsMs: this.#runs.map((_, index) => (index === 0 ? this.startMs - this.arrivalMs : 0)),
    });
  }

  /** Settles the request unless it is settled. */
  fail(reason: FailureReason, message: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle({ kind: "failed", reason, message });
  }
}
