/**
 * Worker's end of the socket pair: reads and writes that block the process, because a worker has
 * nothing else to do and waking an event loop for every batch takes several times longer.
 */
import { readSync, writevSync } from "node:fs";
import { decodeHeader, type Frame, HEADER_BYTES } from "./worker-channel.ts";

/** How long to wait before another try where the descriptor turns out not to block. */
const RETRY_MS = 1;
/** Error codes of a closed other end: the server has died or ended this process. */
const CLOSED_CODES: readonly string[] = ["EOF", "EPIPE", "ECONNRESET"];

export class BlockingChannel {
  readonly #fd: number;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #payload = new Uint8Array(0);

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** The next frame, null once the other end is closed. Its payload lasts until the next call. */
  read(): Frame | null {
    if (!this.#fill(this.#header)) return null;
    const { kind, payloadBytes } = decodeHeader(this.#header);
    if (this.#payload.length < payloadBytes) this.#payload = new Uint8Array(payloadBytes);
    const payload = this.#payload.subarray(0, payloadBytes);
    return this.#fill(payload) ? { kind, payload } : null;
  }

  /** Writes the chunks of a frame; false once the other end is closed. */
  write(chunks: readonly Uint8Array[]): boolean {
    let rest = chunks;
    while (rest.length > 0) {
      const written = attempt(() => writevSync(this.#fd, rest));
      if (written === 0) return false;
      rest = without(rest, written);
    }
    return true;
  }

  #fill(target: Uint8Array): boolean {
    let filled = 0;
    while (filled < target.length) {
      const read = attempt(() => readSync(this.#fd, target, filled, target.length - filled, null));
      if (read === 0) return false;
      filled += read;
    }
    return true;
  }
}

/** Bytes that one system call moved, 0 once the other end is closed. */
function attempt(call: () => number): number {
  for (;;) {
    try {
      return call();
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (CLOSED_CODES.includes(code)) return 0;
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Returns the chunks without their first `written` bytes. */
function without(chunks: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let skip = written;
  for (const [index, chunk] of chunks.entries()) {
    if (skip < chunk.length) return [chunk.subarray(skip), ...chunks.slice(index + 1)];
    skip -= chunk.length;
  }
  return [];
}
