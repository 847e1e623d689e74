/** HTTP/1.1 over one socket at a time: what is answered counts, however the connection ends. */
import { connect, type Socket } from "node:net";
import type { HostileRequest } from "./generated.ts";

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

interface Head {
  readonly status: number;
  readonly bytes: number;
  readonly bodyBytes: number;
  readonly isLast: boolean;
}

/** Requests go one after the other; a connection that the server closes is opened again. */
export class Connection {
  readonly #port: number;
  #socket: Socket | undefined;
  #settle: (reply: Reply | undefined) => void = () => {};
  #received: Buffer[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** @returns undefined if the connection ended without an answer. */
  send(
    path: string,
    { headers, body }: HostileRequest,
    method = "POST",
  ): Promise<Reply | undefined> {
    const lines = Object.entries({ ...headers, "content-length": String(body.length) });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const start = Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: h\r\n${head}\r\n`, "utf8");
    return new Promise((resolve) => {
      const socket = this.#opened();
      this.#received = [];
      this.#settle = (reply) => {
        this.#settle = () => {};
        resolve(reply);
      };
      if (body.length < 65_536) socket.write(Buffer.concat([start, body]));
      else {
        socket.write(start);
        socket.write(body);
      }
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #opened(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    const onEnd = () => {
      socket.destroy();
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#settle(undefined);
    };
    socket.on("data", (chunk: Buffer) => this.#onData(socket, chunk));
    socket.on("error", onEnd).on("close", onEnd).on("end", onEnd);
    this.#socket = socket;
    return socket;
  }

  #onData(socket: Socket, chunk: Buffer): void {
    if (this.#socket !== socket) return;
    this.#received.push(chunk);
    const bytes = this.#received.length === 1 ? chunk : Buffer.concat(this.#received);
    this.#received = [bytes];
    const head = headOf(bytes);
    if (head === undefined || bytes.length < head.bytes + head.bodyBytes) return;
    if (head.isLast) {
      this.#socket = undefined;
      socket.destroy();
    }
    const body = bytes.subarray(head.bytes, head.bytes + head.bodyBytes);
    this.#settle({ status: head.status, body });
  }
}

/** @returns undefined before its end. */
function headOf(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const text = bytes.toString("latin1", 0, end).toLowerCase();
  const isChunked = text.includes("\r\ntransfer-encoding: chunked");
  const length = /\r\ncontent-length: (\d+)/.exec(text)?.[1];
  const chunkedBytes = bytes.indexOf("\r\n0\r\n\r\n", end);
  return {
    status: Number(text.slice(9, 12)),
    bytes: end + 4,
    bodyBytes: isChunked
      ? chunkedBytes < 0
        ? Number.POSITIVE_INFINITY
        : chunkedBytes - end + 3
      : Number(length ?? 0),
    isLast: text.includes("\r\nconnection: close"),
  };
}

/** Why an answer is none that a client can act upon; undefined if it is one. */
export function problemOf(reply: Reply | undefined): string | undefined {
  if (reply === undefined) return "no answer";
  const { status, body } = reply;
  if (status === 200) return undefined;
  if (status === 500) return `500 ${body.toString("utf8", 0, 200)}`;
  let reason: unknown;
  try {
    reason = JSON.parse(body.toString()).error;
  } catch {
    return `${status} whose body is no JSON`;
  }
  const isReason = typeof reason === "string" && reason.length > 0 && body.length < 2000;
  return isReason ? undefined : `${status} without a reason, or a long one`;
}
