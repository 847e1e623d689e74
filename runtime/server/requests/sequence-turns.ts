/** Requests of sequences as those see them who let requests in and describe models. */
import type { ModelTensor } from "../tensors/signature.ts";
import type { GivenUp, Outcome } from "./request.ts";
import type { SequenceStep } from "./sequence-step.ts";

/** A request of a sequence, and what is done with it when it is its turn. */
export interface SequenceRequest {
  readonly step: SequenceStep;
  /** As clients send them. */
  readonly inputs: readonly Uint8Array[];
  /** Calls back when the client is gone, at once where it is already. @returns what ends that. */
  readonly onceGone: (act: (why?: GivenUp) => void) => () => void;
  /** @param inputs of the model, its state among them. */
  readonly serve: (inputs: readonly Uint8Array[]) => Outcome | Promise<Outcome>;
}

/** A tensor of state, by the names of the model. */
export interface StateTold {
  readonly tensor: ModelTensor;
  /** That of the input is the tensor's. */
  readonly outputName: string;
}

/** Of a model that keeps state. */
export interface SequenceTurns {
  readonly told: {
    readonly maxSequences: number;
    readonly sequenceIdleMs: number;
    readonly state: readonly StateTold[];
  };
  /** Waits for those of the sequence that came before. Rejects with what `serve` throws. */
  inTurn(request: SequenceRequest): Promise<Outcome>;
  /** Goes on with the sequences of another where their states mean the same. */
  takeOver(before: SequenceTurns): void;
}
