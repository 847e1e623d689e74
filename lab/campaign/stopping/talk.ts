/** One connection of a client that tells what became of each request that it has sent. */
import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  readonly body: Uint8Array;
  /** Whether the server says that it is the last of the connection. */
  readonly isLast: boolean;
}

/** Raised where a connection cannot be made; nothing was sent then. */
export class NotListening extends Error {}

const HEAD_END = "\r\n\r\n";

/** A connection: pieces are written, replies come in the order of the requests. */
export class Talk {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #waiting: ((reply: Reply | null) => void)[] = [];
  #isOver = false;
  #isReset = false;
  #hasHeard = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#hasHeard = true;
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#read();
    });
    const over = () => {
      this.#isOver = true;
      for (const settle of this.#waiting.splice(0)) settle(null);
    };
    socket
      .on("end", over)
      .on("close", over)
      .on("error", (error: NodeJS.ErrnoException) => {
        this.#isReset = error.code === "ECONNRESET";
        over();
      });
  }

  /** @throws NotListening */
  static open(port: number): Promise<Talk> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once("error", () => reject(new NotListening()));
      socket.once("connect", () => resolve(new Talk(socket)));
    });
  }

  /** Whether the server has ended it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Whether the kernel ended it before a byte came: as it does to what it has accepted for a
   * listener that closes at the same moment.
   */
  get isResetUnheard(): boolean {
    return this.#isReset && !this.#hasHeard;
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** The next reply; null if the connection ends without. */
  reply(): Promise<Reply | null> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#read();
      if (this.#isOver) for (const settle of this.#waiting.splice(0)) settle(null);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(): void {
    while (this.#waiting.length > 0) {
      const end = this.#bytes.indexOf(HEAD_END);
      if (end < 0) return;
      const head = this.#bytes.toString("latin1", 0, end);
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      const next = end + HEAD_END.length + length;
      if (this.#bytes.length < next) return;
      const body = this.#bytes.subarray(next - length, next);
      this.#bytes = this.#bytes.subarray(next);
      const status = Number(head.split(" ", 2)[1]);
      if (status < 200) continue;
      this.#waiting.shift()?.({ status, body, isLast: /^connection: close$/im.test(head) });
    }
  }
}
