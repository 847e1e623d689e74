/** State of a client's connection: rejected requests, pending answers, and how it ends. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CLOSE, HttpError, lastAnswer, REQUEST_CUT, reasonJson } from "./http-error.ts";

export interface ConnectionEnd {
  /**
   * How long to keep reading after a request was rejected. Closing without reading would reset the
   * connection, and the client would lose the answer.
   */
  readonly lingerMs: number;
  /** Maximum number of unanswered requests on one connection. */
  readonly maxPipelined: number;
}

interface Owed {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * First interval between checks whether a client that ended its side is still there; doubles each
 * time.
 */
const LOOK_MS = 10;

export class Connection {
  readonly #socket: Socket;
  readonly #end: ConnectionEnd;
  readonly #destroySoon: () => void;
  /** Pending answers in the order of the requests. */
  readonly #owed: Owed[] = [];
  #latest: IncomingMessage | undefined;
  /** Why no further request is read; sent after the pending answers. */
  #refusal: HttpError | undefined;
  #isRefused = false;
  #isLeaving = false;
  #isEnding = false;
  /** Whether the client sends requests before earlier ones are answered. */
  #hasPipelined = false;
  /** While the connection ends: number of earlier requests that may still arrive. */
  #onTheWay = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Time without pending answers. */
  #idleMs = 0;

