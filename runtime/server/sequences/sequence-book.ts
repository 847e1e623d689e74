/**
 * State machine of a model's open sequences: their states, turns and limits. It has no clock.
 * Source: docs/decisions/0020-sequences.md.
 */
import { assert } from "../../core/assert.ts";
import { bytesOfState, type SequenceState } from "./state-tensors.ts";

export interface SequenceLimits {
  /** Open sequences at a time. */
  readonly maxSequences: number;
  /** Bytes of their states. */
  readonly maxSequenceBytes: number;
  /** A sequence without a request for so long is ended. */
  readonly sequenceIdleMs: number;
  /** Requests that wait for those of their sequences before them, of all sequences. */
  readonly maxPending: number;
}

/** Reason for which a request is rejected. */
export type SequenceRefusal = "not-open" | "too-many" | "too-much" | "waiting" | "draining";

/** A request of a sequence, from its coming until it is answered or has failed. */
export interface Turn {
  readonly isStart: boolean;
  readonly isEnd: boolean;
  /** Called when it is its turn, with the current state; `finish` must follow. */
  readonly begin: (state: SequenceState) => void;
}

interface Sequence {
  readonly key: string;
  state: SequenceState;
  stateBytes: number;
  /** The first one runs. */
  readonly turns: Turn[];
  /** When the last of its requests was over. */
  lastMs: number;
}

export interface SequenceCounts {
  /** Sequences that ended with their last request. */
  ended: number;
  /** Sequences that ended after their idle time. */
  idle: number;
  /** Another began under the same id. */
  replaced: number;
}

export class SequenceBook {
  readonly limits: SequenceLimits;
  readonly counts: SequenceCounts = { ended: 0, idle: 0, replaced: 0 };
  readonly #zeros: SequenceState;
  readonly #zeroBytes: number;
  readonly #byKey = new Map<string, Sequence>();
  /** Idle sequences, idle for longest first. */
  readonly #idle = new Set<Sequence>();
  #heldBytes = 0;
  #waiting = 0;
  #isDraining = false;

  /** @param zeros the state that a sequence begins with. */
  constructor(limits: SequenceLimits, zeros: SequenceState) {
    this.limits = limits;
    this.#zeros = zeros;
    this.#zeroBytes = bytesOfState(zeros);
  }

  /** Open sequences. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Bytes of their states. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Requests that wait for others of their sequences. */
  get waitingCount(): number {
    return this.#waiting;
  }

  /** Time at which the next idle sequence ends; infinite without one. */
  get nextEndMs(): number {
    for (const { lastMs } of this.#idle) return lastMs + this.limits.sequenceIdleMs;
    return Number.POSITIVE_INFINITY;
  }

  /** Rejects new sequences; open ones continue. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Adds a request. Its turn may begin before this returns.
   * @returns the reason if it is rejected; null otherwise.
   */
  enter(key: string, turn: Turn, nowMs: number): SequenceRefusal | null {
    this.endIdle(nowMs);
    const known = this.#byKey.get(key);
    const last = known?.turns.at(-1);
    const isOpen = known !== undefined && last?.isEnd !== true;
    if (!turn.isStart && !isOpen) return "not-open";
    if (turn.isStart && this.#isDraining) return "draining";
    if (known === undefined) {
      const { maxSequences, maxSequenceBytes } = this.limits;
      if (this.#byKey.size >= maxSequences) return "too-many";
      if (this.#heldBytes + this.#zeroBytes > maxSequenceBytes) return "too-much";
    } else if (known.turns.length > 0 && this.#waiting >= this.limits.maxPending) return "waiting";
    const sequence = known ?? this.#opened(key, nowMs);
    if (turn.isStart && isOpen) this.counts.replaced++;
    sequence.turns.push(turn);
    this.#idle.delete(sequence);
    if (sequence.turns.length === 1) this.#begin(sequence);
    else this.#waiting++;
    return null;
  }

  /**
   * Ends the turn of a request that was answered or failed. After a failure the state is as before,
   * but a sequence that the request began stays open.
   * @param state that its model returned; undefined after a failure.
   * @returns false where the state exceeds the limit, and the request has failed.
   */
  finish(key: string, state: SequenceState | undefined, nowMs: number): boolean {
    const sequence = this.#byKey.get(key);
    const turn = sequence?.turns[0];
    assert(sequence !== undefined && turn !== undefined, "a sequence stays while a request runs");
    const isEnd = state !== undefined && turn.isEnd;
    // A sequence that ends keeps no state.
    const hasRoom = state === undefined || isEnd || this.#keep(sequence, state);
    sequence.turns.shift();
    sequence.lastMs = nowMs;
    if (isEnd) this.counts.ended++;
    if (sequence.turns.length > 0) {
      this.#waiting--;
      this.#begin(sequence);
    } else if (isEnd) this.#close(sequence);
    else this.#idle.add(sequence);
    return hasRoom;
  }

  /** Ends sequences that were idle for too long. */
  endIdle(nowMs: number): void {
    for (const sequence of this.#idle) {
      if (nowMs - sequence.lastMs < this.limits.sequenceIdleMs) return;
      this.counts.idle++;
      this.#close(sequence);
    }
  }

  #opened(key: string, nowMs: number): Sequence {
    const [state, stateBytes] = [this.#zeros, this.#zeroBytes];
    const sequence: Sequence = { key, state, stateBytes, turns: [], lastMs: nowMs };
    this.#byKey.set(key, sequence);
    this.#heldBytes += stateBytes;
    return sequence;
  }

  #begin(sequence: Sequence): void {
    const [turn] = sequence.turns;
    // Zeros are no more than what was held.
    if (turn?.isStart === true) this.#hold(sequence, this.#zeros);
    turn?.begin(sequence.state);
  }

  /** @returns false where the limit is exceeded; nothing has changed then. */
  #keep(sequence: Sequence, state: SequenceState): boolean {
    const more = bytesOfState(state) - sequence.stateBytes;
    if (more > 0 && this.#heldBytes + more > this.limits.maxSequenceBytes) return false;
    this.#hold(sequence, state);
    return true;
  }

  #hold(sequence: Sequence, state: SequenceState): void {
    const bytes = bytesOfState(state);
    this.#heldBytes += bytes - sequence.stateBytes;
    sequence.state = state;
    sequence.stateBytes = bytes;
  }

  #close(sequence: Sequence): void {
    this.#byKey.delete(sequence.key);
    this.#idle.delete(sequence);
    this.#heldBytes -= sequence.stateBytes;
  }
}
