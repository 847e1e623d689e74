/**
 * The open sequences of a model: their states, whose turn it is in each, and how many there may be.
 * A machine without a clock. Source: docs/decisions/0020-sequences.md.
 */
import { assert } from "../../core/assert.ts";
import { bytesOfState, type SequenceState } from "./state-tensors.ts";

export interface SequenceLimits {
  /** Sequences that are open at a time. */
  readonly maxSequences: number;
  /** Bytes of their states. */
  readonly maxSequenceBytes: number;
  /** A sequence without a request for so long is ended. */
  readonly sequenceIdleMs: number;
  /** Requests that wait for those of their sequences before them, of all sequences. */
  readonly maxPending: number;
}

/** Why a request is not taken in. */
export type SequenceRefusal = "not-open" | "too-many" | "too-much" | "waiting" | "draining";

/** A request of a sequence, from its coming until it is answered or has failed. */
export interface Turn {
  readonly isStart: boolean;
  readonly isEnd: boolean;
  /** Called once it is its turn, with the state that it finds. It has to be finished then. */
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

  /** Sequences that are open. */
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

  /** No sequence begins any more; those that are open go on. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Takes a request in. Its turn may begin before this returns.
   * @returns why it is not taken; null where it is.
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
   * The request whose turn it was is answered, or has failed: then all is as it was before it, but
   * that a sequence that it began has begun.
   * @param state that its model gave; undefined where it has failed.
   * @returns false where so much state may not be held, and the request has failed.
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

  /** @returns false where there is no room; nothing has changed then. */
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
