/**
 * Access control that all listeners share: authentication, authorization, client limits, and their
 * counts.
 */

import type { IncomingMessage } from "node:http";
import type { MetricLine } from "../../base/exposition.ts";
import {
  endedConnectionLines,
  expiryLines,
  lastReloadLines,
  refusedLines,
} from "../../base/metric-families.ts";
import { HttpError } from "../connections/http-error.ts";
import { ClientLimits, clientOfAddress, isLoopback } from "./client-limits.ts";
import { Cors } from "./cors.ts";
import { KeptFiles } from "./kept-files.ts";
import { Pages } from "./pages.ts";
import { type Need, SCOPES, type Scope } from "./scopes.ts";
import { openTlsFiles, type TlsPair, type TlsPaths } from "./tls.ts";
import { TokenBook } from "./token-book.ts";
import { readTokenFile, type Token } from "./token-file.ts";

export interface AccessOptions {
  /** Default: connections are not encrypted. */
  readonly tls?: TlsPaths;
  /** Path of the token file. Default: no token is required. */
  readonly tokens?: string;
  /** Origins whose pages may send requests. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Requests per second per client. */
  readonly clientRate?: number;
  readonly clientBurst?: number;
  /** Maximum number of unanswered requests per client. */
  readonly clientConcurrency?: number;
}

export interface AccessSurroundings {
  readonly onNotice?: (message: string) => void;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /** Milliseconds since 1970. Default: the system clock. */
  readonly epochNowMs?: () => number;
  /** Interval of the check for changed files. Default: 1 s. */
  readonly lookMs?: number;
  /** Hosts of the addresses that it listens on. */
  readonly hosts?: readonly string[];
}

/** Metadata of a request that is available before its body is read. */
export interface Asking {
  readonly need: Need;
  /** Value of the header field or call metadata of that name. */
  readonly authorization: string | undefined;
  /** Address of the peer. */
  readonly address: string | undefined;
  /** Whether the request came to the admin or metrics listener. */
  readonly isOwnListener?: boolean;
}

export interface Admitted {
  /** Name of the token; undefined without a token. */
  readonly name: string | undefined;
  /** Must be called once when the request is over. */
  leave(): void;
}

export type Decision = Admitted | HttpError;

const REFUSALS = [
  "no_token",
  "unknown_token",
  "expired_token",
  "missing_scope",
  "not_loopback",
  "unknown_host",
  "other_origin",
  "client_rate",
  "client_concurrency",
] as const;
export type AccessRefusal = (typeof REFUSALS)[number];

const REALM = 'Bearer realm="stratagem"';
const BEARER = /^bearer +([^\s]{1,1024}) *$/i;
const nothing = () => {};
/** Admission without authentication and without limits. */
export const OPEN_ACCESS: Admitted = { name: undefined, leave: nothing };

/** Keeps the certificate and token files open until `close`. */
export class Access {
  readonly tls: KeptFiles<TlsPair> | undefined;
  readonly cors: Cors | undefined;
  /** Whether every request except admin requests is admitted, without rate limits. */
  readonly isIdle: boolean;
  readonly #tokens: KeptFiles<TokenBook> | undefined;
  readonly #limits: ClientLimits;
  readonly #pages: Pages;
  readonly #epochNowMs: () => number;
  /** Whether clients must show a certificate. */
  readonly #isMutual: boolean;
  readonly #countByRefusal = new Map<AccessRefusal, number>(REFUSALS.map((one) => [one, 0]));
  #failedHandshakes = 0;

  private constructor(
    options: AccessOptions,
    { nowMs, epochNowMs = Date.now, hosts = [] }: AccessSurroundings,
    files: Pick<Access, "tls"> & { readonly tokens: KeptFiles<TokenBook> | undefined },
  ) {
    const { corsOrigins = [], clientRate, clientBurst, clientConcurrency } = options;
    this.tls = files.tls;
    this.#tokens = files.tokens;
    this.#isMutual = options.tls?.clientCa !== undefined;
    this.#epochNowMs = epochNowMs;
    this.cors = corsOrigins.length === 0 ? undefined : new Cors(corsOrigins);
    const isAnyHost = files.tls !== undefined || files.tokens !== undefined;
    this.#pages = new Pages(this.cors, hosts, isAnyHost);
    const limits = { rateQps: clientRate, burst: clientBurst, concurrency: clientConcurrency };
    this.#limits = new ClientLimits(limits, nowMs);
    this.isIdle = files.tokens === undefined && this.#limits.isOff;
  }

