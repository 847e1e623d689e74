/**
 * Admission of batches: one computes, one more waits while its bytes come in, others are rejected.
 */
import { assert } from "../core/assert.ts";

/** The batch that computes, and the one that waits. */
const ROOM = 2;

/** An admitted batch. */
export interface Turn {
  /** Waits until it may compute; called once. @returns false if it left before that. */
  begin(): Promise<boolean>;
  /** Leaves, unless it computes already: the client no longer waits for it. */
  giveUp(): void;
  /** Ends the turn; may be called any number of times. */
  leave(): void;
}

interface Waiting {
  readonly turn: Turn;
  readonly settle: (isMine: boolean) => void;
}

export class Turns {
  readonly #in = new Set<Turn>();
  #computing: Turn | null = null;
  #waiting: Waiting | null = null;

  /** Whether a batch computes. */
  get isRunning(): boolean {
    return this.#computing !== null;
  }

  /** Number of batches that were admitted and have not left. */
  get count(): number {
    return this.#in.size;
  }

  /** Admits a batch before its bytes have come; null if the queue is full. */
  enter(): Turn | null {
    if (this.#in.size >= ROOM) return null;
    const turn: Turn = {
      begin: () => this.#begin(turn),
      giveUp: () => {
        if (this.#computing !== turn) this.#leave(turn);
      },
      leave: () => this.#leave(turn),
    };
    this.#in.add(turn);
    return turn;
  }

  /** The batch that has all its bytes first computes first. */
  #begin(turn: Turn): Promise<boolean> {
    if (!this.#in.has(turn)) return Promise.resolve(false);
    if (this.#computing === null) {
      this.#computing = turn;
      return Promise.resolve(true);
    }
    assert(this.#waiting === null, "at most one batch waits");
    return new Promise((settle) => {
      this.#waiting = { turn, settle };
    });
  }

  #leave(turn: Turn): void {
    this.#in.delete(turn);
    const waiting = this.#waiting;
    if (waiting?.turn === turn) {
      this.#waiting = null;
      waiting.settle(false);
    } else if (this.#computing === turn) {
      this.#computing = waiting?.turn ?? null;
      this.#waiting = null;
      waiting?.settle(true);
    }
  }
}
