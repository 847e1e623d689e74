/** Requests of sequences: what they state, and how they take turns. */

import { BadRequest } from "../tensors/bad-request.ts";
import { readInteger } from "../tensors/json-text.ts";
import type { ModelTensor } from "../tensors/signature.ts";
import type { GivenUp, Outcome } from "./request.ts";

/** A request of a sequence, and what is done with it when it is its turn. */
export interface SequenceRequest {
  readonly step: SequenceStep;
  /** Tensors as clients send them. */
  readonly inputs: readonly Uint8Array[];
  /** Calls back when the client is gone, at once where it is already. @returns what ends that. */
  readonly onceGone: (act: (why?: GivenUp) => void) => () => void;
  /** @param inputs of the model, its state among them. */
  readonly serve: (inputs: readonly Uint8Array[]) => Outcome | Promise<Outcome>;
}

/** A tensor of state, by the names of the model. */
export interface StateMetadata {
  readonly tensor: ModelTensor;
  /** That of the input is the tensor's. */
  readonly outputName: string;
}

/** Turns of the sequences of a model that keeps state. */
export interface SequenceTurns {
  readonly metadata: {
    readonly maxSequences: number;
    readonly sequenceIdleMs: number;
    readonly state: readonly StateMetadata[];
  };
  /** Waits for earlier requests of the sequence. Rejects with errors of `serve`. */
  inTurn(request: SequenceRequest): Promise<Outcome>;
  /** Goes on with the sequences of another where their states mean the same. */
  takeOver(before: SequenceTurns): void;
}

export interface SequenceStep {
  /** JSON text, so that the number 7 and the text "7" are different ids. */
  readonly id: string;
  /** Name of its client's token; empty without tokens. Each client has its own ids. */
  readonly client: string;
  /** Whether the sequence begins with this request, and drops earlier state. */
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

const LARGEST_ID = 2n ** 64n - 1n;
/** Triton's limit. */
const MAX_TEXT_BYTES = 128;
const AT = "parameters.sequence_id";

/** Reads the step of a request for a model that keeps state. @throws BadRequest */
export function sequenceStepOf(parameters: Readonly<Record<string, unknown>>): SequenceStep {
  return {
    id: idOf(parameters["sequence_id"]),
    client: "",
    isStart: flagOf(parameters["sequence_start"], "sequence_start"),
    isEnd: flagOf(parameters["sequence_end"], "sequence_end"),
  };
}

function idOf(value: unknown): string {
  if (typeof value === "string" && value !== "") {
    const bytes = Buffer.byteLength(value);
    if (bytes <= MAX_TEXT_BYTES) return JSON.stringify(value);
    throw new BadRequest(
      AT,
      `expected a text of at most ${MAX_TEXT_BYTES} bytes`,
      `${bytes} bytes`,
    );
  }
  const id = readInteger(value);
  if (id !== undefined && id > 0n && id <= LARGEST_ID) return String(id);
  const expected =
    "expected a whole number of 1 or more or a text that is not empty, as the model keeps state";
  throw new BadRequest(AT, expected, value);
}

function flagOf(value: unknown, name: string): boolean {
  if (value === undefined || typeof value === "boolean") return value === true;
  throw new BadRequest(`parameters.${name}`, "expected true or false", value);
}
