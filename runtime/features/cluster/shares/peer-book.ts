/** Which front ends are alive, judged by the beats that are seen of them. */
import type { SeenLoad } from "../../../core/load-share.ts";

interface PeerBookOptions {
  /** A front end is taken for dead when its key has not changed for so long ... */
  readonly leaseMs: number;
  /** ... during which so many beats of one's own were acknowledged. */
  readonly leaseBeats: number;
}

interface Peer {
  revision: number;
  /** When it was seen to change, on the clock of who looks, and how many own beats there were. */
  seenMs: number;
  ownBeats: number;
  load: SeenLoad;
  /** Its key is there, as far as is known. */
  isThere: boolean;
  /** Its key was there, and was deleted. */
  hasLeft: boolean;
}

const NOTHING: SeenLoad = { qps: 0, variance: 0 };
/** A dead front end is forgotten once it was dead for so many leases. */
const FORGOTTEN_LEASES = 30;
/**
 * Whose own beats did not come through for a whole lease could not have seen those of others: a
 * change of NATS's leader stops all writes, and not all go on at the same time.
 */
const GAP_LEASES = 1;
/** From this part of a lease on who is silent may be asked whether it is there. */
const DOUBTFUL_LEASES = 0.5;
/** What others see is not known any more when so many leases have passed without an own beat. */
const STALE_LEASES = 1.5;

/**
 * Who else serves the cluster. Nothing is believed of the clocks of others: a front end is alive
 * while its key changes, and how long it has not is measured on one's own clock, from when the last
 * change was seen. Where the store is away nobody's key changes, so that time counts only as far as
 * own beats come through: who hears nothing of anybody takes nobody for dead.
 */
export class PeerBook {
  readonly #options: PeerBookOptions;
  readonly #peers = new Map<string, Peer>();
  #ownBeats = 0;
  #lastBeatMs = Number.NEGATIVE_INFINITY;

  constructor(options: PeerBookOptions) {
    this.#options = options;
  }

  /** An own beat was acknowledged. */
  onOwnBeat(nowMs: number): void {
    if (nowMs - this.#lastBeatMs > GAP_LEASES * this.#options.leaseMs) this.#forgive(nowMs);
    this.#ownBeats++;
    this.#lastBeatMs = nowMs;
  }

  /** The key of a front end was seen. @param load null: it was deleted. */
  onBeat(name: string, load: SeenLoad | null, revision: number, nowMs: number): void {
    const known = this.#peers.get(name);
    if (known !== undefined && known.revision >= revision) return;
    this.#peers.set(name, {
      revision,
      seenMs: nowMs,
      ownBeats: this.#ownBeats,
      load: load ?? NOTHING,
      isThere: load !== null,
      hasLeft: load === null,
    });
  }

  /** Somebody holds what is wanted here: if nobody of the name is known, its lease begins now. */
  onHolder(name: string, nowMs: number): void {
    if (this.#peers.has(name)) return;
    const [revision, ownBeats] = [0, this.#ownBeats];
    const rest = { load: NOTHING, isThere: false, hasLeft: false };
    this.#peers.set(name, { revision, seenMs: nowMs, ownBeats, ...rest });
  }

  /** Whether what a front end holds may be taken over. */
  hasExpired(name: string, nowMs: number): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) return false;
    return peer.hasLeft || this.#isSilent(peer, nowMs);
  }

  /** A front end answered, by another way than the store. */
  onHeard(name: string, nowMs: number): void {
    const peer = this.#peers.get(name);
    if (peer === undefined || this.#isSilent(peer, nowMs)) return;
    peer.seenMs = nowMs;
    peer.ownBeats = this.#ownBeats;
  }

  /** Who will be taken for dead soon, unless something is heard of it. */
  doubtful(nowMs: number): string[] {
    const names: string[] = [];
    for (const [name, { isThere, seenMs, ownBeats }] of this.#peers) {
      const isLate = nowMs - seenMs >= DOUBTFUL_LEASES * this.#options.leaseMs;
      if (isThere && isLate && this.#ownBeats > ownBeats) names.push(name);
    }
    return names;
  }

  /** Names of those that are alive, in no order. */
  alive(nowMs: number): string[] {
    const names: string[] = [];
    for (const [name, peer] of this.#peers) {
      if (peer.isThere && !this.#isSilent(peer, nowMs)) names.push(name);
    }
    return names;
  }

  /** What all that are alive see together; null while that is not known. */
  load(nowMs: number): SeenLoad | null {
    if (nowMs - this.#lastBeatMs > STALE_LEASES * this.#options.leaseMs) return null;
    let qps = 0;
    let variance = 0;
    for (const peer of this.#peers.values()) {
      if (!peer.isThere || this.#isSilent(peer, nowMs)) continue;
      qps += peer.load.qps;
      variance += peer.load.variance;
    }
    return { qps, variance };
  }

  /**
   * Forgets who has been dead for long. @returns those whose keys are still there, with the
   * revisions they had.
   */
  forget(nowMs: number): { readonly name: string; readonly revision: number }[] {
    const left: { name: string; revision: number }[] = [];
    for (const [name, peer] of this.#peers) {
      const { isThere, revision } = peer;
      if (nowMs - peer.seenMs < FORGOTTEN_LEASES * this.#options.leaseMs) continue;
      if (!this.#isSilent(peer, nowMs)) continue;
      if (isThere) left.push({ name, revision });
      this.#peers.delete(name);
    }
    return left;
  }

  /** Who is not taken for dead yet has a whole lease from now on. */
  #forgive(nowMs: number): void {
    for (const peer of this.#peers.values()) {
      if (peer.hasLeft || this.#isSilent(peer, nowMs)) continue;
      peer.seenMs = nowMs;
      peer.ownBeats = this.#ownBeats;
    }
  }

  #isSilent({ seenMs, ownBeats }: Peer, nowMs: number): boolean {
    const { leaseMs, leaseBeats } = this.#options;
    return nowMs - seenMs >= leaseMs && this.#ownBeats - ownBeats >= leaseBeats;
  }
}
