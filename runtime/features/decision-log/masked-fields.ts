/** Fields of a decision log that are omitted, or replaced by a digest, to protect clients. */
import { createHmac, randomBytes } from "node:crypto";

/** Fields that identify clients or repeat what they sent. */
const MASKABLE = ["id", "client", "userAgent", "traceId", "error"] as const;
type Maskable = (typeof MASKABLE)[number];

/** Suffix of a field's name that asks for a digest. */
const BY_DIGEST = "=digest";
const DIGEST_DIGITS = 16;

export const MASK_CHOICES = MASKABLE.flatMap((field) => [field, `${field}${BY_DIGEST}`]);

export function isMask(text: string): boolean {
  return MASK_CHOICES.includes(text);
}

/**
 * Masks texts. Digests are keyed by a random secret of the process: equal texts have equal digests
 * while it runs, and a digest does not reveal its text.
 */
export class MaskedFields {
  readonly #maskings = new Map<string, "none" | "digest">();
  readonly #key = randomBytes(32);

  /** @param mask entries of `MASK_CHOICES`. */
  constructor(mask: readonly string[]) {
    for (const text of mask) {
      const isDigest = text.endsWith(BY_DIGEST);
      this.#maskings.set(
        isDigest ? text.slice(0, -BY_DIGEST.length) : text,
        isDigest ? "digest" : "none",
      );
    }
  }

  /** Sets a field unless its value is empty or it is masked out. */
  set<F extends Maskable>(line: { [K in F]?: string }, name: F, value: string | undefined): void {
    const masking = this.#maskings.get(name);
    if (value === undefined || value === "" || masking === "none") return;
    line[name] = masking === "digest" ? this.#digestOf(value) : value;
  }

  #digestOf(value: string): string {
    return createHmac("sha256", this.#key).update(value).digest("hex").slice(0, DIGEST_DIGITS);
  }
}
