/** Counts what became of every HTTP request, each in one place. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { head, line, metric } from "./exposition.ts";

/** In place of a status where the client was gone before its answer was written. */
const NONE = "none";

/**
 * Requests whose header was read, and those that the HTTP parser refused: as many as there are
 * answers by status, requests whose client went away, and requests in flight.
 */
export class RequestCounts {
  readonly #byCode = new Map<string, number>();
  readonly #openBySocket = new WeakMap<Socket, number>();
  #inFlight = 0;

  /** A request has come; it is counted when it is over. */
  begin({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#inFlight++;
    const open = this.#openBySocket;
    open.set(socket, (open.get(socket) ?? 0) + 1);
    response.once("close", () => {
      this.#inFlight--;
      open.set(socket, (open.get(socket) ?? 0) - 1);
      this.onAnswered(response.writableFinished ? response.statusCode : NONE);
    });
  }

  /**
   * The parser has refused what came on a connection. An end in the middle of a request that has
   * begun is that request's.
   */
  onRefused(socket: Socket, error: NodeJS.ErrnoException, code: number): void {
    const isOwn =
      error.code === "HPE_INVALID_EOF_STATE" && (this.#openBySocket.get(socket) ?? 0) > 0;
    if (!isOwn) this.onAnswered(code);
  }

  /** A request is over that did not begin, or is of no more account. */
  onAnswered(code: number | typeof NONE): void {
    const key = String(code);
    this.#byCode.set(key, (this.#byCode.get(key) ?? 0) + 1);
  }

  text(): string {
    const name = "stratagem_http_requests_total";
    const codes = [...this.#byCode].sort(([one], [other]) => (one < other ? -1 : 1));
    const lines = [
      ...head(name, "counter", "HTTP requests that are over, by status; none: the client was gone"),
      ...codes.map(([code, count]) => line(name, { code }, count)),
      ...metric(
        "stratagem_http_requests_in_flight",
        "gauge",
        "HTTP requests without an answer, this one included",
        this.#inFlight,
      ),
    ];
    return `${lines.join("\n")}\n`;
  }
}
