/**
 * Authenticates requests after a registry has asked for it: by name and password, or by a token of
 * the server that the registry names. Source: distribution's specification of token authentication.
 */

import { RuntimeError } from "../base/errors.ts";
import type { HttpAnswer, HttpRequest } from "../base/http-client.ts";
import { type Challenge, challengesOf } from "./challenge.ts";
import type { Credentials } from "./credential-kinds.ts";
import type { FoundCredentials } from "./credentials.ts";
import { bodyOf, type RegistryTimeouts, send } from "./http-client.ts";
import { registryError, TransientError, wordsOf } from "./registry-errors.ts";

interface AuthorizerOptions {
  /** Name of the registry in messages. */
  readonly where: string;
  /**
   * Protocol of the registry; a TLS registry cannot redirect the authentication to an unencrypted
   * server.
   */
  readonly protocol: "http:" | "https:";
  /** Scope such as `repository:team/policy:pull`; used if a challenge does not name one. */
  readonly scope: string;
  /** Called for each challenge, because credentials can change. */
  readonly credentials: () => Promise<FoundCredentials | null>;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts: RegistryTimeouts;
}

const MAX_TOKEN_BYTES = 2 ** 20;
/** Client id for token servers. */
const CLIENT = "stratagem";

export class Authorizer {
  readonly #options: AuthorizerOptions;
  #found: FoundCredentials | null = null;
  #header: string | undefined;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
  }

  /** Authorization header for requests to the registry; undefined before the first challenge. */
  get header(): string | undefined {
    return this.#header;
  }

  /**
   * Answers a challenge and replaces `header`.
   * @throws RuntimeError RUNTIME_CREDENTIALS without (further) credentials.
   * @throws TransientError if a token server does not answer.
   */
  async answer(asked: string | undefined): Promise<void> {
    const challenges = challengesOf(asked);
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    this.#found = await this.#options.credentials();
    const credentials = this.#found?.credentials ?? null;
    const header =
      bearer === undefined
        ? basicOf(challenges, credentials)
        : `Bearer ${await this.#token(bearer, credentials)}`;
    if (header === undefined || header === this.#header) throw this.refusal();
    this.#header = header;
  }

  /** Error for a registry that denies access, with or without credentials. */
  refusal(): RuntimeError {
    const { where, scope } = this.#options;
    const found = this.#found;
    const message =
      found === null
        ? "it requires credentials; log in so that docker's config.json lists the registry, or " +
          "set STRATAGEM_REGISTRY_USERNAME and STRATAGEM_REGISTRY_PASSWORD"
        : `it rejects the credentials from ${found.from} for ${scope}`;
    return new RuntimeError("RUNTIME_CREDENTIALS", `${where}: ${message}`);
  }

  async #token({ parameters }: Challenge, credentials: Credentials | null): Promise<string> {
    if (credentials?.kind === "bearer") return credentials.token;
    const realm = this.#realm(parameters.get("realm") ?? "");
    const service = parameters.get("service");
    const asked = new URLSearchParams({
      ...(service === undefined ? {} : { service }),
      scope: parameters.get("scope") ?? this.#options.scope,
    });
    const { signal, timeouts } = this.#options;
    const { url, ...request } = tokenRequest(realm, asked, credentials);
    return this.#tokenOf(await send(url, { ...request, signal }, timeouts), realm);
  }

  /** @throws RuntimeError RUNTIME_REGISTRY if the token server's URL is not allowed. */
  #realm(text: string): URL {
    const { where, protocol } = this.#options;
    const realm = URL.canParse(text) ? new URL(text) : null;
    const isOpen = realm?.protocol === "http:" && protocol === "http:";
    if (realm !== null && (realm.protocol === "https:" || isOpen)) return realm;
    const found = JSON.stringify(text.slice(0, 200));
    throw registryError(where, `expected the ${protocol} URL of a token server, got ${found}`);
  }

  async #tokenOf(answer: HttpAnswer, { host }: URL): Promise<string> {
    const { where } = this.#options;
    const { bytes } = await bodyOf(answer, MAX_TOKEN_BYTES);
    const { status } = answer;
    const isTransient = status === 429 || status >= 500;
    if (isTransient) throw new TransientError(`${host}: ${wordsOf(status, bytes)}`);
    if (status === 401 || status === 403) throw this.refusal();
    // The body may contain the token, so it is not reported.
    if (status !== 200)
      throw registryError(where, `token server ${host} responded with status ${status}`);
    const token = tokenIn(bytes.toString());
    if (token !== null) return token;
    throw registryError(where, `expected a token from ${host}, got an invalid response`);
  }
}

function tokenRequest(
  realm: URL,
  asked: URLSearchParams,
  credentials: Credentials | null,
): Pick<HttpRequest, "method" | "headers" | "body"> & { readonly url: URL } {
  if (credentials?.kind === "identity") {
    const { token } = credentials;
    const form = { grant_type: "refresh_token", client_id: CLIENT, refresh_token: token };
    const body = new URLSearchParams({ ...Object.fromEntries(asked), ...form });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return { method: "POST", url: realm, headers, body: Buffer.from(body.toString()) };
  }
  const url = new URL(realm);
  for (const [name, value] of asked) url.searchParams.set(name, value);
  const headers = credentials?.kind === "password" ? { authorization: basic(credentials) } : {};
  return { method: "GET", url, headers };
}

/**
 * Header for basic authentication; undefined if the registry requires another scheme or credentials
 * are missing.
 */
function basicOf(
  challenges: readonly Challenge[],
  credentials: Credentials | null,
): string | undefined {
  if (credentials?.kind === "bearer") return `Bearer ${credentials.token}`;
  if (!challenges.some(({ scheme }) => scheme === "basic")) return undefined;
  return credentials?.kind === "password" ? basic(credentials) : undefined;
}

function basic({ username, password }: { readonly username: string; readonly password: string }) {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Reads the token of a response; null if missing or invalid. */
function tokenIn(text: string): string | null {
  try {
    const { token, access_token: accessToken } = JSON.parse(text);
    const found: unknown = token ?? accessToken;
    return typeof found === "string" && /^[!-~]+$/.test(found) ? found : null;
  } catch {
    return null;
  }
}