  constructor(socket: Socket, end: ConnectionEnd) {
    this.#socket = socket;
    this.#end = end;
    // Node ends a connection by this once its last answer is written.
    this.#destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => this.#leave();
    // Node removes its error listener once a client has requested a tunnel; "close" follows.
    socket.on("error", () => {});
    socket.once("end", () => this.#onEnd());
    socket.once("close", () => this.#onClose());
  }

  /** Whether the header of a request has been read completely. */
  get hasAsked(): boolean {
    return this.#latest !== undefined;
  }

  /**
   * Registers a request.
   * @returns "answer" for a request to answer, "ignore" if the connection is ending, or the error
   * with which it is rejected.
   */
  take(request: IncomingMessage, response: ServerResponse): "answer" | "ignore" | HttpError {
    if (this.#isRefused || this.#isLeaving) return "ignore";
    if (this.#isEnding && !this.#moveEnd(response)) return "ignore";
    this.#latest = request;
    this.#idleMs = 0;
    const owed = { request, response };
    this.#owed.push(owed);
    if (this.#owed.length > 1) this.#hasPipelined = true;
    response.on("close", () => this.#onSettled(owed));
    const { maxPipelined } = this.#end;
    if (this.#owed.length <= maxPipelined) return "answer";
    this.#isRefused = true;
    const message = `expected at most ${maxPipelined} unanswered requests on a connection`;
    return new HttpError(429, message, CLOSE);
  }

  /**
   * Answers what is no request, after what is owed, and ends the connection.
   * @returns false where the connection is at its end already.
   */
  refuse(error: HttpError): boolean {
    if (this.#isRefused || this.#isLeaving) return false;
    this.#isRefused = true;
    const last = this.#owed.at(-1);
    if (last === undefined) this.#sendError(error);
    else if (last.request.complete) this.#refusal = error;
    // The body of the last request is what was refused.
    else if (!last.response.headersSent) answerLast(last.response, error);
    return true;
  }

  /**
   * Announces the end of the connection in the last pending answer, so that the client sends no
   * request that would be lost. With pipelining, more requests may be on their way.
   */
  announceEnd(): void {
    this.#isEnding = true;
    if (this.#hasPipelined) {
      this.#onTheWay = this.#end.maxPipelined;
      return;
    }
    const last = this.#owed.at(-1);
    if (last?.response.headersSent === false) last.response.setHeader("connection", "close");
  }

  /** Whether all received bytes belong to answered requests, as far as the parser knows. */
  get isSilent(): boolean {
    return !this.hasAsked && this.#socket.bytesRead === 0;
  }

  /** Ends the server's side if no answer is pending; bytes that cross it are still read. */
  leaveIdle(): void {
    if (this.#owed.length === 0) this.#leave();
  }

  /** Closes the connection to make room; a client that waits gets the error. */
  evict(error: HttpError): void {
    this.#isRefused = true;
    this.#isLeaving = true;
    this.#socket.write(lastAnswer(error));
    this.#destroySoon();
  }

  /** @returns whether it has been idle for longer than the limit. */
  isIdle(passedMs: number, limitMs: number): boolean {
    if (this.#owed.length > 0 || !this.hasAsked) return false;
    this.#idleMs += passedMs;
    return this.#idleMs > limitMs;
  }

  /**
   * Called for a request that arrives while the connection ends: its answer becomes the last one.
   * @returns false where an earlier answer was already sent as the last.
   */
  #moveEnd(response: ServerResponse): boolean {
    if (this.#onTheWay > 0) {
      this.#onTheWay--;
      return true;
    }
    const before = this.#owed.at(-1)?.response;
    if (before?.headersSent === true && before.getHeader("connection") === "close") return false;
    if (before?.headersSent === false) before.removeHeader("connection");
    response.setHeader("connection", "close");
    return true;
  }

  #onClose(): void {
    clearTimeout(this.#timer);
    // Node forgets an answered request, so readers that still wait for its body are ended here.
    if (this.#latest?.complete === false) this.#latest.destroy();
    for (const { response } of [...this.#owed]) {
      // Node reports a lost connection only to the current answer.
      if (response.socket === null) response.destroy().emit("close");
    }
  }

  #onSettled(owed: Owed): void {
    const at = this.#owed.indexOf(owed);
    if (at < 0) return;
    this.#owed.splice(at, 1);
    if (this.#owed.length === 0 && this.#refusal !== undefined) this.#sendError(this.#refusal);
  }

  #sendError(error: HttpError): void {
    if (!this.#socket.writable) this.#destroySoon();
    else {
      this.#socket.write(lastAnswer(error));
      this.#leave();
    }
  }

  /** Ends the server's side, and the connection once the client sends nothing more. */
  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const isWanted = !this.#isRefused && !this.#isEnding;
    const isRead = isWanted && (this.#latest === undefined || isWhole(this.#latest));
    if (isRead || this.#socket.readableEnded) {
      this.#destroySoon();
      return;
    }
    this.#socket.end();
    this.#latest?.resume();
    this.#socket.resume();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#socket.destroy(), this.#end.lingerMs).unref();
  }

  /**
   * A client that has ended its side may still read, or may be gone: TCP reports that only when
   * something is sent. HTTP allows an interim response before any answer.
   */
  #onEnd(): void {
    if (this.#isLeaving) this.#destroySoon();
    const last = this.#owed.at(-1);
    if (last === undefined) return;
    // Node handles this itself, except for a request that asks for another protocol.
    if (!last.request.complete) this.refuse(new HttpError(400, REQUEST_CUT));
    else if (!last.response.headersSent) last.response.setHeader("connection", "close");
    this.#look(LOOK_MS);
  }

  #look(waitMs: number): void {
    const [first] = this.#owed;
    if (first === undefined || this.#socket.destroyed) return;
    const { request, response } = first;
    if (!response.headersSent && request.httpVersionMinor > 0) response.writeContinue();
    this.#timer = setTimeout(() => this.#look(2 * waitMs), waitMs).unref();
  }
}

/** Answers as `lastAnswer` does, but in the turn of the request. */
function answerLast(response: ServerResponse, { status, message, headers }: HttpError): void {
  const body = Buffer.from(reasonJson(message));
  response.writeHead(status, {
    ...headers,
    ...CLOSE,
    "content-type": "application/json",
    "content-length": body.length,
  });
  response.end(body);
}

function isWhole(request: IncomingMessage): boolean {
  return !hasUnreadBody(request);
}

export interface HeadLimits {
  /** Limit of the request line and the headers together. */
  readonly maxHeaderBytes: number;
  readonly maxHeaderFields: number;
}

/** Whether a browser may have sent it for a page; other clients send neither field. */
export function mayBeOfPage({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined || headers["sec-fetch-site"] !== undefined;
}

/** Characters of a host with an optional port, RFC 3986 §3.2.2; the parts are not distinguished. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** @returns the error with which the request is rejected, or undefined. */
export function refusedHead(
  request: IncomingMessage,
  { maxHeaderFields }: HeadLimits,
): HttpError | undefined {
  const { httpVersionMajor, httpVersionMinor, httpVersion, rawHeaders } = request;
  if (httpVersionMajor !== 1) return refused(505, `expected HTTP/1.1, got HTTP/${httpVersion}`);
  if (rawHeaders.length > 2 * maxHeaderFields) {
    const found = rawHeaders.length / 2;
    return refused(431, `expected at most ${maxHeaderFields} fields in the header, got ${found}`);
  }
  return refusedHost(rawHeaders, httpVersionMinor) ?? refusedFraming(request);
}

/** RFC 9112 §3.2: a request of HTTP/1.1 names its host once. */
function refusedHost(rawHeaders: readonly string[], minor: number): HttpError | undefined {
  let hostCount = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    hostCount++;
    const host = rawHeaders[at + 1] ?? "";
    if (!HOST.test(host)) return refused(400, `Host: expected a name or an address, got ${host}`);
  }
  if (hostCount === 1 || (hostCount === 0 && minor === 0)) return undefined;
  return refused(400, `Host: expected the field once, got it ${hostCount} times`);
}

/** Only chunked coding is decoded here; any other coding would misinterpret the body. */
function refusedFraming({ headers, httpVersionMinor }: IncomingMessage): HttpError | undefined {
  const coding = headers["transfer-encoding"];
  if (coding === undefined) return undefined;
  if (httpVersionMinor === 0) return refused(400, "Transfer-Encoding: not allowed in HTTP/1.0");
  if (coding.toLowerCase() === "chunked") return undefined;
  return refused(501, `Transfer-Encoding: expected chunked, got ${coding}`);
}

/** Whether unread bytes of the request may still arrive. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function refused(status: number, message: string): HttpError {
  return new HttpError(status, message, CLOSE);
}

/** An object that bears notes by their symbols. */
type Bearer<V> = Record<symbol, V | undefined>;

/**
 * Associates data with objects, like a WeakMap, for short-lived objects in large numbers. V8 keeps
 * the entries of an old WeakMap alive in minor collections, and its table grows with each entry: at
 * 1300 requests/s a collection took 9 ms, seven times a second. A property is freed together with
 * its object.
 */
export class NotesAt<K extends object, V> {
  readonly #symbol = Symbol("note");

  get(object: K): V | undefined {
    return (object as Bearer<V>)[this.#symbol];
  }

  /** @param object that is not frozen. */
  set(object: K, note: V): void {
    (object as Bearer<V>)[this.#symbol] = note;
  }
}
