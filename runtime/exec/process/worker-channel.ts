/** The server's end of the channel to a worker: frames that go out, and those that come. */
import type { Socket } from "node:net";
import { type Frame, textFrame } from "./frame-protocol.ts";
import { FrameReader, type OnHead } from "./frame-reader.ts";

interface ChannelListener {
  /** A frame of that kind begins, with these bytes; the rest may take a while. */
  readonly onHead: OnHead;
  readonly onFrame: (frame: Frame) => void;
  /** What came is no frame, or none that was to come; there may be more of it. */
  readonly onMistake: (reason: string) => void;
  /** The other end has gone. */
  readonly onClose: () => void;
}

export class WorkerChannel {
  readonly #socket: Socket;

  constructor(socket: Socket, { onHead, onFrame, onMistake, onClose }: ChannelListener) {
    this.#socket = socket;
    const reader = new FrameReader(onFrame, onHead);
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        onMistake(error instanceof Error ? error.message : String(error));
      }
    });
    // The other end has gone, which its exit explains better.
    socket.on("error", () => {});
    socket.on("close", onClose);
  }

  sendText(kind: number, text: string): void {
    this.send(textFrame(kind, text));
  }

  /** One system call for all chunks of a frame, none of them copied. */
  send(chunks: readonly Uint8Array[]): void {
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) {
      this.#socket.write(only);
      return;
    }
    this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    this.#socket.uncork();
  }

  /** Nothing goes out or comes any more. */
  close(): void {
    this.#socket.destroy();
  }
}

/** Larger chunks cost less to write by themselves than to copy. */
const MAX_SMALL_BYTES = 1 << 15;
/** Of small chunks of one frame; what is beyond is written as it is. */
const CAPACITY_BYTES = 1 << 19;

/**
 * A chunk that a stream of Node is given takes several times what it takes to copy a few KB. The
 * copies are in memory that is used again, so a frame has to be gone before the next is gathered.
 */
export class GatheredChunks {
  #memory: Uint8Array | undefined;

  /** @returns the same bytes in the same order; chunks in a row that are small are one. */
  gather(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
    this.#memory ??= new Uint8Array(new ArrayBuffer(CAPACITY_BYTES));
    const memory = this.#memory;
    const gathered: Uint8Array[] = [];
    let begin = 0;
    let end = 0;
    for (const chunk of chunks) {
      if (chunk.length <= MAX_SMALL_BYTES && end + chunk.length <= CAPACITY_BYTES) {
        memory.set(chunk, end);
        end += chunk.length;
        continue;
      }
      if (end > begin) gathered.push(memory.subarray(begin, end));
      begin = end;
      gathered.push(chunk);
    }
    if (end > begin) gathered.push(memory.subarray(begin, end));
    return gathered;
  }
}
