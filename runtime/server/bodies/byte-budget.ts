/** How many bytes of requests the server holds, and whether there is room for more. */

import type { MetricLine } from "../../base/exposition.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import { bufferedByteLines, refusedLines } from "../metrics/shared-families.ts";

/** What all requests may hold together. */
export class ByteBudget {
  readonly maxBytes: number;
  #heldBytes = 0;
  #refusedCount = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Bytes of bodies and tensors of all requests that have no answer yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Requests that there was no room for. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  metricLines(): MetricLine[] {
    return [
      ...bufferedByteLines("requests", this.#heldBytes),
      ...bufferedByteLines("requests_limit", this.maxBytes),
      ...refusedLines("request", [["request_bytes", this.#refusedCount]]),
    ];
  }

  /** For one request; nothing is held yet. */
  hold(): ByteHold {
    return new ByteHold((bytes, isSure) => this.#take(bytes, isSure));
  }

  /** @throws HttpError 503 */
  #take(bytes: number, isSure: boolean): void {
    if (!isSure && this.#heldBytes + bytes > this.maxBytes) {
      this.#refusedCount++;
      const expected = `expected at most the ${Math.max(0, this.maxBytes - this.#heldBytes)} bytes`;
      const room = `that are free of ${this.maxBytes} for the requests of all clients`;
      throw new HttpError(503, `request: ${expected} ${room}, got ${bytes} more`, RETRY_LATER);
    }
    this.#heldBytes += bytes;
  }
}

/** What one request holds. */
export class ByteHold {
  readonly #take: (bytes: number, isSure: boolean) => void;
  #bytes = 0;

  /** @param take called with bytes that come on top, or go, and whether they may not be refused. */
  constructor(take: (bytes: number, isSure: boolean) => void) {
    this.#take = take;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Holds so many bytes if it holds fewer. @throws HttpError 503 if there is no room for them. */
  growTo(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#take(bytes - this.#bytes, false);
    this.#bytes = bytes;
  }

  /** Holds so many bytes from now on, which are there whether or not there is room for them. */
  settle(bytes: number): void {
    this.#take(bytes - this.#bytes, true);
    this.#bytes = bytes;
  }

  /** Any number of times. */
  release(): void {
    this.settle(0);
  }
}
