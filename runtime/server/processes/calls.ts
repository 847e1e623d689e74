/** Questions to other processes, and their answers; whoever takes too long is not waited for. */
import type { ToldDispatcher } from "./told.ts";

export class Calls {
  readonly #limitMs: number;
  readonly #waiting = new Map<number, (answer: ToldDispatcher | undefined) => void>();
  #last = 0;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** @returns undefined where there was no answer in time. */
  ask(send: (call: number) => void): Promise<ToldDispatcher | undefined> {
    const call = ++this.#last;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.answer(call, undefined), this.#limitMs);
      this.#waiting.set(call, (answer) => {
        clearTimeout(timer);
        this.#waiting.delete(call);
        resolve(answer);
      });
      send(call);
    });
  }

  answer(call: number, answer: ToldDispatcher | undefined): void {
    this.#waiting.get(call)?.(answer);
  }
}
