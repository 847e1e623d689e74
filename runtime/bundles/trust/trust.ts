/** Whether a site follows a bundle: signed by whom, for whom, until when, and not older. */
import { createHash } from "node:crypto";
import { RuntimeError } from "../../base/errors.ts";
import { instantMs } from "../../base/instant.ts";
import { malformed, readEnvelope, signerOf } from "./envelope.ts";
import { readPublicKeys } from "./keys.ts";
import { isInScope, type Labels, labelsText } from "./labels.ts";
import { type FollowedSerial, SerialMemory } from "./serial-memory.ts";
import { readStatement, SIGNATURE_TYPE, type Statement } from "./statement.ts";

export interface TrustOptions {
  /** Files of public keys; a signature by one of them is enough. One at least. */
  readonly keyFiles: readonly string[];
  /** Of the site; null where no site is asked for, so that every scope holds. */
  readonly labels: Labels | null;
  /** Milliseconds since 1970, by the clock of the machine. */
  readonly nowEpochMs: () => number;
  /** Folder where serials are remembered; null where nothing is, and none is too old. */
  readonly memory: string | null;
}

/** What a signature that holds says of a bundle. */
export interface Claims extends Statement {
  /** Of the key whose signature it is. */
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
   * What the signature of a bundle says, if it holds here and now. Files of keys are read each
   * time, so that a key is trusted from when it is there until it is gone. An expiry is the last
   * time to take a bundle up: one that was accepted goes on. Nothing of the bundle is decoded: that
   * its application is that of the claims is for `expectClaimed`.
   * @param bundle its whole file. @param envelope that of its signature; null where there is none.
   * @param place of the bundle, for messages.
   * @throws RuntimeError in this order: RUNTIME_UNSIGNED; RUNTIME_SIGNATURE where it is malformed;
   * RUNTIME_WRONG_KEY; RUNTIME_SIGNATURE where it is of another file; RUNTIME_EXPIRED;
   * RUNTIME_SCOPE; RUNTIME_ROLLBACK. Besides, RUNTIME_UNREADABLE, RUNTIME_KEY and RUNTIME_SERIALS
   * where keys or serials cannot be read.
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
    // One that is followed goes on: a site without a network must come up again after its expiry.
    if (!isThatOf(claims, highest)) this.#expectInTime(claims, where);
    this.#expectInScope(claims, where);
    expectNoRollback(claims, highest, where);
    return claims;
  }

  /**
   * Remembers the serial of a bundle on the disk: from then on older ones are refused, after a
   * restart too. It is to be called once the bundle is what the next
   * start finds: a power cut between the two then leaves a bundle that may be followed.
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
    const message = `expected one that has not expired, got one until ${expiresAt}; it is ${now}`;
    throw new RuntimeError("RUNTIME_EXPIRED", `${where}: ${message}`);
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

/** @param highest of the application that this site has followed; null for none. */
function expectNoRollback(claims: Claims, highest: FollowedSerial | null, where: string): void {
  const { application, serial } = claims;
  if (highest === null || serial > highest.serial || isThatOf(claims, highest)) return;
  const found = serial === highest.serial ? `${serial}, which another bundle has had` : `${serial}`;
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
