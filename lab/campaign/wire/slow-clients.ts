/** Clients that take their time: each kind holds a connection as long as the server lets it. */
import { connect, type Socket } from "node:net";
import type { Target } from "./malformed-run.ts";

const GET = "GET /v2 HTTP/1.1\r\nHost: localhost\r\n";
const METRICS = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
/** Requests at once of a client that does not read, fewer than a server refuses to hold. */
const UNREAD_BURST = 16;

interface SlowKind {
  readonly name: string;
  /** What it opens with. */
  readonly opening: (model: string) => string;
  /** What it sends now and then. */
  readonly drip: string;
  /** It asks and asks, and never reads. */
  readonly isDeaf?: boolean;
}

const infer = (model: string) => `POST /v2/models/${model}/infer HTTP/1.1\r\nHost: localhost\r\n`;

export const SLOW_KINDS: readonly SlowKind[] = [
  { name: "silent", opening: () => "", drip: "" },
  { name: "header", opening: () => GET, drip: "x: y\r\n" },
  { name: "header after a request", opening: () => `${GET}\r\nGET`, drip: " " },
  { name: "empty lines after a request", opening: () => `${GET}\r\n`, drip: "\r\n" },
  { name: "body", opening: (model) => `${infer(model)}Content-Length: 9000\r\n\r\n`, drip: " " },
  {
    name: "chunks",
    opening: (model) => `${infer(model)}Transfer-Encoding: chunked\r\n\r\n`,
    drip: "1\r\n \r\n",
  },
  { name: "body of a GET", opening: () => `${GET}Content-Length: 9000\r\n\r\n`, drip: " " },
  {
    name: "body that is never sent",
    opening: (model) => `${infer(model)}Content-Length: 9000\r\nExpect: 100-continue\r\n\r\n`,
    drip: "",
  },
  { name: "deaf", opening: () => METRICS, drip: METRICS.repeat(UNREAD_BURST), isDeaf: true },
];

export interface SlowClient {
  readonly kind: string;
  /** Kept when the server has ended the connection. */
  readonly cut: Promise<void>;
  stop(): void;
}

/** @param dripMs between two bytes, or bursts of one that does not read. */
export function openSlow(
  { host, port }: Target,
  { opening, drip, name, isDeaf = false }: SlowKind,
  model: string,
  dripMs: number,
): SlowClient {
  const socket = connect({ host, port, noDelay: true });
  // What ends it is looked for in `cut`; a reset is one way to be ended.
  socket.on("error", () => {});
  if (isDeaf) socket.pause();
  else socket.resume();
  socket.write(opening(model));
  const timer = setInterval(() => dripInto(socket, drip), dripMs);
  const cut = new Promise<void>((resolve) => {
    socket.once("end", resolve).once("close", resolve);
  });
  const stop = () => {
    clearInterval(timer);
    socket.destroy();
  };
  return { kind: name, cut: cut.finally(stop), stop };
}

function dripInto(socket: Socket, drip: string): void {
  // What the server does not read is not piled up on this side.
  if (drip !== "" && socket.writable && socket.writableLength < 1 << 16) socket.write(drip);
}
