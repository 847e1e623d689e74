/** Hashes of tokens: SHA-256, or scrypt for tokens that people chose. */
import { createHash, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";

export type TokenHash = Sha256Hash | ScryptHash;

export interface Sha256Hash {
  readonly kind: "sha256";
  readonly digest: Buffer;
}

export interface ScryptHash {
  readonly kind: "scrypt";
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly salt: Buffer;
  readonly digest: Buffer;
}

export const HASH_EXPECTED =
  "sha256:HEX of 64 digits, or scrypt:N:R:P:SALT:HASH in base64url with N a power of two " +
  "up to 131072, R up to 16, P up to 4";

const DIGEST_BYTES = 32;
const MOST = { cost: 2 ** 17, blockSize: 16, parallelization: 4 };

/**
 * @returns undefined for a text that is not a hash, or a hash that would take too long to compute.
 */
export function parsedHash(text: string): TokenHash | undefined {
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(text)?.[1];
  if (hex !== undefined) return { kind: "sha256", digest: Buffer.from(hex, "hex") };
  const match = /^scrypt:(\d{1,6}):(\d{1,2}):(\d):([\w-]{16,86}):([\w-]{43})$/.exec(text);
  if (match === null) return undefined;
  const [, cost, blockSize, parallelization] = match.map(Number);
  const [salt, digest] = [match[4] ?? "", match[5] ?? ""].map((part) => {
    return Buffer.from(part, "base64url");
  });
  if (cost === undefined || blockSize === undefined || parallelization === undefined) return;
  const isPower = cost > 1 && Number.isInteger(Math.log2(cost));
  const isInRange = blockSize > 0 && blockSize <= MOST.blockSize && parallelization > 0;
  if (!isPower || !isInRange || cost > MOST.cost || parallelization > MOST.parallelization) return;
  if (salt === undefined || digest?.length !== DIGEST_BYTES) return undefined;
  return { kind: "scrypt", cost, blockSize, parallelization, salt, digest };
}

export function sha256(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Whether the token matches, compared in constant time. */
export async function isOfScrypt(token: string, hash: ScryptHash): Promise<boolean> {
  return timingSafeEqual(await scryptOf(token, hash), hash.digest);
}

function scryptOf(
  token: string,
  { salt, cost, blockSize, parallelization }: Omit<ScryptHash, "kind" | "digest">,
): Promise<Buffer> {
  const maxmem = 256 * cost * blockSize;
  const options: ScryptOptions = { cost, blockSize, parallelization, maxmem };
  return new Promise((resolve, reject) => {
    scrypt(token, salt, DIGEST_BYTES, options, (error, digest) => {
      if (error === null) resolve(digest);
      else reject(error);
    });
  });
}
