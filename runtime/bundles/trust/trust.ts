/** Decides whether a site accepts a bundle: signer, scope, expiry and serial. */
import { createHash } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";
import { instantMs } from "../../base/instant.ts";
import { malformed, readEnvelope, signerOf } from "./envelope.ts";
import { readPublicKeys } from "./keys.ts";
import { isInScope, type Labels, labelsText } from "./labels.ts";
import { type FollowedSerial, SerialMemory } from "./serial-memory.ts";
import { readStatement, SIGNATURE_TYPE, type Statement } from "./statement.ts";

export interface TrustOptions {
  /** Files of public keys, at least one; a signature by one of them is enough. */
  readonly keyFiles: readonly string[];
  /** Labels of the site; null to accept every scope. */
  readonly labels: Labels | null;
  /** Milliseconds since 1970, by the clock of the machine. */
  readonly nowEpochMs: () => number;
  /** Folder where serials are remembered; null to accept any serial. */
  readonly memory: string | null;
}

/** Content of a valid signature about a bundle. */
export interface Claims extends Statement {
  /** Id of the key that signed it. */
  readonly keyId: string;
}

/** Needs no network. */
export class Trust {
  readonly #options: TrustOptions;
  readonly #memory: SerialMemory | null;

  private constructor(options: TrustOptions, memory: SerialMemory | null) {
    this.#options = options;
    this.#memory = memory;
  }

  /** @throws RuntimeError RUNTIME_UNREADABLE, RUNTIME_KEY, RUNTIME_SERIALS */
  static async open(options: TrustOptions): Promise<Trust> {
    await readPublicKeys(options.keyFiles);
    const { memory } = options;
    return new Trust(options, memory === null ? null : await SerialMemory.open(memory));
  }

  /**
   * Returns the content of a bundle's signature if it is valid here and now. Key files are read
   * each time, so that a key is trusted from its arrival until its removal. An expiry is the last
   * time to accept a bundle: one that was accepted stays in use. The bundle is not decoded;
   * `expectClaimed` compares its application with the claims.
   * @param bundle its whole file. @param envelope envelope of its signature; null without one.
   * @param place place of the bundle, for messages.
   * @throws RuntimeError in this order: RUNTIME_UNSIGNED; RUNTIME_SIGNATURE if it is malformed;
   * RUNTIME_WRONG_KEY; RUNTIME_SIGNATURE if it is of another file; RUNTIME_EXPIRED; RUNTIME_SCOPE;
   * RUNTIME_ROLLBACK. Besides, RUNTIME_UNREADABLE, RUNTIME_KEY and RUNTIME_SERIALS if keys or
   * serials cannot be read.
   */
  async expect(bundle: Uint8Array, envelope: Uint8Array | null, place = "bundle"): Promise<Claims> {
    const keys = await readPublicKeys(this.#options.keyFiles);
    if (envelope === null) {
      const expected = `expected a signature by key ${keys.map(({ id }) => id).join(" or ")}`;
      const hint = "stratagem sign writes one beside the bundle";
      throw new RuntimeError("RUNTIME_UNSIGNED", `${place}: ${expected}, got none; ${hint}`);
    }
    const where = `signature of ${place}`;
    const read = readEnvelope(envelope, SIGNATURE_TYPE, where);
    const { id } = signerOf(read, keys, where);
    const claims = { ...readStatement(read.payload, where), keyId: id };
    expectSameFile(bundle, claims, where);
    const highest = (await this.#memory?.highest(claims.application)) ?? null;
    // An accepted bundle stays valid: a site without a network must restart after its expiry.
    if (!isThatOf(claims, highest)) this.#expectInTime(claims, where);
    this.#expectInScope(claims, where);
    expectNoRollback(claims, highest, where);
    return claims;
  }

  /**
   * Stores the serial of a bundle on the disk: from then on older ones are refused, also after a
   * restart. Call it once the bundle is stored for the next start: a power cut between the two then
   * leaves a bundle that is still accepted.
   * @throws RuntimeError RUNTIME_SERIALS
   */
  async accept(claims: Claims): Promise<void> {
    await this.#memory?.remember(claims);
  }

  #expectInTime({ expiresAt }: Claims, where: string): void {
    if (expiresAt === null) return;
    const nowMs = this.#options.nowEpochMs();
    if (nowMs < (instantMs(expiresAt) ?? Number.NEGATIVE_INFINITY)) return;
    const now = new Date(nowMs).toISOString();
    const found = `got one that expired at ${expiresAt}; it is ${now}`;
    throw new RuntimeError("RUNTIME_EXPIRED", `${where}: expected one still valid, ${found}`);
  }

  #expectInScope({ scope }: Claims, where: string): void {
    const { labels } = this.#options;
    if (labels === null || isInScope(scope, labels)) return;
    const own = labelsText(labels);
    const expected = `expected one for this site, ${own === "" ? "which has no labels" : own}`;
    throw new RuntimeError("RUNTIME_SCOPE", `${where}: ${expected}, got ${labelsText(scope)}`);
  }
}

function isThatOf({ serial, sha256 }: Claims, followed: FollowedSerial | null): boolean {
  return followed !== null && serial === followed.serial && sha256 === followed.sha256;
}

/** @param highest highest accepted serial of the application; null if it has none. */
function expectNoRollback(claims: Claims, highest: FollowedSerial | null, where: string): void {
  const { application, serial } = claims;
  if (highest === null || serial > highest.serial || isThatOf(claims, highest)) return;
  const found =
    serial === highest.serial ? `${serial}, which another bundle has used` : `${serial}`;
  const expected = `expected a serial of ${application} above ${highest.serial}`;
  const hint = "to go back to an older bundle, sign it again with a higher serial";
  throw new RuntimeError("RUNTIME_ROLLBACK", `${where}: ${expected}, got ${found}; ${hint}`);
}

function expectSameFile(bundle: Uint8Array, { sha256, bytes }: Claims, where: string): void {
  const found = createHash("sha256").update(bundle).digest("hex");
  if (found === sha256 && bundle.length === bytes) return;
  const signed = `${bytes} bytes with SHA-256 ${sha256}`;
  throw malformed(where, `that of this bundle, which is ${found}`, `that of ${signed}`);
}
