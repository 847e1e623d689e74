/**
 * Requests of pages in browsers to a server without tokens: a page must be the server's own or be
 * allowed. What browsers send and scripts cannot change shows it: Origin, Sec-Fetch-Site and Host.
 * Host alone shows DNS rebinding, where a name of an attacker leads to this server and the browser
 * takes both for one site; plain HTTP to such a name has no Sec-Fetch-Site, and GET no Origin.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { mayBeOfPage } from "../connections/connection.ts";
import { type Cors, hostOf } from "./cors.ts";
import type { Need } from "./scopes.ts";

/** Reason of a refusal as it is counted, and its message. */
export type PageRefusal = readonly [reason: "unknown_host" | "other_origin", message: string];

const OTHER_ORIGIN: PageRefusal = [
  "other_origin",
  "expected no page of another origin, unless --cors-origins allows it",
];

export class Pages {
  readonly #cors: Cors | undefined;
  readonly #hosts: ReadonlySet<string>;
  readonly #isAnyHost: boolean;

  /**
   * @param hosts names by which clients may call the server, beside those of allowed origins.
   * @param isAnyHost whether any name is safe: browsers compare it with the server's certificate,
   * or clients show tokens, which browsers do not send by themselves.
   */
  constructor(cors: Cors | undefined, hosts: readonly string[], isAnyHost: boolean) {
    this.#cors = cors;
    this.#isAnyHost = isAnyHost || cors?.isForAll === true;
    const names = [hostname(), ...hosts].map((host) => host.toLowerCase());
    this.#hosts = new Set([...names, ...(cors?.hosts ?? [])]);
  }

  /** Judges inference by Host only where it comes from a page: its clients use any name. */
  refusalOf(need: Need, request: IncomingMessage): PageRefusal | undefined {
    const { origin } = request.headers;
    if (need === "open" || (origin !== undefined && this.#cors?.allows(origin))) return undefined;
    const isOfPage = mayBeOfPage(request);
    const unknown = isOfPage || need !== "infer" ? this.#unknownHost(request) : undefined;
    if (unknown !== undefined) {
      const allowed = "expected an IP address, localhost or a name of this server";
      const remedy = "list http://NAME in --cors-origins to allow it";
      return ["unknown_host", `Host: ${allowed}, got ${unknown}; ${remedy}`];
    }
    return !isOfPage || this.#isAllowed(need, request) ? undefined : OTHER_ORIGIN;
  }

  #isAllowed(need: Need, { headers, method: verb }: IncomingMessage): boolean {
    const { origin, host = "" } = headers;
    // No page administers a server, not even its own.
    if (origin !== undefined && need === "admin") return false;
    const site = headers["sec-fetch-site"];
    if (origin !== undefined && site === undefined) return isSameHost(origin, host);
    if (site === "same-origin" || (site === "none" && origin === undefined)) return true;
    // The page with a link cannot read what a person opens by it.
    return (
      origin === undefined &&
      verb === "GET" &&
      headers["sec-fetch-mode"] === "navigate" &&
      headers["sec-fetch-dest"] === "document"
    );
  }

  /** Returns a host of the request that is not a name of this server. */
  #unknownHost({ headers: { host }, url = "" }: IncomingMessage): string | undefined {
    if (this.#isAnyHost) return undefined;
    // RFC 9112 §3.2.2: the host of a target in absolute form counts, but proxies may differ.
    const urls = host === undefined ? [] : [`http://${host}`];
    if (!url.startsWith("/")) urls.push(url);
    return urls.map(hostOf).find((name) => !this.#isKnown(name));
  }

  /** Names without a dot are not in public DNS, and containers call each other by them. */
  #isKnown(name: string): boolean {
    const address = name.startsWith("[") ? name.slice(1, -1) : name;
    if (isIP(address) !== 0 || this.#hosts.has(name)) return true;
    return name !== "" && (!name.includes(".") || name.endsWith(".localhost"));
  }
}

function isSameHost(origin: string, host: string): boolean {
  const url = `http://${host}`;
  if (!URL.canParse(origin) || !URL.canParse(url)) return false;
  return new URL(origin).host === new URL(url).host;
}
