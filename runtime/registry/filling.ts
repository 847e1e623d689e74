/** Fills a file with a blob, in as many requests as needed while each makes progress. */

import type { FileHandle } from "node:fs/promises";
import { DeadlineError } from "../base/deadline.ts";
import { causeOf, type HttpAnswer } from "../base/http-client.ts";
import { registryError, TransientError } from "./registry-errors.ts";
import type { Transport } from "./transport.ts";

interface Wanted {
  readonly sha256: string;
  readonly size?: number | undefined;
}

/** Limit if the size is unknown, the maximum size of a model. */
const MAX_BYTES = 2 ** 31 - 1;
const CONTENT_RANGE = /^bytes (\d{1,15})-/;

export class Filling {
  readonly #transport: Transport;
  readonly #url: URL;
  readonly #wanted: Wanted;
  readonly #file: FileHandle;
  /** Largest number of bytes reached by any request. */
  #furthest: number;
  #bytes: number;
  #isKept: boolean;
  #receivedBytes = 0;

  /** @param kept bytes of the file to keep. */
  constructor(transport: Transport, url: URL, wanted: Wanted, file: FileHandle, kept: number) {
    const { size = MAX_BYTES } = wanted;
    this.#transport = transport;
    this.#url = url;
    this.#wanted = wanted;
    this.#file = file;
    this.#bytes = kept > size ? 0 : kept;
    this.#furthest = this.#bytes;
    this.#isKept = this.#bytes > 0;
  }

  /** Length of the content in the file. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes received, including repeated ones. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Whether the file still has content of an earlier attempt. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS, and the system's errors. */
  async fill(): Promise<void> {
    const { size } = this.#wanted;
    let isEnd = this.#bytes === size;
    while (!isEnd) isEnd = await this.#transport.retrying(this.#what, () => this.#continueFrom());
    if (size === undefined || this.#bytes === size) return;
    throw this.#error(`expected ${size} bytes, got ${this.#bytes}`);
  }

  get #what(): string {
    return `sha256:${this.#wanted.sha256}`;
  }

  /**
   * Sends one request. @returns whether the blob is complete. @throws TransientError without
   * progress.
   */
  async #continueFrom(): Promise<boolean> {
    const from = this.#bytes;
    const headers = from === 0 ? {} : { range: `bytes=${from}-` };
    const answer = await this.#transport.ask({ method: "GET", url: this.#url, headers });
    const start = await this.#startOf(answer, from);
    if (start < from) this.#isKept = false;
    this.#bytes = start;
    // The range does not exist: the next request is for the whole blob.
    if (answer.status === 416) return false;
    const cut = await this.#copy(answer);
    if (cut === null) return true;
    const isFurther = this.#bytes > this.#furthest;
    this.#furthest = Math.max(this.#furthest, this.#bytes);
    if (isFurther) return false;
    throw cut;
  }

  /** Returns the offset at which a response starts. */
  async #startOf(answer: HttpAnswer, from: number): Promise<number> {
    const { status, headers } = answer;
    if (status === 200) return 0;
    if (status === 416 && from > 0) {
      answer.body.drop();
      return 0;
    }
    if (status !== 206) return this.#transport.refuse(this.#what, answer);
    const range = CONTENT_RANGE.exec(headers["content-range"] ?? "");
    if (range !== null && Number(range[1]) === from) return from;
    answer.body.drop();
    throw this.#error(`expected the bytes from ${from}, got ${headers["content-range"]}`);
  }

  /** @returns the reason of an interruption; null if the response was complete. */
  async #copy({ body }: HttpAnswer): Promise<TransientError | null> {
    const limit = this.#wanted.size ?? MAX_BYTES;
    const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          const cut = new TransientError(causeOf(error));
          // Progress that is too slow counts as a failed attempt.
          if (error instanceof DeadlineError) throw cut;
          return cut;
        });
        if (next instanceof TransientError) return next;
        if (next.done === true) return null;
        const { value } = next;
        if (this.#bytes + value.length > limit) {
          throw this.#error(`expected at most ${limit} bytes, got more`);
        }
        this.#receivedBytes += value.length;
        await this.#write(value);
      }
    } finally {
      body.drop();
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const left = chunk.length - at;
      const { bytesWritten } = await this.#file.write(chunk, at, left, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  #error(message: string): Error {
    return registryError(`${this.#transport.where}: ${this.#what}`, message);
  }
}
