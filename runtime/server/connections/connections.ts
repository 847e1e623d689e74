/** All connections of a server and the requests on them: limits, idleness, counts. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { MetricLine } from "../../base/exposition.ts";
import {
  bufferedByteLines,
  endedConnectionLines,
  openLines,
  requestCountLines,
} from "../../base/metric-families.ts";
import { Connection, type ConnectionEnd, NotesAt } from "./connection.ts";
import { Descriptors, type Room, tooManyText } from "./descriptors.ts";
import { HttpError, RETRY_LATER } from "./http-error.ts";
import { Outbox, type OutboxLimits, type Unread } from "./outbox.ts";

export interface ConnectionLimits extends ConnectionEnd, OutboxLimits {
  readonly maxConnections: number;
  /** Also applies to a connection that sends nothing. */
  readonly headerTimeoutMs: number;
  /** Maximum idle time between requests. */
  readonly idleTimeoutMs: number;
}

/** Connections over the limit that get an answer; further ones are closed without one. */
export const SURPLUS_CONNECTIONS = 256;
/** Longest interval between checks for slow clients. */
const SWEEP_MS = 1000;
/** Requests of one look to the next, or the one after, that make a load. */
const BUSY_COUNT = 20;

const REASONS = [
  "slow header",
  "malformed",
  "idle",
  "no room",
  "no descriptors",
  "made room",
] as const;
type Ending = (typeof REASONS)[number] | Unread;

export class Connections {
  readonly outbox: Outbox;
  readonly descriptors: Descriptors;
  readonly #limits: ConnectionLimits;
  readonly #bySocket = new Map<Socket, Connection>();
  /** Connections that have not sent a request yet, oldest first. */
  readonly #silent = new Set<Connection>();
  readonly #countByEnding = new Map<Ending, number>();
  readonly #sweep: NodeJS.Timeout;
  #isStopping = false;
  #askedCount = 0;
  /** Counts at the last check, and at the one before. */
  #askedAtLook = 0;
  #askedBefore = 0;