  /** @throws RuntimeError RUNTIME_UNREADABLE, or RUNTIME_ACCESS for invalid files. */
  static async open(options: AccessOptions, around: AccessSurroundings): Promise<Access> {
    const { onNotice = () => {}, epochNowMs = Date.now, lookMs } = around;
    const { tls: paths, tokens: path } = options;
    const tls =
      paths === undefined ? undefined : await openTlsFiles(paths, { onNotice, epochNowMs, lookMs });
    try {
      const tokens =
        path === undefined
          ? undefined
          : await KeptFiles.open({
              what: path,
              paths: [path],
              read: async () => new TokenBook(await readTokenFile(path)),
              onNotice,
              lookMs,
            });
      return new Access(options, around, { tls, tokens });
    } catch (error) {
      tls?.close();
      throw error;
    }
  }

  /** Access control that admits every request over unencrypted connections. */
  static off(nowMs: () => number): Access {
    return new Access({}, { nowMs }, { tls: undefined, tokens: undefined });
  }

  /** Whether clients need neither a token nor a certificate. */
  get isOpen(): boolean {
    return this.#tokens === undefined && !this.#isMutual;
  }

  /** Whether clients must show tokens. */
  get hasTokens(): boolean {
    return this.#tokens !== undefined;
  }

  /**
   * Admits or rejects a request; must be called before any other work on it. Returns a promise only
   * where a token must be compared with scrypt hashes.
   */
  admit(asking: Asking): Decision | Promise<Decision> {
    const { need, authorization } = asking;
    if (need === "open") return OPEN_ACCESS;
    if (need === "admin" && !this.#mayAdminister(asking)) {
      return this.refused(
        "not_loopback",
        403,
        "expected a client on this machine, or a server with --tokens",
      );
    }
    if (this.#tokens === undefined) return this.#entered(undefined, asking.address);
    const secret = BEARER.exec(authorization ?? "")?.[1];
    if (secret === undefined) {
      const reason = authorization === undefined ? "got none" : "got something else";
      const message = `Authorization: expected a bearer token, ${reason}`;
      return this.refused("no_token", 401, message, { "www-authenticate": REALM });
    }
    const found = this.#tokens.value.find(secret);
    if (!(found instanceof Promise)) return this.#judged(found, asking);
    return found.then((token) => {
      return token instanceof HttpError ? token : this.#judged(token, asking);
    });
  }

  /** Rejects a request of a page of another origin; must be called before `admit`. */
  refusedPage(need: Need, request: IncomingMessage): HttpError | undefined {
    if (this.#tokens !== undefined && need !== "admin") return undefined;
    const refusal = this.#pages.refusalOf(need, request);
    return refusal === undefined ? undefined : this.refused(refusal[0], 403, refusal[1]);
  }

  /** Counts a rejection. @returns the error. */
  refused(
    reason: AccessRefusal,
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): HttpError {
    this.#count(reason);
    return new HttpError(status, message, headers);
  }

  /** Called when a TLS handshake failed or the client's certificate was invalid. */
  onHandshakeFailed(): void {
    this.#failedHandshakes++;
  }

  /** Reads all files now. @returns the faults of the files that were not accepted. */
  async refresh(): Promise<string[]> {
    const kept = [this.tls, this.#tokens];
    await Promise.all(kept.map((files) => files?.refresh()));
    return kept.flatMap((files) => files?.fault ?? []);
  }

  close(): void {
    this.tls?.close();
    this.#tokens?.close();
  }

  /** Settings in force, without secrets, for administrators. */
  state(): object {
    const { tls } = this;
    const tokens = this.#tokens;
    return {
      tls:
        tls === undefined
          ? null
          : {
              fingerprint: tls.value.fingerprint,
              expires: new Date(tls.value.expiresMs).toISOString(),
              clientCertificates: this.#isMutual,
              fault: tls.fault,
            },
      tokens:
        tokens === undefined
          ? null
          : { list: tokens.value.tokens.map(describedToken), fault: tokens.fault },
      refused: Object.fromEntries(this.#countByRefusal),
    };
  }

  metricLines(): MetricLine[] {
    const kept = Object.entries({ tls: this.tls, tokens: this.#tokens });
    return [
      ...refusedLines("request", this.#countByRefusal),
      ...endedConnectionLines([["tls handshake", this.#failedHandshakes]]),
      ...kept.flatMap(([file, one]) =>
        one === undefined ? [] : lastReloadLines(file, [[{}, one.fault === null]]),
      ),
      ...(this.tls === undefined
        ? []
        : expiryLines("tls_certificate", this.tls.value.expiresMs / 1000)),
    ];
  }

  /** If authentication is off, the common listener accepts admin requests of this machine only. */
  #mayAdminister({ address, isOwnListener = false }: Asking): boolean {
    return !this.isOpen || isOwnListener || isLoopback(address);
  }

  #judged(token: Token | null, { need, address }: Asking): Decision {
    const invalid = { "www-authenticate": `${REALM}, error="invalid_token"` };
    if (token === null) {
      return this.refused("unknown_token", 401, "Authorization: the token is unknown", invalid);
    }
    if (token.expiresMs <= this.#epochNowMs()) {
      return this.refused("expired_token", 401, "Authorization: the token has expired", invalid);
    }
    if (need !== "open" && !token.scopes.has(need)) {
      const challenge = `${REALM}, error="insufficient_scope", scope="${need}"`;
      const message = `expected a token of scope ${need}, got one of ${scopesText(token)}`;
      return this.refused("missing_scope", 403, message, { "www-authenticate": challenge });
    }
    return this.#entered(token.name, address);
  }

  #entered(name: string | undefined, address: string | undefined): Decision {
    const limits = this.#limits;
    if (limits.isOff) return name === undefined ? OPEN_ACCESS : { name, leave: nothing };
    // The prefixes keep token names and addresses apart.
    const client = name === undefined ? `@${clientOfAddress(address)}` : `#${name}`;
    const refusal = limits.enter(client, (reason) => this.#count(reason));
    if (refusal !== undefined) return refusal;
    let hasLeft = false;
    return {
      name,
      leave: () => {
        if (!hasLeft) limits.leave(client);
        hasLeft = true;
      },
    };
  }

  #count(reason: AccessRefusal): void {
    this.#countByRefusal.set(reason, (this.#countByRefusal.get(reason) ?? 0) + 1);
  }
}

/** Warning about an address that other machines can reach; undefined where it is safe. */
export function exposureOf(host: string, { isOpen, hasTokens, tls }: Access): string | undefined {
  if (isLoopback(host)) return undefined;
  if (isOpen) {
    const remedy = "set --tokens or client-ca of --tls, or put a proxy before it";
    return `warning: any client that reaches ${host} may send requests: ${remedy}`;
  }
  if (hasTokens && tls === undefined) {
    const remedy = "set --tls, or put a proxy before it";
    return `warning: tokens are sent to ${host} as plain text: ${remedy}`;
  }
  return undefined;
}

function describedToken({ name, scopes, expiresMs }: Token): object {
  const isForEver = expiresMs === Number.POSITIVE_INFINITY;
  const expires = isForEver ? null : new Date(expiresMs).toISOString();
  return { name, scopes: scopeList(scopes), expires };
}

function scopesText({ scopes }: Token): string {
  return scopeList(scopes).join(", ");
}

function scopeList(scopes: ReadonlySet<Scope>): Scope[] {
  return SCOPES.filter((scope) => scopes.has(scope));
}
