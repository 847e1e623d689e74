/** Queue of response data for clients, with a memory budget and a time limit for slow readers. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { NotesAt } from "./connection.ts";

export interface OutboxLimits {
  /**
   * Time limit within which a client must read the next `SLICE_BYTES` of an answer, or its rest.
   */
  readonly sendTimeoutMs: number;
  /** Limit of unsent response bytes on all connections. */
  readonly maxUnsentBytes: number;
  /** The same of one connection, where it is owed more than one answer. */
  readonly maxUnsentBytesPerConnection: number;
}

/**
 * Large answers are written in slices, so that the client's speed can be measured. Smaller ones are
 * concatenated, because one system call costs less than a vectored write.
 */
const SLICE_BYTES = 1 << 16;

/** Bytes of a body that cost less as a text, each of them a character. */
const TEXT_BYTES = 1 << 12;

interface Sending {
  readonly response: ServerResponse;
  /** Bytes that the kernel has not accepted yet; it has its own buffer per connection. */
  leftBytes: number;
  /** Time since the last progress, or since the previous answer was sent. */
  waitedMs: number;
}

export type Unread = "slow reader" | "unread answers";

export class Outbox {
  readonly #limits: OutboxLimits;
  /** Sendings with the longest wait first. */
  readonly #sendings = new Set<Sending>();
  readonly #bytesBySocket = new NotesAt<Socket, number>();
  readonly #onCut: (reason: Unread) => void;
  #unsentBytes = 0;

  constructor(limits: OutboxLimits, onCut: (reason: Unread) => void) {
    this.#limits = limits;
    this.#onCut = onCut;
  }

  /** Response bytes that clients have not read. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** Writes the body of an answer whose header was already written, and ends it. */
  send(response: ServerResponse, parts: readonly Uint8Array[]): void {
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    if (bytes <= SLICE_BYTES) {
      const body = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, bytes);
      // Node writes a text together with the header, and bytes of their own beside it.
      if (bytes <= TEXT_BYTES) response.end(latin1Of(body), "latin1");
      else response.end(body);
      // The usual case: the system has it.
      if (response.socket?.writableLength === 0) return;
      this.#watch(response, bytes);
    } else this.#sendSlices(this.#watch(response, bytes), slicesOf(parts));
  }

  /** @param passedMs since the last look. */
  sweep(passedMs: number): void {
    for (const sending of this.#sendings) {
      // An answer without the socket waits for the one before it, which may not be known yet.
      if (sending.response.socket === null) continue;
      sending.waitedMs += passedMs;
      if (sending.waitedMs > this.#limits.sendTimeoutMs) this.#cut(sending, "slow reader");
    }
  }

  #watch(response: ServerResponse, bytes: number): Sending {
    const sending = { response, leftBytes: bytes, waitedMs: 0 };
    this.#sendings.add(sending);
    this.#count(sending, bytes);
    response.once("close", () => this.#release(sending));
    this.#keepBudget(sending);
    return sending;
  }

  #sendSlices(sending: Sending, slices: Iterator<Uint8Array>): void {
    const { response } = sending;
    const next = (): void => {
      const { value, done } = slices.next();
      if (response.destroyed) return;
      if (done) response.end();
      else response.write(value, (error) => (error ? undefined : taken(value.length)));
    };
    const taken = (bytes: number): void => {
      if (!this.#sendings.has(sending)) return;
      sending.leftBytes -= bytes;
      sending.waitedMs = 0;
      this.#count(sending, -bytes);
      // Moves it behind those without progress since.
      this.#sendings.delete(sending);
      this.#sendings.add(sending);
      next();
    };
    next();
  }

  #keepBudget(sending: Sending): void {
    const { maxUnsentBytes, maxUnsentBytesPerConnection } = this.#limits;
    const ofConnection = this.#bytesBySocket.get(sending.response.req.socket) ?? 0;
    if (ofConnection > Math.max(maxUnsentBytesPerConnection, sending.leftBytes)) {
      this.#cut(sending, "unread answers");
    }
    for (const oldest of this.#sendings) {
      if (this.#unsentBytes <= maxUnsentBytes || oldest === sending) return;
      this.#cut(oldest, "unread answers");
    }
  }

  #release(sending: Sending): void {
    this.#sendings.delete(sending);
    this.#count(sending, -sending.leftBytes);
    sending.leftBytes = 0;
  }

  #cut(sending: Sending, reason: Unread): void {
    const { socket } = sending.response.req;
    // Its bytes count no longer, or later answers would be cut because of them.
    this.#release(sending);
    if (socket.destroyed) return;
    this.#onCut(reason);
    socket.destroy();
  }

  #count({ response }: Sending, bytes: number): void {
    const { socket } = response.req;
    this.#unsentBytes += bytes;
    this.#bytesBySocket.set(socket, (this.#bytesBySocket.get(socket) ?? 0) + bytes);
  }
}

function latin1Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

function* slicesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let start = 0; start < part.length; start += SLICE_BYTES) {
      yield part.subarray(start, start + SLICE_BYTES);
    }
  }
}
