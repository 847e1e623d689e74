/**
 * Reads the messages of a call, within the limits of size, time and memory of HTTP bodies. grpc-js
 * itself buffers a message before anyone sees it, so its decoder and its decompression are
 * replaced. They are no part of its interface: package.json pins its version.
 */
import type { ServerHttp2Stream } from "node:http2";
import { ByteSink, Pace, type PaceLimits, take, tooLarge } from "../bodies/body.ts";
import {
  type BodyLimit,
  type ByteBudget,
  type ByteHold,
  bodyMemory,
} from "../bodies/body-memory.ts";
import { INFLATER_BYTES, type Inflater, inflaterOf, isCompressed } from "../bodies/inflater.ts";
import { HttpError } from "../connections/http-error.ts";
import { framed, HEAD_BYTES } from "./long-message.ts";

/** The part of a call of grpc-js that reads and writes its messages. */
interface ReadingCall {
  readonly stream: ServerHttp2Stream;
  /** Returns the messages that end with the data, with their heads. */
  decoder: { write(data: Buffer): Buffer[] };
  /** Writes data to the decoder, and queues the messages that come out. */
  handleDataFrame(data: Buffer): void;
  /** Queues the end of the messages. */
  handleEndEvent(): void;
  readonly readQueue: readonly unknown[];
  /** Called when the handler wants a message. Without one in the queue, the stream is read. */
  startRead(): void;
  decompressMessage(message: Buffer, encoding: string): Buffer | Promise<Buffer>;
  serializeMessage(message: Uint8Array): Buffer;
}

export interface MessageLimits {
  readonly budget: ByteBudget;
  readonly limit: BodyLimit;
  readonly pace: PaceLimits;
  /** How long to keep reading after a call was rejected. */
  readonly lingerMs: number;
}

/** Memory of a message beside its bytes, in grpc-js and here. */
const OBJECT_BYTES = 512;

/**
 * Messages that are split off at once. A piece of data may hold thousands, and many streams may be
 * read in one turn of the event loop.
 */
const SPLIT_MESSAGES = 64;
const NOTHING = Buffer.alloc(0);

export class MessageReader {
  readonly #stream: ServerHttp2Stream;
  readonly #limits: MessageLimits;
  readonly #refuse: (error: HttpError) => void;
  readonly #isUnary: boolean;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #messageBytes = 0;
  #sink: ByteSink | undefined;
  #hold: ByteHold | undefined;
  /** Memory of the whole messages that no handler has taken, in their order. */
  readonly #whole: ByteHold[] = [];
  readonly #holdOf = new WeakMap<Buffer, ByteHold>();
  /** Kept once the compressed messages so far are decompressed. */
  #lastPlain: Promise<unknown> = Promise.resolve();
  #token: string | undefined;
  #pace: Pace | undefined;
  #receivedBytes = 0;
  /** Received data that is not split yet. */
  #rest: Buffer = NOTHING;
  #isOver = false;

