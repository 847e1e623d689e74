/** One end of the stream between the process that decides and one that accepts requests. */
import type { Socket } from "node:net";
import { FrameSplitter } from "./frame-splitter.ts";

/** What comes at once is put together up to this; longer parts are written as they are. */
const SHORT_BYTES = 4096;
/** How long what is not urgent waits for something else to go with. */
const HOLD_MS = 20;

export interface ChannelHandlers {
  readonly onFrame: (frame: Buffer) => void;
  /** Called once, when the other end is gone. */
  readonly onEnd: () => void;
}

/** What is sent in a turn of the event loop is written together at its end. */
export class Channel {
  readonly #socket: Socket;
  #parts: Uint8Array[] = [];
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, { onFrame, onEnd }: ChannelHandlers) {
    this.#socket = socket;
    const splitter = new FrameSplitter(onFrame);
    socket.on("data", (chunk: Buffer) => splitter.push(chunk));
    // It is told of by "close" too.
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(this.#timer);
      onEnd();
    });
  }

  /** @param parts of one frame. */
  send(...parts: readonly Uint8Array[]): void {
    this.#parts.push(...parts);
    this.#schedule();
  }

  /** Sends a frame with whatever is sent next, and soon. */
  sendLater(frame: Uint8Array): void {
    this.#parts.push(frame);
    if (!this.#isScheduled) this.#timer ??= setTimeout(() => this.flush(), HOLD_MS);
  }

  flush(): void {
    this.#isScheduled = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#parts = [];
    if (this.#socket.destroyed) return;
    this.#socket.cork();
    for (let at = 0; at < parts.length; ) at = this.#writeFrom(parts, at);
    this.#socket.uncork();
  }

  /** Writes what waits, and ends its side. @returns kept once it is, or the other is gone. */
  end(): Promise<void> {
    this.flush();
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      this.#socket.once("close", () => resolve());
      this.#socket.end(() => resolve());
    });
  }

  /** @returns the index of what was not written yet. */
  #writeFrom(parts: readonly Uint8Array[], from: number): number {
    let to = from;
    while (to < parts.length && (parts[to]?.length ?? 0) <= SHORT_BYTES) to++;
    if (to - from > 1) {
      this.#socket.write(Buffer.concat(parts.slice(from, to)));
      return to;
    }
    this.#socket.write(parts[from] ?? new Uint8Array());
    return from + 1;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }
}
