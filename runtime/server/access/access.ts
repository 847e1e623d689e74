/** Who may come in, whatever listener a request comes by: one object that decides, and counts. */

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
import { type Need, SCOPES, type Scope } from "./scopes.ts";
import { openTlsFiles, type TlsPair, type TlsPaths } from "./tls.ts";
import { TokenBook } from "./token-book.ts";
import { readTokenFile, type Token } from "./token-file.ts";

export interface AccessOptions {
  /** Left out, connections are not encrypted. */
  readonly tls?: TlsPaths;
  /** Path of the file of tokens; left out, nobody has to show one. */
  readonly tokens?: string;
  /** Origins whose pages may ask; left out for none. */
  readonly corsOrigins?: readonly string[];
  /** Requests a second of one client. */
  readonly clientRate?: number;
  readonly clientBurst?: number;
  /** Requests of one client that wait for answers. */
  readonly clientConcurrency?: number;
}

export interface AccessSurroundings {
  readonly onNotice?: (message: string) => void;
  /** A clock that does not go back. */
  readonly nowMs: () => number;
  /** Milliseconds since 1970; left out for those of the system. */
  readonly epochNowMs?: () => number;
  /** How often it is looked whether files have changed; left out for every second. */
  readonly lookMs?: number;
}

/** What is known of a request before any of its body is read. */
export interface Asking {
  readonly need: Need;
  /** Of the field of that name, or of the metadata of a call. */
  readonly authorization: string | undefined;
  /** Of the other end of the connection. */
  readonly address: string | undefined;
  /** Whether it came to a listener for administrators, or for metrics. */
  readonly isOwnListener?: boolean;
}

/** A request that was let in. */
export interface Admitted {
  /** Of its token; undefined where it has shown none. */
  readonly name: string | undefined;
  /** Has to be called once when it is over. */
  leave(): void;
}

export type Decision = Admitted | HttpError;

const REFUSALS = [
  "no_token",
  "unknown_token",
  "expired_token",
  "missing_scope",
  "not_loopback",
  "other_origin",
  "client_rate",
  "client_concurrency",
] as const;
export type AccessRefusal = (typeof REFUSALS)[number];

const REALM = 'Bearer realm="stratagem"';
const BEARER = /^bearer +([^\s]{1,1024}) *$/i;
const nothing = () => {};
/** Who was not asked, and has no limits. */
export const ANYBODY: Admitted = { name: undefined, leave: nothing };

/** Open files of those that may come in, until `close`. */
export class Access {
  readonly tls: KeptFiles<TlsPair> | undefined;
  readonly cors: Cors | undefined;
  /** Whether it lets everybody in, as often as they ask, but for administrators. */
  readonly isIdle: boolean;
  readonly #tokens: KeptFiles<TokenBook> | undefined;
  readonly #limits: ClientLimits;
  readonly #epochNowMs: () => number;
  /** Whether a client has to show a certificate. */
  readonly #isMutual: boolean;
  readonly #countByRefusal = new Map<AccessRefusal, number>(REFUSALS.map((one) => [one, 0]));
  #failedHandshakes = 0;

  private constructor(
    options: AccessOptions,
    { nowMs, epochNowMs = Date.now }: AccessSurroundings,
    files: Pick<Access, "tls"> & { readonly tokens: KeptFiles<TokenBook> | undefined },
  ) {
    const { corsOrigins = [], clientRate, clientBurst, clientConcurrency } = options;
    this.tls = files.tls;
    this.#tokens = files.tokens;
    this.#isMutual = options.tls?.clientCa !== undefined;
    this.#epochNowMs = epochNowMs;
    this.cors = corsOrigins.length === 0 ? undefined : new Cors(corsOrigins);
    const limits = { rateQps: clientRate, burst: clientBurst, concurrency: clientConcurrency };
    this.#limits = new ClientLimits(limits, nowMs);
    this.isIdle = files.tokens === undefined && this.#limits.isOff;
  }

  /** @throws RuntimeError RUNTIME_UNREADABLE, RUNTIME_ACCESS for files that are not good. */
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

  /** Everybody may come in, over connections that are not encrypted. */
  static off(nowMs: () => number): Access {
    return new Access({}, { nowMs }, { tls: undefined, tokens: undefined });
  }

  /** Whether nobody is asked who they are. */
  get isOpen(): boolean {
    return this.#tokens === undefined && !this.#isMutual;
  }

  /** Whether clients have to show tokens. */
  get hasTokens(): boolean {
    return this.#tokens !== undefined;
  }

  /**
   * Decides before anything else is done for a request. A promise is returned only where a token
   * has to be compared with hashes of scrypt.
   */
  admit(asking: Asking): Decision | Promise<Decision> {
    const { need, authorization } = asking;
    if (need === "open") return ANYBODY;
    if (need === "admin" && !this.#mayAdminister(asking)) {
      return this.refused("not_loopback", 403, "expected a client of this machine, or --tokens");
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

  /** Counts a refusal. @returns it. */
  refused(
    reason: AccessRefusal,
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): HttpError {
    this.#count(reason);
    return new HttpError(status, message, headers);
  }

  /** A client could not agree with the server on keys, or has shown no certificate that is good. */
  onHandshakeFailed(): void {
    this.#failedHandshakes++;
  }

  /** Reads all files now. @returns what is wrong with those that are not followed. */
  async refresh(): Promise<string[]> {
    const kept = [this.tls, this.#tokens];
    await Promise.all(kept.map((files) => files?.refresh()));
    return kept.flatMap((files) => files?.fault ?? []);
  }

  close(): void {
    this.tls?.close();
    this.#tokens?.close();
  }

  /** For administrators: what is in force, without anything secret. */
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
          : { list: tokens.value.tokens.map(toldToken), fault: tokens.fault },
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

  /** Where nobody shows who they are, a listener for all serves administrators of this machine. */
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
    if (limits.isOff) return name === undefined ? ANYBODY : { name, leave: nothing };
    // Names and addresses are told apart, whatever tokens are called.
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

/** What an operator should know of an address that others reach; none where all is well. */
export function exposureOf(host: string, { isOpen, hasTokens, tls }: Access): string | undefined {
  if (isLoopback(host)) return undefined;
  if (isOpen) {
    const remedy = "set --tokens or client-ca of --tls, or put a proxy before it";
    return `warning: anybody who reaches ${host} may ask: ${remedy}`;
  }
  if (hasTokens && tls === undefined) {
    const remedy = "set --tls, or put a proxy before it";
    return `warning: tokens are sent to ${host} as plain text: ${remedy}`;
  }
  return undefined;
}

function toldToken({ name, scopes, expiresMs }: Token): object {
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
