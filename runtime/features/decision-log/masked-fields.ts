/** Which fields of a decision log are left out, or told by a digest, for the sake of clients. */
import { createHmac, randomBytes } from "node:crypto";

/** What says something of clients, or repeats what they sent. */
const MASKABLE = ["id", "client", "userAgent", "traceId", "error"] as const;
type Maskable = (typeof MASKABLE)[number];

/** The field, or its name with this behind it for a digest in its place. */
const BY_DIGEST = "=digest";
const DIGEST_DIGITS = 16;

export const MASK_CHOICES = MASKABLE.flatMap((field) => [field, `${field}${BY_DIGEST}`]);

export function isMask(text: string): boolean {
  return MASK_CHOICES.includes(text);
}

/**
 * Masks texts. Digests are keyed by a secret of the process that nobody is told: what is equal
 * stays equal, as long as it runs, and nothing can be guessed back.
 */
export class MaskedFields {
  readonly #ways = new Map<string, "none" | "digest">();
  readonly #key = randomBytes(32);

  /** @param mask as settings have it, of `MASK_CHOICES`. */
  constructor(mask: readonly string[]) {
    for (const text of mask) {
      const isDigest = text.endsWith(BY_DIGEST);
      this.#ways.set(
        isDigest ? text.slice(0, -BY_DIGEST.length) : text,
        isDigest ? "digest" : "none",
      );
    }
  }

  /** Sets the field as a line has it; none where it is empty or left out. */
  set<F extends Maskable>(line: { [K in F]?: string }, name: F, value: string | undefined): void {
    const way = this.#ways.get(name);
    if (value === undefined || value === "" || way === "none") return;
    line[name] = way === "digest" ? this.#digestOf(value) : value;
  }

  #digestOf(value: string): string {
    return createHmac("sha256", this.#key).update(value).digest("hex").slice(0, DIGEST_DIGITS);
  }
}
