/**
 * Requests that are no inference go to the process that decides as they are, and its answers back:
 * there is one that tells what is served, and how well.
 */

import type { ServerResponse } from "node:http";
import { Agent, request as ask, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { readBody } from "../bodies/body.ts";
import { FEEDBACK_LIMIT, SMALL_LIMIT } from "../bodies/body-limits.ts";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { HttpContext } from "../http/context.ts";
import { isOfSettings } from "../http/operator-settings.ts";
import { sendBody } from "../http/replies.ts";
import { CLIENT } from "../http/seen.ts";
import { LIVE_PATH } from "../page/live.ts";

/** Requests at a time. */
const MAX_SOCKETS = 64;

/** Of one connection, or said anew. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"],
  ...["upgrade", "expect", "content-length", "content-encoding", "date", "authorization"],
  // Nobody but the acceptor says who a client is.
  CLIENT,
]);
/** What the acceptor has said itself. */
const SAID: ReadonlySet<string> = new Set(["x-request-id", "traceparent", "tracestate"]);
/** Where it tells what all processes count. */
const COUNTING = [/^\/metrics\b/, /\/stats\b/, /^\/admin\/state\b/];

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export class Relay {
  readonly #path: string;
  readonly #countAll: () => Promise<void>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  /** @param path of the socket. @param countAll kept once what is counted is up to date there. */
  constructor(path: string, countAll: () => Promise<void>) {
    this.#path = path;
    this.#countAll = countAll;
  }

  /** @param path of the request, in segments. @throws HttpError */
  async answer(
    context: HttpContext,
    path: readonly string[],
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await bodyOf(context, path, request);
    const { url = "/" } = request;
    const isCounting = url === `/${LIVE_PATH}` || COUNTING.some((one) => one.test(url));
    if (isCounting) await this.#countAll();
    const id = response.getHeader("x-request-id");
    const named = typeof id === "string" ? { "x-request-id": id } : {};
    const client = context.clients.get(response);
    const who = client === undefined ? {} : { [CLIENT]: encodeURIComponent(client) };
    const more = { ...named, ...who };
    const { status, headers, body: answer } = await this.#asked(request, body, more);
    sendBody(context, response, status, answer, headers);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #asked(
    request: IncomingMessage,
    body: Buffer | undefined,
    more: OutgoingHttpHeaders,
  ): Promise<Reply> {
    const { url: path, method: verb } = request;
    // The answer to a HEAD has the length of what is left out.
    const method = verb === "HEAD" ? "GET" : verb;
    const headers = {
      ...kept(request.headers, OWN_HEADERS),
      ...more,
      ...(body === undefined ? {} : { "content-length": body.length }),
    };
    return new Promise((resolve, reject) => {
      const asking = ask({ socketPath: this.#path, agent: this.#agent, method, path, headers });
      const fail = () => {
        reject(new HttpError(503, "the server is shutting down", RETRY_LATER));
      };
      asking.on("error", fail);
      asking.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", fail);
        response.on("end", () => {
          resolve({
            status: response.statusCode ?? 500,
            headers: kept(response.headers, new Set([...OWN_HEADERS, ...SAID])),
            body: Buffer.concat(chunks),
          });
        });
      });
      asking.end(body);
    });
  }
}

/** Of paths that have no body by their routes, none is read. */
async function bodyOf(
  { pace, house }: HttpContext,
  path: readonly string[],
  request: IncomingMessage,
): Promise<Buffer | undefined> {
  const { method: verb } = request;
  const isOfAdmin = path[0] === "admin";
  const isOfV2 = path[0] === "v2" && (path[1] === "repository" || isOfSettings(path.slice(1)));
  const isFeedback = path[0] === "v2" && path[1] === "models" && path.at(-1) === "feedback";
  if (verb !== "POST" || !(isOfAdmin || isOfV2 || isFeedback)) return undefined;
  const hold = house.budget.hold();
  const limit = isFeedback ? FEEDBACK_LIMIT : SMALL_LIMIT;
  return readBody(request, { limit, pace, hold }).finally(() => hold.release());
}

function kept(
  headers: IncomingMessage["headers"],
  without: ReadonlySet<string>,
): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || without.has(name)) continue;
    own[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return own;
}
