/** Counts what became of every HTTP request, each in one place. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { MetricLine } from "../../base/exposition.ts";
import { openLines, requestCountLines } from "../metrics/shared-families.ts";
import { NotesAt } from "./notes-at.ts";

/** In place of a status where the client was gone before its answer was written. */
const NONE = "none";

/**
 * Requests whose header was read, and those that the HTTP parser refused: as many as there are
 * answers by status, requests whose client went away, and requests in flight.
 */
export class RequestCounts {
  readonly #byCode = new Map<string, number>();
  readonly #lastBySocket = new NotesAt<Socket, IncomingMessage>();
  readonly #refusedWith = new NotesAt<IncomingMessage, number>();
  #inFlight = 0;

  /** A request has come; it is counted when it is over. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#inFlight++;
    this.#lastBySocket.set(socket, request);
    let isOver = false;
    response.on("close", () => {
      if (isOver) return;
      isOver = true;
      this.#inFlight--;
      const written = response.writableFinished ? response.statusCode : NONE;
      this.#count(this.#refusedWith.get(request) ?? written);
    });
  }

  /** A request was answered as it came; what is left of its body is no request. */
  onTurnedAway(request: IncomingMessage, code: number): void {
    this.#lastBySocket.set(request.socket, request);
    this.#count(code);
  }

  /**
   * The parser has refused what came on a connection, and the answer is a code. In the body of a
   * request it is that request which is refused, unless the client has gone.
   */
  onRefused(socket: Socket, parserCode: string | undefined, status: number): void {
    const last = this.#lastBySocket.get(socket);
    if (last === undefined || last.complete) this.#count(status);
    else if (parserCode !== "HPE_INVALID_EOF_STATE") this.#refusedWith.set(last, status);
  }

  #count(code: number | typeof NONE): void {
    const key = String(code);
    this.#byCode.set(key, (this.#byCode.get(key) ?? 0) + 1);
  }

  metricLines(): MetricLine[] {
    const codes = [...this.#byCode].sort(([one], [other]) => (one < other ? -1 : 1));
    return [
      ...requestCountLines(codes.map(([code, count]) => [{ protocol: "http", code }, count])),
      ...openLines("http", { requests: this.#inFlight }),
    ];
  }
}
