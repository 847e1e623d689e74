/**
 * Reads request bodies into one buffer, and decompresses them on the way, within limits of size,
 * time and the server's memory.
 */
import type { IncomingMessage } from "node:http";
import { HttpError } from "../connections/http-error.ts";
import { foundText } from "../tensors/json-text.ts";
import {
  type BodyLimit,
  type ByteHold,
  bodyMemory,
  type Growing,
  YoungMemory,
} from "./body-memory.ts";
import { type Inflater, inflaterOf, isCompressed } from "./inflater.ts";

const youngMemory = new YoungMemory();

interface Taking {
  readonly limit: BodyLimit;
  /** Holds what is read, also if it is not read to its end. */
  readonly hold: Pick<ByteHold, "growTo">;
}

export interface BodyReading extends Taking {
  readonly pace: PaceLimits;
}

/** @throws HttpError 400, 408, 413, 415, 429 or 503. */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  const { limit, hold } = reading;
  const encoding = request.headers["content-encoding"] ?? "identity";
  const isPlain = encoding === "identity";
  if (!isPlain && !isCompressed(encoding)) {
    const allowed = "expected identity, gzip or deflate";
    throw new HttpError(415, `Content-Encoding: ${allowed}, got ${foundText(encoding)}`);
  }
  const declared = request.headers["content-length"];
  const length = declared === undefined ? undefined : Number(declared);
  if (length !== undefined) {
    if (length > limit.bytes) throw tooLarge(limit, `${length}`);
    hold.growTo(length);
  }
  const sink = new ByteSink(isPlain ? length : undefined, limit.bytes);
  return isPlain
    ? readPlain(request, sink, reading)
    : readCompressed(request, encoding as "gzip" | "deflate", sink, reading);
}

