/**
 * Holds back what a worker prints while its device is tried: drivers and Dawn explain over several
 * lines what the error then says in one.
 */
import type { Readable, Writable } from "node:stream";

const MOST_BYTES = 64 * 1024;

export class HeldOutput {
  readonly #source: Readable;
  readonly #sink: Writable;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isOpen = false;

  /** @param sink where it goes once it is let through. */
  constructor(source: Readable, sink: Writable = process.stderr) {
    this.#source = source;
    this.#sink = sink;
    source.on("data", (chunk: Buffer) => this.#onData(chunk));
    source.on("error", () => {});
  }

  /** What was held, and all that comes, goes on. */
  letThrough(): void {
    this.#isOpen = true;
    for (const chunk of this.#held) this.#sink.write(chunk);
    this.#held = [];
  }

  /** Nobody reads it any more. */
  close(): void {
    this.#source.destroy();
  }

  #onData(chunk: Buffer): void {
    if (this.#isOpen) this.#sink.write(chunk);
    else if (this.#heldBytes < MOST_BYTES) {
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
    }
  }
}
