/** Looks tokens up in a time that reveals nothing about other tokens. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { HttpError, RETRY_LATER } from "../connections/http-error.ts";
import type { Token } from "./token-file.ts";
import { isOfScrypt, type ScryptHash, type Sha256Hash, sha256 } from "./token-hash.ts";

/** Maximum number of cached scrypt results; their keys are digests, not tokens. */
const MAX_REMEMBERED = 1024;
/** Maximum number of tokens that wait for scrypt, which takes some 50 ms each; one at a time. */
const MAX_WAITING = 32;

const BUSY = new HttpError(503, "too many tokens wait to be checked", RETRY_LATER);
const NOTHING = Buffer.alloc(32);

/** Index of the tokens of one version of the file. */
export class TokenBook {
  readonly tokens: readonly Token[];
  /** Random key per process, so that clients cannot choose a token's place in the table. */
  readonly #key = randomBytes(32);
  readonly #bySecret = new Map<string, { readonly token: Token; readonly digest: Buffer }>();
  readonly #slow: readonly { readonly token: Token; readonly hash: ScryptHash }[];
  /** Results by keyed digest, oldest first. */
  readonly #remembered = new Map<string, Token | null>();
  #waiting = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
    this.#slow = tokens.flatMap((token) =>
      token.hash.kind === "scrypt" ? [{ token, hash: token.hash }] : [],
    );
    for (const token of tokens) {
      if (token.hash.kind === "sha256") this.#add(token, token.hash);
    }
  }

  /**
   * @param secret the token that the client sent.
   * @returns null for an unknown token; a promise where scrypt is needed, which resolves to an
   * HttpError if too many tokens wait.
   */
  find(secret: string): Token | null | Promise<Token | null | HttpError> {
    const digest = sha256(secret);
    const place = this.#placeOf(digest);
    const entry = this.#bySecret.get(place);
    const isEqual = timingSafeEqual(entry?.digest ?? NOTHING, digest);
    if (entry !== undefined && isEqual) return entry.token;
    if (this.#slow.length === 0) return null;
    const remembered = this.#remembered.get(place);
    if (remembered !== undefined) return remembered;
    return this.#compared(secret, place);
  }

  async #compared(secret: string, place: string): Promise<Token | null | HttpError> {
    if (this.#waiting >= MAX_WAITING) return BUSY;
    this.#waiting++;
    const found = this.#turn.then(() => this.#remembered.get(place) ?? this.#slowFind(secret));
    this.#turn = found.catch(() => {});
    try {
      const token = await found;
      this.#remember(place, token);
      return token;
    } finally {
      this.#waiting--;
    }
  }

  /** Computes every hash, even after a match, so that the time is the same for all tokens. */
  async #slowFind(secret: string): Promise<Token | null> {
    let found: Token | null = null;
    for (const { token, hash } of this.#slow) {
      if (await isOfScrypt(secret, hash)) found = token;
    }
    return found;
  }

  #remember(place: string, token: Token | null): void {
    this.#remembered.set(place, token);
    if (this.#remembered.size <= MAX_REMEMBERED) return;
    for (const [oldest, one] of this.#remembered) {
      // Wrong guesses must not evict valid tokens.
      if (one !== null && token === null && oldest !== place) continue;
      this.#remembered.delete(oldest);
      return;
    }
  }

  #add(token: Token, { digest }: Sha256Hash): void {
    this.#bySecret.set(this.#placeOf(digest), { token, digest });
  }

  #placeOf(digest: Buffer): string {
    return createHmac("sha256", this.#key).update(digest).digest("base64");
  }
}
