/**
 * Requests of sequences, one after another: each is served with the state that the one before has
 * left, and what it leaves is kept from its client. Source: docs/decisions/0020-sequences.md.
 */
import { head, line, type MetricLine, metric } from "../../base/exposition.ts";
import { bufferedByteLines, refusedLines } from "../../base/metric-families.ts";
import type { ModelFile } from "../../bundle/schema.ts";
import { type Failure, GIVEN_UP, type Outcome } from "../requests/request.ts";
import type { SequenceRequest, SequenceStep, SequenceTurns } from "../requests/sequence-turns.ts";
import type { ModelSignature } from "../tensors/signature.ts";
import { SequenceBook, type SequenceLimits, type SequenceRefusal } from "./sequence-book.ts";
import { type SequenceState, StateTensors } from "./state-tensors.ts";

export interface SequencesOptions {
  readonly signature: ModelSignature;
  /** A model with state. */
  readonly model: ModelFile;
  readonly limits: SequenceLimits;
  readonly nowMs: () => number;
}

/** Maximum delay of Node's timers. */
const LONGEST_MS = 2 ** 31 - 1;

/** State that passes to the next application with the same model. */
interface Kept {
  readonly book: SequenceBook;
  timer: NodeJS.Timeout | undefined;
}

export class Sequences implements SequenceTurns {
  readonly tensors: StateTensors;
  readonly #name: string;
  readonly #nowMs: () => number;
  readonly #refusals = { not_open: 0, full: 0 };
  #kept: Kept;
  #isHandedOver = false;

  constructor({ signature, model, limits, nowMs }: SequencesOptions) {
    this.tensors = new StateTensors(signature, model);
    this.#name = signature.names[0] ?? "";
    this.#nowMs = nowMs;
    this.#kept = { book: new SequenceBook(limits, this.tensors.zeros), timer: undefined };
  }

  get metadata(): SequenceTurns["metadata"] {
    const { maxSequences, sequenceIdleMs } = this.#limits;
    return { maxSequences, sequenceIdleMs, state: this.tensors.pairs };
  }

  get #limits(): SequenceLimits {
    return this.#kept.book.limits;
  }

  takeOver(before: SequenceTurns): void {
    if (!(before instanceof Sequences) || !this.tensors.isSameAs(before.tensors)) return;
    this.#kept = before.#kept;
    before.#isHandedOver = true;
  }

  /** Rejects new sequences; open ones continue. */
  drain(): void {
    if (!this.#isHandedOver) this.#kept.book.drain();
  }

  inTurn({ step, inputs, onceGone, serve }: SequenceRequest): Promise<Outcome> {
    const kept = this.#kept;
    const key = JSON.stringify([step.client, step.id]);
    const cameMs = this.#nowMs();
    return new Promise((settle, reject) => {
      let waiting: readonly Uint8Array[] | undefined = inputs;
      let hasBegun = false;
      let stayed = () => {};
      const begin = (state: SequenceState) => {
        hasBegun = true;
        stayed();
        if (waiting === undefined) this.#finish(kept, key, undefined);
        else {
          const filled = this.tensors.filled(waiting, state);
          this.#served(kept, key, () => serve(filled), cameMs).then(settle, reject);
        }
      };
      const { isStart, isEnd } = step;
      const refusal = kept.book.enter(key, { isStart, isEnd, begin }, cameMs);
      if (refusal !== null) settle(this.#refused(refusal, step));
      else if (!hasBegun) {
        stayed = onceGone((why = "cancelled") => {
          waiting = undefined;
          settle({ kind: "failed", reason: why, message: GIVEN_UP[why] });
        });
      }
    });
  }

  lines(): MetricLine[] {
    const { book } = this.#kept;
    book.endIdle(this.#nowMs());
    const { ended, idle, replaced } = book.counts;
    const endings = "stratagem_sequences_ended_total";
    return [
      ...metric("stratagem_sequences", "gauge", "Open sequences", book.size),
      ...metric(
        "stratagem_sequence_requests_waiting",
        "gauge",
        "Requests that wait for earlier requests of their sequences",
        book.waitingCount,
      ),
      ...bufferedByteLines("sequence_states", book.heldBytes),
      head(endings, "counter", "Ended sequences, by reason"),
      ...Object.entries({ request: ended, idle, replaced }).map(([by, count]) =>
        line(endings, { by }, count),
      ),
      ...refusedLines("sequence", Object.entries(this.#refusals)),
    ];
  }

  /** Whatever happens, the next of the sequence has its turn. Rejects with what `serve` throws. */
  async #served(
    kept: Kept,
    key: string,
    serve: () => Outcome | Promise<Outcome>,
    cameMs: number,
  ): Promise<Outcome> {
    const waitedMs = this.#nowMs() - cameMs;
    let outcome: Outcome | undefined;
    let state: SequenceState | string = "";
    let isKept = false;
    try {
      outcome = await serve();
      if (outcome.kind === "answered") state = this.tensors.stateOf(outcome);
    } finally {
      isKept = this.#finish(kept, key, typeof state === "string" ? undefined : state);
    }
    if (outcome.kind === "failed") return outcome;
    if (typeof state === "string") return { kind: "failed", reason: "inference", message: state };
    if (!isKept) {
      this.#refusals.full++;
      const most = this.#limits.maxSequenceBytes;
      const message = `the states of all sequences would exceed ${most} bytes`;
      return { kind: "failed", reason: "sequences-full", message };
    }
    const answer = this.tensors.shown(outcome);
    return { ...answer, queueMs: answer.queueMs + waitedMs };
  }

  #finish(kept: Kept, key: string, state: SequenceState | undefined): boolean {
    const isKept = kept.book.finish(key, state, this.#nowMs());
    this.#look(kept);
    return isKept;
  }

  /** Checks idle sequences when the first of them may have ended. */
  #look(kept: Kept): void {
    const leftMs = kept.book.nextEndMs - this.#nowMs();
    if (kept.timer !== undefined || leftMs === Number.POSITIVE_INFINITY) return;
    const onTime = () => {
      kept.timer = undefined;
      kept.book.endIdle(this.#nowMs());
      this.#look(kept);
    };
    kept.timer = setTimeout(onTime, Math.min(Math.max(Math.ceil(leftMs), 1), LONGEST_MS)).unref();
  }

  #refused(refusal: SequenceRefusal, { id }: SequenceStep): Failure {
    if (refusal === "not-open") this.#refusals.not_open++;
    else if (refusal !== "draining") this.#refusals.full++;
    const { maxSequences, maxSequenceBytes, maxPending, sequenceIdleMs } = this.#limits;
    const of = `inference request for sequence ${id} to model '${this.#name}'`;
    const failed = (reason: Failure["reason"], message: string): Failure => {
      return { kind: "failed", reason, message };
    };
    if (refusal === "draining") return failed("closed", "the server is shutting down");
    if (refusal === "waiting") {
      return failed(
        "queue-full",
        `queue full: at most ${maxPending} requests of sequences may wait`,
      );
    }
    if (refusal === "too-many") {
      return failed("sequences-full", `at most ${maxSequences} sequences may be open`);
    }
    if (refusal === "too-much") {
      const message = `the states of open sequences may have at most ${maxSequenceBytes} bytes`;
      return failed("sequences-full", message);
    }
    // The words before the semicolon are Triton's, by which clients know it.
    const why = `it is not open: it never began, has ended, or had no request for`;
    const start = "must specify the START flag on the first request of the sequence";
    return failed("sequence-not-open", `${of} ${start}; ${why} ${sequenceIdleMs / 1000} s`);
  }
}
