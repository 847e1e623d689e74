/** Raw connections to a server, whose replies are read by the campaign's strict reader. */
import { connect, type Socket } from "node:net";
import { type Reply, repliesOf } from "../../../lab/campaign/wire/http-replies.ts";
import type { Harness } from "./harness.ts";

export class Wire {
  readonly socket: Socket;
  /** Kept when the server has ended its side, or the whole connection. */
  readonly ended: Promise<void>;
  readonly #chunks: Buffer[] = [];
  #onData: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#onData();
    });
    // A reset is one of the ways in which a connection ends.
    socket.on("error", () => {});
    this.ended = new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  }

  static async open({ server }: Harness): Promise<Wire> {
    const { hostname, port } = new URL(server.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
    return new Wire(socket);
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("latin1");
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** Waits until something has come that has this in it. */
  until(part: string): Promise<void> {
    return new Promise((resolve) => {
      this.#onData = () => {
        if (this.text.includes(part)) resolve();
      };
      this.#onData();
    });
  }

  /** Final replies so far. @throws Error for what is not HTTP. */
  replies(isHead = false): Reply[] {
    return repliesOf(Buffer.concat(this.#chunks), () => isHead);
  }
}

/** Sends something and ends the client's side. @returns what the server said until its own end. */
export async function exchange(harness: Harness, text: string, isHead = false): Promise<Reply[]> {
  const wire = await Wire.open(harness);
  wire.socket.end(text, "latin1");
  await wire.ended;
  wire.socket.destroy();
  return wire.replies(isHead);
}

export function reasonOf(reply: Reply | undefined): string {
  const { error } = JSON.parse(reply?.body ?? "") as { readonly error: string };
  return error;
}
