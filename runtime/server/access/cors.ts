/** Cross-origin resource sharing: which pages in browsers may send requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { HttpError } from "../connections/http-error.ts";

/** Response headers that scripts may read. */
const EXPOSED = [
  "inference-header-content-length",
  "stratagem-variant",
  "stratagem-revision",
  "stratagem-accuracy",
  "retry-after",
  "www-authenticate",
  "x-request-id",
  "traceparent",
].join(", ");
const METHODS = "GET, HEAD, POST";
/** Seconds that a browser may cache a preflight response. */
const MAX_AGE_S = "600";
/** Comma-separated names of header fields that a page wants to send. */
const FIELD_NAMES = /^[\w-]{1,64}(?:, ?[\w-]{1,64}){0,31}$/;

export class Cors {
  readonly isForAll: boolean;
  /** Hosts of the origins. */
  readonly hosts: readonly string[];
  readonly #origins: ReadonlySet<string>;

  /** @param origins such as `https://app.example`, or `*` for all. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.hosts = origins.map(hostOf);
    this.isForAll = this.#origins.has("*");
  }

  allows(origin: string): boolean {
    return this.isForAll || this.#origins.has(origin);
  }

  /** Adds the headers that let an allowed page read the response. */
  mark(origin: string, response: ServerResponse): void {
    if (!this.isForAll) response.setHeader("vary", "Origin");
    if (!this.allows(origin)) return;
    response.setHeader("access-control-allow-origin", this.isForAll ? "*" : origin);
    response.setHeader("access-control-expose-headers", EXPOSED);
  }

  /** Answers a preflight request, which carries no token and needs none. @returns the status. */
  answerPreflight({ headers }: IncomingMessage, response: ServerResponse): number | HttpError {
    const { origin = "" } = headers;
    if (!this.allows(origin))
      return new HttpError(403, "pages of this origin may not send requests");
    const wanted = headers["access-control-request-headers"];
    const fields = wanted !== undefined && FIELD_NAMES.test(wanted) ? wanted : "";
    response.writeHead(204, {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": fields,
      "access-control-max-age": MAX_AGE_S,
    });
    response.end();
    return 204;
  }
}

/** Whether the request is a preflight request of a browser. */
export function isPreflight({ method: verb, headers }: IncomingMessage): boolean {
  return (
    verb === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Returns the name in lower case without the dot at its end; empty for what is no URL. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : "";
}
