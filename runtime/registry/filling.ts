/** Fills a file with what a registry sends, in as many tries as it takes while each brings more. */

import type { FileHandle } from "node:fs/promises";
import { causeOf, type HttpAnswer } from "../base/http-client.ts";
import { registryError, TransientError } from "./registry-errors.ts";
import type { Transport } from "./transport.ts";

interface Wanted {
  readonly sha256: string;
  readonly size?: number | undefined;
}

/** Without a known size; as much as a model may have. */
const MAX_BYTES = 2 ** 31 - 1;
const CONTENT_RANGE = /^bytes (\d{1,15})-/;

export class Filling {
  readonly #transport: Transport;
  readonly #url: URL;
  readonly #wanted: Wanted;
  readonly #file: FileHandle;
  /** Bytes that the best of all tries has brought. */
  #furthest: number;
  #bytes: number;
  #isKept: boolean;
  #receivedBytes = 0;

  /** @param kept bytes that are in the file, and are kept. */
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

  /** How many are in the file, from its start. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many came, those that came again among them. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Whether some of them were there before. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** @throws RuntimeError RUNTIME_REGISTRY, RUNTIME_CREDENTIALS; the system's of the file. */
  async fill(): Promise<void> {
    const { size } = this.#wanted;
    let isEnd = this.#bytes === size;
    while (!isEnd) isEnd = await this.#transport.retrying(this.#what, () => this.#goOn());
    if (size === undefined || this.#bytes === size) return;
    throw this.#error(`expected ${size} bytes, got ${this.#bytes}`);
  }

  get #what(): string {
    return `sha256:${this.#wanted.sha256}`;
  }

  /** @returns whether that was the end. @throws TransientError if it brought nothing. */
  async #goOn(): Promise<boolean> {
    const from = this.#bytes;
    const headers = from === 0 ? {} : { range: `bytes=${from}-` };
    const answer = await this.#transport.ask({ method: "GET", url: this.#url, headers });
    const start = await this.#startOf(answer, from);
    if (start < from) this.#isKept = false;
    this.#bytes = start;
    // There is no such range: all is asked for next.
    if (answer.status === 416) return false;
    const cut = await this.#copy(answer);
    if (cut === null) return true;
    const isFurther = this.#bytes > this.#furthest;
    this.#furthest = Math.max(this.#furthest, this.#bytes);
    if (isFurther) return false;
    throw cut;
  }

  /** Where the bytes of an answer belong. */
  async #startOf(answer: HttpAnswer, from: number): Promise<number> {
    const { status, headers } = answer;
    if (status === 200) return 0;
    if (status === 416 && from > 0) {
      answer.body.resume();
      return 0;
    }
    if (status !== 206) return this.#transport.refuse(this.#what, answer);
    const range = CONTENT_RANGE.exec(headers["content-range"] ?? "");
    if (range !== null && Number(range[1]) === from) return from;
    answer.body.destroy();
    throw this.#error(`expected the bytes from ${from} on, got ${headers["content-range"]}`);
  }

  /** @returns why the answer was cut; null if it was not. */
  async #copy({ body }: HttpAnswer): Promise<TransientError | null> {
    const limit = this.#wanted.size ?? MAX_BYTES;
    const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { value, done } = await chunks.next().catch((error) => {
          throw new TransientError(causeOf(error));
        });
        if (done === true) return null;
        if (this.#bytes + value.length > limit) {
          throw this.#error(`expected at most ${limit} bytes, got more`);
        }
        this.#receivedBytes += value.length;
        await this.#write(value);
      }
    } catch (error) {
      if (error instanceof TransientError) return error;
      throw error;
    } finally {
      body.destroy();
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
