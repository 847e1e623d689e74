/** Requests to a v2 server that is a worker, and its responses. */

import type { TensorInfo } from "../bundle/schema.ts";
import type { GivenTensor, RemoteTensors, SentTensor } from "../exec/tensors/v2-codec.ts";

/** Time limit of requests other than batches and heartbeats. */
export const QUESTION_MS = 30_000;
/** Time limit of loading a model. */
export const LOAD_MS = 600_000;

/** A batch as an inference request. */
export interface AskedBatch {
  readonly model: string;
  /** Unique among all batches. */
  readonly id: string;
  readonly inputs: readonly SentTensor[];
  readonly outputs: readonly TensorInfo[];
  /** Indices of outputs that stay on the server; omitted for none. */
  readonly stays?: ReadonlySet<number>;
  /** Null without leases. */
  readonly lease: string | null;
  /** Time after which the answer is useless, ms. */
  readonly timeLeftMs: number;
}

export interface BatchAnswer {
  readonly outputs: readonly GivenTensor[];
  /** Time of the run on the server; null if not stated. */
  readonly wallMs: number | null;
  /** Processor time of the run; null if not stated. */
  readonly cpuMs: number | null;
}

export interface DescribedModel extends RemoteTensors {
  /** SHA-256 of the model file; null if not stated. */
  readonly sha256: string | null;
}

/** A batch that was sent or is being sent. */
export interface OpenAnswer {
  /** @throws ServerRefusal for an error response; Error for a failed connection. */
  readonly answer: Promise<BatchAnswer>;
  /** Aborts: rejects `answer` and drops a later response. */
  abort(reason: string): void;
}

export class ServerRefusal extends Error {
  readonly status: number;
  /** Rows of the batch that caused the error; null if not stated. */
  readonly rows: readonly number[] | null;

  constructor(status: number, words: string, rows: readonly number[] | null = null) {
    super(`status ${status}: ${words}`);
    this.name = "ServerRefusal";
    this.status = status;
    this.rows = rows;
  }
}

/** A server that cannot be a worker because of its configuration; waiting does not help. */
export class RemoteMistake extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RemoteMistake";
  }
}

/** Numbers reserved per millisecond, so that a later process does not repeat those of this one. */
const NUMBERS_PER_MS = 1000;

let nextNumber = Date.now() * NUMBERS_PER_MS;

/**
 * Makes a unique id of a batch, `<front end>-<number>`: all executors of a process share the
 * counter, and a later process with the same name continues above it.
 * @param frontEnd name of this process among those that use the same workers.
 */
export function nextBatchId(frontEnd: string): string {
  const number = nextNumber;
  nextNumber++;
  return `${frontEnd}-${number}`;
}
