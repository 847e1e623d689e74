/** What is asked of a v2 server that is a worker, whatever it is asked over. */

import type { TensorInfo } from "../bundle/schema.ts";
import type { OnComputed } from "../exec/executor.ts";
import type { Fields, GivenTensor, RemoteTensors, SentTensor } from "../exec/v2-codec.ts";

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

/** Connections to one server, kept open between requests. */
export interface V2Connection {
  /** @throws ServerRefusal, Error unless the server says in time that it is ready. */
  expectReady(timeoutMs: number): Promise<void>;
  /** What the server says of a model; null where it has none of that name, or not ready. */
  describe(model: string): Promise<DescribedModel | null>;
  /** The model's configuration as Triton has it; null where the server tells none. */
  configOf(model: string): Promise<Fields | null>;
  /** The model's statistics as Triton has them; null where the server tells none. */
  statisticsOf(model: string): Promise<Fields | null>;
  /**
   * Has the server load a model, or forget it.
   * @param lease null where nothing is fenced.
   * @returns false where it has no such extension, or no such model.
   */
  change(
    model: string,
    action: "load" | "unload",
    parameters: Fields,
    lease: string | null,
  ): Promise<boolean>;
  /** Whether outputs can stay on the server, and others be taken from there; left out, not. */
  keepsTensors?(): Promise<boolean>;
  /** @param onComputed called at most once, as of `Executor.run`: its answer begins to come. */
  infer(batch: AskedBatch, onComputed: OnComputed): OpenAnswer;
  close(): void;
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

/** @returns null where it is not said, or no time. */
export function msOf(text: unknown): number | null {
  const ms = typeof text === "string" && text !== "" ? Number(text) : Number.NaN;
  return ms >= 0 && Number.isFinite(ms) ? ms : null;
}
