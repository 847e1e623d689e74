/** Whose turn it is: one batch computes, one more waits while its bytes come in, others go away. */
import { assert } from "../core/assert.ts";

/** The one that computes, and the one that waits. */
const ROOM = 2;

/** A batch that was let in. */
export interface Turn {
  /**
   * Waits until it may compute; called once. @returns false where it left before that.
   */
  begin(): Promise<boolean>;
  /** Nobody waits for it any more: it leaves unless it computes already. */
  giveUp(): void;
  /** It computes no more, or will not. Any number of times. */
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

  /** Batches that were let in and have not left. */
  get count(): number {
    return this.#in.size;
  }

  /** Lets a batch in before its bytes have come; null where there is no room. */
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

  /** Who has all its bytes first computes first. */
  #begin(turn: Turn): Promise<boolean> {
    if (!this.#in.has(turn)) return Promise.resolve(false);
    if (this.#computing === null) {
      this.#computing = turn;
      return Promise.resolve(true);
    }
    assert(this.#waiting === null, "beside the batch that computes there is room for one");
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
