/** Tensors of a model that are state: what clients see without them, and how they are carried. */
import { isDeepStrictEqual } from "node:util";
import type { ModelFile } from "../../bundle/schema.ts";
import { assert } from "../../core/assert.ts";
import type { Answer } from "../requests/request.ts";
import type { StateMetadata } from "../requests/sequence-turns.ts";
import type { ClientSignature, ModelSignature } from "../tensors/signature.ts";
import { DATATYPES, elementCountOf, lengthOf } from "../tensors/tensors.ts";

/** State of a sequence: the bytes of each pair of tensors, in the order of `StateTensors.pairs`. */
export type SequenceState = readonly Uint8Array[];

export interface StatePair extends StateMetadata {
  /** Indices among the tensors of the model; both have the same datatype and shape of a row. */
  readonly input: number;
  readonly output: number;
}

/** A length in front of each element, which is empty. */
const EMPTY_TEXT_BYTES = 4;

export class StateTensors {
  readonly pairs: readonly StatePair[];
  /** The model without its state, as clients see it. */
  readonly signature: ClientSignature;
  /** Initial state of a sequence: zeros, or empty texts. */
  readonly zeros: SequenceState;
  readonly #model: ModelFile;
  readonly #inputCount: number;
  /** Indices of the model's tensors that clients send and receive. */
  readonly #clientInputs: readonly number[];
  readonly #clientOutputs: readonly number[];

  /** @param model one with state, whose tensors are those of the signature. */
  constructor(signature: ModelSignature, model: ModelFile) {
    const { inputs, outputs } = signature;
    this.#model = model;
    this.pairs = (model.state ?? []).map((pair) => {
      const input = inputs.findIndex(({ name }) => name === pair.input);
      const output = outputs.findIndex(({ name }) => name === pair.output);
      const tensor = inputs[input];
      assert(tensor !== undefined && output >= 0, "state names tensors of its model");
      return { input, output, tensor, outputName: pair.output };
    });
    const stateInputs = new Set(this.pairs.map(({ input }) => input));
    const stateOutputs = new Set(this.pairs.map(({ output }) => output));
    this.#inputCount = inputs.length;
    this.#clientInputs = [...inputs.keys()].filter((index) => !stateInputs.has(index));
    this.#clientOutputs = [...outputs.keys()].filter((index) => !stateOutputs.has(index));
    const axes = signature.axes?.map((axis) => ({
      ...axis,
      inputs: axis.inputs.map(({ input, axis: on }) => {
        return { input: this.#clientInputs.indexOf(input), axis: on };
      }),
    }));
    this.signature = {
      ...signature,
      // State tensors have no axes of several sizes.
      ...(axes === undefined ? {} : { axes }),
      inputs: inputs.filter((_, index) => !stateInputs.has(index)),
      outputs: outputs.filter((_, index) => !stateOutputs.has(index)),
      hasSequences: true,
    };
    this.zeros = this.pairs.map(({ tensor: { datatype, rowShape } }) => {
      const elementBytes = DATATYPES[datatype].elementBytes || EMPTY_TEXT_BYTES;
      return new Uint8Array(elementCountOf(rowShape) * elementBytes);
    });
  }

  /** Whether a state of the other model is valid here. */
  isSameAs(other: StateTensors): boolean {
    return isDeepStrictEqual(this.#model, other.#model);
  }

  /** @param inputs that the client sends, in the order of `signature`. */
  filled(inputs: readonly Uint8Array[], state: SequenceState): Uint8Array[] {
    const all = new Array<Uint8Array>(this.#inputCount);
    for (const [index, input] of this.#clientInputs.entries()) {
      all[input] = inputs[index] ?? new Uint8Array();
    }
    for (const [index, { input }] of this.pairs.entries()) {
      all[input] = state[index] ?? new Uint8Array();
    }
    return all;
  }

  /**
   * @param answer with all outputs, of one row.
   * @returns memory of its own; or what is wrong with the state that the model gave.
   */
  stateOf({ outputs }: Answer): SequenceState | string {
    const state: Uint8Array[] = [];
    for (const { output, outputName, tensor } of this.pairs) {
      const { shape, parts } = outputs[output] ?? { shape: [], parts: [] };
      const expected = [1, ...tensor.rowShape];
      if (shape.join() !== expected.join()) {
        const found = `[${shape.join(", ")}]`;
        const allowed = `expected shape [${expected.join(", ")}]`;
        return `state output "${outputName}": ${allowed}, got ${found}`;
      }
      // Views would keep the whole batch.
      state.push(Uint8Array.from(Buffer.concat(parts)));
    }
    return state;
  }

  /** The answer as its client sees it. */
  shown(answer: Answer): Answer {
    const outputs = this.#clientOutputs.flatMap((index) => answer.outputs[index] ?? []);
    return { ...answer, outputs };
  }
}

export function bytesOfState(state: SequenceState): number {
  return lengthOf(state);
}
