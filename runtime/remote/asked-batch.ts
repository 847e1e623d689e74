/** What is asked of a v2 server that is a worker, and what it answers. */

import type { TensorInfo } from "../bundle/schema.ts";
import type { GivenTensor, RemoteTensors, SentTensor } from "../exec/tensors/v2-codec.ts";

/** Of questions that are no batches, and no heartbeats. */
export const QUESTION_MS = 30_000;
/** Time that a model may take to load. */
export const LOAD_MS = 600_000;

/** A batch as one inference request. */
export interface AskedBatch {
  /** Name of the model on the server. */
  readonly model: string;
  /** Never used for another batch. */
  readonly id: string;
  readonly inputs: readonly SentTensor[];
  readonly outputs: readonly TensorInfo[];
  /** Outputs, by index, that stay on the server; left out, none. */
  readonly stays?: ReadonlySet<number>;
  /** Null where nothing is fenced. */
  readonly lease: string | null;
  /** Time after which nobody waits for the answer, ms. */
  readonly timeLeftMs: number;
}

export interface BatchAnswer {
  readonly outputs: readonly GivenTensor[];
  /** Time of the run on the server; null where it does not say. */
  readonly wallMs: number | null;
  /** Processor time of that run; null where it does not say. */
  readonly cpuMs: number | null;
}

export interface DescribedModel extends RemoteTensors {
  /** SHA-256 of its file; null where the server does not say. */
  readonly sha256: string | null;
}

/** A batch that the server has, or is about to. */
export interface OpenAnswer {
  /**
   * @throws ServerRefusal for what the server says instead; Error where the connection failed.
   */
  readonly answer: Promise<BatchAnswer>;
  /** Gives it up: `answer` is rejected, and what comes later is dropped. */
  abort(reason: string): void;
}

/** What the server itself said, in place of an answer. */
export class ServerRefusal extends Error {
  /** As HTTP has it. */
  readonly status: number;
  /** Rows of the batch that are at fault; null where the server does not say. */
  readonly rows: readonly number[] | null;

  constructor(status: number, words: string, rows: readonly number[] | null = null) {
    super(`it said ${status}: ${words}`);
    this.name = "ServerRefusal";
    this.status = status;
    this.rows = rows;
  }
}

/** A server that cannot be a worker as it is, and will not be one by waiting. */
export class RemoteMistake extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RemoteMistake";
  }
}

/** Numbers that one ms has room for: those of a process that follows do not meet ours. */
const NUMBERS_PER_MS = 1000;

let nextNumber = Date.now() * NUMBERS_PER_MS;

/**
 * Name of a batch, `<front end>-<number>`, never used twice: all executors of a process count
 * together, and one that is started under its name later counts on from there.
 * @param frontEnd name of this process among those that use the same workers.
 */
export function nextBatchId(frontEnd: string): string {
  const number = nextNumber;
  nextNumber++;
  return `${frontEnd}-${number}`;
}