/** Short version of `read` for a body that only has to be concatenated. */
function readPlain(
  request: IncomingMessage,
  sink: ByteSink,
  reading: BodyReading,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      stop();
      sink.discard();
      reject(error);
    };
    const pace = new Pace(
      reading.pace,
      () => sink.length,
      (message) => fail(new HttpError(408, message)),
    );
    const onData = (chunk: Buffer) => {
      try {
        take(sink, chunk, reading);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = () => {
      stop();
      resolve(sink.finish());
    };
    const onClose = () => fail(closedEarly());
    function stop(): void {
      pace.stop();
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      request.pause();
    }
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

function closedEarly(): HttpError {
  return new HttpError(400, "the connection ended before the body did");
}

/** Stops inflating as soon as the limit is exceeded. */
function readCompressed(
  request: IncomingMessage,
  encoding: "gzip" | "deflate",
  sink: ByteSink,
  reading: BodyReading,
) {
  const wrong = (reason: string) =>
    new HttpError(400, `request: expected a body compressed with ${encoding} (${reason})`);
  return read(request, reading, (settle, fail) => {
    let inflater: Inflater | undefined;
    let compressedBytes = 0;
    const open = (first: Buffer): Inflater =>
      inflaterOf(encoding, first, {
        onData: (chunk) => {
          try {
            take(sink, chunk, reading);
          } catch (error) {
            fail(error);
          }
        },
        onEnd: () => settle(sink.finish()),
        onError: (reason) => fail(wrong(reason)),
      });
    return {
      onData: (chunk) => {
        compressedBytes += chunk.length;
        if (compressedBytes > reading.limit.bytes) throw tooLarge(reading.limit, "more");
        inflater ??= open(chunk);
        const takesMore = inflater.write(chunk, () => request.resume());
        if (!takesMore) request.pause();
      },
      onEnd: () => {
        if (inflater === undefined) throw wrong("it is empty");
        inflater.end();
      },
      onStop: () => {
        inflater?.stop();
        sink.discard();
      },
      bytesRead: () => compressedBytes,
    };
  });
}

/** Adds a chunk to a body. @throws HttpError 413, 429 or 503 */
export function take(sink: ByteSink, chunk: Buffer, { limit, hold }: Taking): void {
  const bytes = sink.length + chunk.length;
  if (bytes > limit.bytes) throw tooLarge(limit, "more");
  hold.growTo(bytes);
  sink.push(chunk);
  youngMemory.onBytes(chunk.length);
}

interface Reader {
  /** Whatever these two throw ends the reading. */
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
  readonly onStop: () => void;
  readonly bytesRead: () => number;
}

/** Reads until the reader settles or fails. */
function read(
  request: IncomingMessage,
  { pace: limits }: BodyReading,
  readerOf: (settle: (body: Buffer) => void, fail: (error: unknown) => void) => Reader,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reader = readerOf(
      (body) => {
        stop();
        resolve(body);
      },
      (error) => {
        stop();
        reader.onStop();
        reject(error);
      },
    );
    const guarded = (act: () => void) => {
      try {
        act();
      } catch (error) {
        stop();
        reader.onStop();
        reject(error);
      }
    };
    const pace = new Pace(limits, reader.bytesRead, (message) => {
      guarded(() => {
        throw new HttpError(408, message);
      });
    });
    const onData = (chunk: Buffer) => guarded(() => reader.onData(chunk));
    // The rest to inflate is bounded and does not depend on the client's speed.
    const onEnd = () => {
      pace.stop();
      request.off("close", onClose);
      guarded(() => reader.onEnd());
    };
    const onClose = () =>
      guarded(() => {
        throw closedEarly();
      });
    function stop(): void {
      pace.stop();
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      request.pause();
    }
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

export function tooLarge({ bytes, why }: BodyLimit, found: string): HttpError {
  return new HttpError(
    413,
    `request: expected a body of at most ${bytes} bytes, ${why}, got ${found}`,
  );
}

// The types of ES2023 do not have it; every Node from 20 on does.
const GrowingBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  limits: { readonly maxByteLength: number },
) => Growing;

/** Above it memory is mapped, which costs a page fault for each 4 KiB. */
const MAPPED_BYTES = 2 ** 20;

/**
 * Collects the chunks of a body. A single chunk that is the whole body is used as it is; several
 * are copied once each if the length is known. Otherwise the buffer doubles, and grows in place
 * from a certain size on.
 */
export class ByteSink {
  #length = 0;
  #only: Buffer | undefined;
  #buffer: Buffer | undefined;
  #growing: Growing | undefined;
  readonly #expected: number | undefined;
  readonly #maxBytes: number;

  /** @param maxBytes of all chunks, which the caller sees to. */
  constructor(expected: number | undefined, maxBytes: number) {
    this.#expected = expected;
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    const start = this.#length;
    this.#length += chunk.length;
    if (start === 0 && (this.#expected === undefined || this.#expected === chunk.length)) {
      this.#only = chunk;
      return;
    }
    const buffer = this.#bufferOf(this.#length);
    if (this.#only !== undefined) this.#only.copy(buffer);
    this.#only = undefined;
    chunk.copy(buffer, start);
  }

  finish(): Buffer {
    return this.#only ?? this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** Releases the memory of a body that is not read to its end. */
  discard(): void {
    if (this.#buffer !== undefined) bodyMemory.giveBack(this.#buffer.buffer);
    this.#buffer = undefined;
  }

  #bufferOf(bytes: number): Buffer {
    const known = this.#buffer;
    if (known !== undefined && known.length >= bytes) return known;
    const doubled = Math.min(this.#maxBytes, 2 * Math.max(bytes, known?.length ?? 0));
    const capacity = Math.max(bytes, this.#expected ?? doubled);
    if (capacity <= MAPPED_BYTES) {
      const isWhole = capacity === this.#expected;
      const taken = isWhole ? bodyMemory.take(capacity) : undefined;
      const grown = taken ?? Buffer.allocUnsafeSlow(capacity);
      known?.copy(grown);
      this.#buffer = grown;
      return grown;
    }
    const isFirst = this.#growing === undefined;
    this.#growing ??= new GrowingBuffer(0, { maxByteLength: Math.max(capacity, this.#maxBytes) });
    this.#growing.resize(capacity);
    const grown = Buffer.from(this.#growing);
    if (isFirst) known?.copy(grown);
    this.#buffer = grown;
    return grown;
  }
}

export interface PaceLimits {
  /** Time limit from the end of the header to the end of the body. */
  readonly bodyTimeoutMs: number;
  /** Length of the windows in which the speed is measured. */
  readonly bodyWindowMs: number;
  /** Minimum speed in each of these windows, bytes per second. */
  readonly minBodyBytesPerS: number;
}

/** Paces that began in this turn of the event loop. */
const begun = new Set<Pace>();
let isTurnAwaited = false;

function waitForBegun(): void {
  isTurnAwaited = false;
  for (const pace of begun) pace.wait();
  begun.clear();
}

/**
 * Calls once when a body is too slow. Uses one timer for all its time limits, and none for a body
 * that arrives with its header.
 */
export class Pace {
  readonly #limits: PaceLimits;
  readonly #bytes: () => number;
  readonly #onSlow: (reason: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #looking: NodeJS.Immediate | undefined;
  #passedMs = 0;
  #seenBytes = 0;

  /**
   * @param bytes number of bytes received so far.
   * @param onSlow called with the expected and the measured rate.
   */
  constructor(limits: PaceLimits, bytes: () => number, onSlow: (reason: string) => void) {
    this.#limits = limits;
    this.#bytes = bytes;
    this.#onSlow = onSlow;
    begun.add(this);
    if (isTurnAwaited) return;
    isTurnAwaited = true;
    setImmediate(waitForBegun);
  }

  stop(): void {
    if (begun.delete(this)) return;
    clearTimeout(this.#timer);
    clearImmediate(this.#looking);
  }

  /** Starts the time limits. */
  wait(): void {
    const { bodyTimeoutMs, bodyWindowMs } = this.#limits;
    const waitMs = Math.min(bodyWindowMs, bodyTimeoutMs - this.#passedMs);
    this.#timer = setTimeout(() => {
      // Data that arrived while the server was busy is read first, since that delay is not the
      // client's.
      this.#looking = setImmediate(() => this.#look(waitMs));
    }, waitMs);
  }

  #look(waitedMs: number): void {
    const { bodyTimeoutMs, bodyWindowMs, minBodyBytesPerS } = this.#limits;
    const bytes = this.#bytes();
    const cameBytes = bytes - this.#seenBytes;
    this.#passedMs += waitedMs;
    this.#seenBytes = bytes;
    if (this.#passedMs >= bodyTimeoutMs) {
      this.#onSlow(`expected the body within ${bodyTimeoutMs} ms, got ${bytes} bytes`);
    } else if (cameBytes < (minBodyBytesPerS * waitedMs) / 1000) {
      const expected = `expected at least ${minBodyBytesPerS} bytes of the body per second`;
      this.#onSlow(`${expected}, got ${cameBytes} in ${bodyWindowMs} ms`);
    } else this.wait();
  }
}