  /** @param descriptors budget that connections share with the rest; by default unlimited. */
  constructor(limits: ConnectionLimits, descriptors = new Descriptors()) {
    this.#limits = limits;
    this.descriptors = descriptors;
    this.outbox = new Outbox(limits, (reason) => this.#ended(reason));
    for (const reason of [...REASONS, "slow reader", "unread answers"] as const) {
      this.#countByEnding.set(reason, 0);
    }
    const { sendTimeoutMs, idleTimeoutMs } = limits;
    const sweepMs = Math.min(SWEEP_MS, sendTimeoutMs, idleTimeoutMs);
    this.#sweep = setInterval(() => this.#look(sweepMs), sweepMs).unref();
  }

  /** Whether the socket was given to `open`. */
  has(socket: Socket): boolean {
    return this.#bySocket.has(socket);
  }

  /** Connection of a socket that was given to `open`. */
  of(socket: Socket): Connection {
    const connection = this.#bySocket.get(socket);
    return connection ?? this.open(socket);
  }

  /**
   * Opens a connection. At the limit, or if it takes descriptors that are kept for others, the
   * oldest connection without a request is closed; if there is no such connection, the new one is
   * rejected.
   */
  open(socket: Socket): Connection {
    const connection = new Connection(socket, this.#limits);
    this.#bySocket.set(socket, connection);
    if (this.#isStopping) connection.announceEnd();
    socket.once("close", () => {
      this.#bySocket.delete(socket);
      this.#silent.delete(connection);
    });
    const room = this.descriptors.roomFor(socket);
    const isFree = room === "free" && this.#bySocket.size <= this.#limits.maxConnections;
    if (isFree || this.#makeRoom()) this.#silent.add(connection);
    else {
      if (this.cut(socket)) return connection;
      this.onSurplus(room);
      connection.refuse(tooMany(503, room, this.#limits));
    }
    return connection;
  }

  /** Closes a connection without an answer if it takes the last descriptors. @returns whether. */
  cut(socket: Socket): boolean {
    if (this.descriptors.roomFor(socket) !== "none") return false;
    this.onSurplus("none");
    socket.destroy();
    return true;
  }

  /** Counts a connection that is rejected, of any protocol. */
  onSurplus(room: Room): void {
    this.#ended(room === "free" ? "no room" : "no descriptors");
  }

  /** Called when a connection has sent a request. */
  onAsked(connection: Connection): void {
    this.#silent.delete(connection);
    this.#askedCount++;
  }

  /** Number of requests received. */
  get askedCount(): number {
    return this.#askedCount;
  }

  /** Whether requests arrive at a rate that suggests a load, not single clients. */
  get isBusy(): boolean {
    return this.#askedCount - this.#askedBefore >= BUSY_COUNT;
  }

  /** The server stops: every connection ends with the last answer that it is owed. */
  stop(): void {
    this.#isStopping = true;
    for (const connection of this.#bySocket.values()) connection.announceEnd();
  }

  /**
   * Ends the connections on which no part of a request has arrived. For connections with earlier
   * requests only Node knows that, and it can only destroy them, which would reset data in transit.
   */
  leaveIdle(server: Pick<Server, "closeIdleConnections">): void {
    const restored: (() => void)[] = [];
    const idle: Connection[] = [];
    for (const [socket, connection] of this.#bySocket) {
      if (connection.isSilent) idle.push(connection);
      const { destroy } = socket;
      socket.destroy = () => {
        idle.push(connection);
        return socket;
      };
      restored.push(() => {
        socket.destroy = destroy;
      });
    }
    server.closeIdleConnections();
    for (const restore of restored) restore();
    for (const connection of idle) connection.leaveIdle();
  }

  /** Counts what the parser refused. */
  onRefused({ status }: HttpError): void {
    this.#ended(status === 408 ? "slow header" : "malformed");
  }

  close(): void {
    clearInterval(this.#sweep);
  }

  metricLines(): MetricLine[] {
    return [
      ...openLines("http", { connections: this.#bySocket.size }),
      ...bufferedByteLines("http_answers", this.outbox.unsentBytes),
      ...endedConnectionLines(this.#countByEnding),
    ];
  }

  #makeRoom(): boolean {
    const [oldest] = this.#silent;
    if (oldest === undefined) return false;
    this.#silent.delete(oldest);
    this.#ended("made room");
    oldest.evict(tooMany(408, "free", this.#limits));
    return true;
  }

  #look(passedMs: number): void {
    this.#askedBefore = this.#askedAtLook;
    this.#askedAtLook = this.#askedCount;
    this.outbox.sweep(passedMs);
    // Node ends idle connections itself, but not those that send a byte now and then.
    const limitMs = this.#limits.idleTimeoutMs + this.#limits.headerTimeoutMs;
    for (const [socket, connection] of this.#bySocket) {
      if (!connection.isIdle(passedMs, limitMs)) continue;
      this.#ended("idle");
      socket.destroy();
    }
  }

  #ended(reason: Ending): void {
    this.#countByEnding.set(reason, (this.#countByEnding.get(reason) ?? 0) + 1);
  }
}

function tooMany(status: number, room: Room, { maxConnections }: ConnectionLimits): HttpError {
  return new HttpError(status, tooManyText(room, maxConnections), RETRY_LATER);
}

/** Status label where the client was gone before its answer was written. */
const NONE = "none";

/**
 * Counts of requests whose header was read, and of those that the HTTP parser rejected. Their sum
 * equals the answers by status, plus requests whose client disconnected, plus requests in flight.
 */
export class RequestCounts {
  readonly #byCode = new Map<string, number>();
  readonly #lastBySocket = new NotesAt<Socket, IncomingMessage>();
  readonly #refusedWith = new NotesAt<IncomingMessage, number>();
  #inFlight = 0;

  /** Called when a request arrives; it is counted when it is over. */
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

  /**
   * Called when a request is answered before its body arrived; the rest of the body is not a
   * request.
   */
  onAnsweredEarly(request: IncomingMessage, code: number): void {
    this.#lastBySocket.set(request.socket, request);
    this.#count(code);
  }

  /**
   * Called when the parser has rejected data on a connection with a status. Within a body, that
   * request counts as rejected, unless its client has gone.
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