  /**
   * @param call of grpc-js, as the first interceptor gets it.
   * @param refuse ends the call.
   */
  constructor(
    call: object,
    isUnary: boolean,
    limits: MessageLimits,
    refuse: (error: HttpError) => void,
  ) {
    const reading = call as ReadingCall;
    const { stream } = reading;
    this.#stream = stream;
    this.#limits = limits;
    this.#refuse = refuse;
    this.#isUnary = isUnary;
    const decompress = reading.decompressMessage.bind(call);
    const serialize = reading.serializeMessage.bind(call);
    const startRead = reading.startRead.bind(call);
    const handleEnd = reading.handleEndEvent.bind(call);
    let hasEnded = false;
    const endAfterRest = () => {
      if (!hasEnded || this.#rest.length > 0) return;
      hasEnded = false;
      this.#onEnd();
      handleEnd();
    };
    reading.decoder = this;
    reading.startRead = () => {
      if (reading.readQueue.length === 0 && this.#rest.length > 0) {
        reading.handleDataFrame(NOTHING);
        endAfterRest();
      }
      startRead();
    };
    // The stream may end while it is paused.
    reading.handleEndEvent = () => {
      hasEnded = true;
      endAfterRest();
    };
    reading.serializeMessage = (message) => framed(message) ?? serialize(message);
    reading.decompressMessage = (message, encoding) =>
      isCompressed(encoding)
        ? this.#decompressed(message, encoding)
        : decompress(message, encoding);
    stream.on("resume", () => this.#time());
    stream.once("close", () => this.#close());
  }

  /** Starts the time limits of a unary call's message. @param token name of the client's. */
  begin(token: string | undefined): void {
    this.#token = token;
    if (this.#isUnary) this.#startPace();
  }

  /** Returns the memory of the next message, which the caller releases. */
  takeHold(): ByteHold {
    return this.#whole.shift() ?? this.#newHold();
  }

  /**
   * Called when the call has its status while the client may still be sending. A stream that was
   * ended at once would lose the status.
   */
  leave(): void {
    this.#isOver = true;
    if (this.#stream.closed) return;
    const timer = setTimeout(() => this.#stream.close(), this.#limits.lingerMs).unref();
    this.#stream.once("close", () => clearTimeout(timer));
  }

  write(received: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    if (this.#isOver) return messages;
    this.#receivedBytes += received.length;
    const data = this.#rest.length === 0 ? received : Buffer.concat([this.#rest, received]);
    let at = 0;
    try {
      while (at < data.length && messages.length < SPLIT_MESSAGES) {
        at = this.#read(data, at, messages);
      }
    } catch (error) {
      this.#end(error as HttpError);
      return [];
    }
    this.#rest = data.subarray(at);
    // grpc-js pauses the stream after a message, and resumes it when the next one is wanted.
    if (messages.length > 0 && !this.#isUnary) this.#stopPace();
    else this.#time();
    return messages;
  }

  /** Reads up to the end of a message. @returns where it stopped. @throws HttpError */
  #read(data: Buffer, start: number, messages: Buffer[]): number {
    let at = start;
    if (this.#sink === undefined) {
      const wholeEnd = this.#readWhole(data, at, messages);
      if (wholeEnd > at) return wholeEnd;
      const headEnd = Math.min(data.length, at + HEAD_BYTES - this.#headBytes);
      data.copy(this.#head, this.#headBytes, at, headEnd);
      this.#headBytes += headEnd - at;
      if (this.#headBytes < HEAD_BYTES) return headEnd;
      // A head in one piece stays with its message, which then needs no copy.
      const isWhole = headEnd - at === HEAD_BYTES;
      this.#sink = this.#opened();
      if (isWhole) this.#headBytes = 0;
      else {
        this.#sink.push(Buffer.from(this.#head));
        at = headEnd;
      }
    }
    const sink = this.#sink;
    const end = Math.min(data.length, at + this.#messageBytes - sink.length);
    if (end > at) this.#take(sink, data.subarray(at, end));
    if (sink.length === this.#messageBytes) this.#finish(sink, messages);
    return end;
  }

  /** Takes a message that the data has whole, as a client may send thousands at once. */
  #readWhole(data: Buffer, start: number, messages: Buffer[]): number {
    if (this.#headBytes > 0 || data.length < start + HEAD_BYTES) return start;
    const length = data.readUInt32BE(start + 1);
    const end = start + HEAD_BYTES + length;
    if (end > data.length) return start;
    this.#push(data.subarray(start, end), this.#holdFor(length), messages);
    return end;
  }

  /** @throws HttpError 413, 429 or 503 */
  #opened(): ByteSink {
    const length = this.#head.readUInt32BE(1);
    this.#hold = this.#holdFor(length);
    this.#messageBytes = HEAD_BYTES + length;
    return new ByteSink(this.#messageBytes, this.#messageBytes);
  }

  /** @throws HttpError 413, 429 or 503 */
  #holdFor(length: number): ByteHold {
    const { limit } = this.#limits;
    if (length > limit.bytes) throw tooLarge(limit, `${length}`);
    const hold = this.#newHold();
    hold.growTo(OBJECT_BYTES + length);
    return hold;
  }

  #take(sink: ByteSink, data: Buffer): void {
    const limit = { bytes: this.#messageBytes, why: "its length" };
    take(sink, data, { limit, hold: { growTo: () => {} } });
  }

  #finish(sink: ByteSink, messages: Buffer[]): void {
    this.#push(sink.finish(), this.#hold ?? this.#newHold(), messages);
    this.#sink = undefined;
    this.#hold = undefined;
    this.#headBytes = 0;
  }

  #push(message: Buffer, hold: ByteHold, messages: Buffer[]): void {
    this.#whole.push(hold);
    if (message[0] === 1) this.#holdOf.set(message, hold);
    messages.push(message);
  }

  /**
   * Resolves with the message without its head, or never if the call is refused. One message of a
   * call is decompressed at a time, since each takes memory of its own meanwhile.
   */
  #decompressed(message: Buffer, encoding: "gzip" | "deflate"): Promise<Buffer> {
    const plain = this.#lastPlain.then(() => this.#inflated(message, encoding));
    this.#lastPlain = plain;
    return plain;
  }

  #inflated(message: Buffer, encoding: "gzip" | "deflate"): Promise<Buffer> {
    const packed = message.subarray(HEAD_BYTES);
    const hold = this.#holdOf.get(message) ?? this.#newHold();
    const { limit } = this.#limits;
    const sink = new ByteSink(undefined, limit.bytes);
    const ownBytes = OBJECT_BYTES + packed.length;
    const taking = {
      limit,
      hold: { growTo: (bytes: number) => hold.growTo(ownBytes + INFLATER_BYTES + bytes) },
    };
    return new Promise((resolve) => {
      const fail = (error: HttpError) => {
        inflater?.stop();
        sink.discard();
        this.#end(error);
      };
      const guarded = (act: () => void) => {
        try {
          if (this.#isOver) throw new HttpError(499, "the call has ended");
          act();
        } catch (error) {
          fail(error as HttpError);
        }
      };
      let inflater: Inflater | undefined;
      guarded(() => {
        taking.hold.growTo(0);
        inflater = inflaterOf(encoding, packed, {
          onData: (chunk) => guarded(() => take(sink, chunk, taking)),
          onEnd: () =>
            guarded(() => {
              bodyMemory.giveBack(message.buffer);
              hold.settle(ownBytes + sink.length);
              resolve(sink.finish());
            }),
          onError: (reason) => {
            const expected = `expected a message compressed with ${encoding}`;
            fail(new HttpError(400, `request: ${expected} (${reason})`));
          },
        });
        inflater.write(packed, () => {});
        inflater.end();
      });
    });
  }

  #newHold(): ByteHold {
    return this.#limits.budget.hold(this.#stream.session, this.#token);
  }

  get #isBegun(): boolean {
    return this.#sink !== undefined || this.#headBytes > 0;
  }

  /** Limits the time of a message that has begun, while the stream is read. */
  #time(): void {
    if (this.#isBegun && !this.#isUnary && !this.#isOver) this.#startPace();
  }

  #startPace(): void {
    if (this.#pace !== undefined) return;
    const onSlow = (reason: string) => this.#end(new HttpError(408, `request: ${reason}`));
    const startBytes = this.#receivedBytes;
    this.#pace = new Pace(this.#limits.pace, () => this.#receivedBytes - startBytes, onSlow);
  }

  #stopPace(): void {
    this.#pace?.stop();
    this.#pace = undefined;
  }

  /** grpc-js ignores the beginning of a message. */
  #onEnd(): void {
    this.#stopPace();
    if (this.#isBegun) this.#end(new HttpError(400, "request: the call ended before its message"));
  }

  #end(error: HttpError): void {
    if (this.#isOver) return;
    this.#close();
    this.#refuse(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#stopPace();
    this.#rest = NOTHING;
    this.#sink?.discard();
    this.#sink = undefined;
    this.#hold?.release();
    for (const hold of this.#whole.splice(0)) hold.release();
  }
}
