/** Liveness of the other front ends, judged by the beats seen of them. */
import type { SeenLoad } from "../../../core/load-share.ts";

interface PeerBookOptions {
  /** A front end is considered dead if its key has not changed for this time ... */
  readonly leaseMs: number;
  /** ... and this many own beats were acknowledged in it. */
  readonly leaseBeats: number;
}

interface Peer {
  revision: number;
  /** Time of the last change on the local clock, and the number of own beats by then. */
  seenMs: number;
  ownBeats: number;
  load: SeenLoad;
  /** Whether its key exists, as far as known. */
  isThere: boolean;
  /** Whether its key was deleted. */
  hasLeft: boolean;
  /** Whether it is being checked by means other than the store. */
  isChecked: boolean;
}

const NOTHING: SeenLoad = { qps: 0, variance: 0 };
/** Leases after which a dead front end is forgotten. */
const FORGOTTEN_LEASES = 30;
/**
 * Gap between own beats after which beats of others could not have been seen either: a change of
 * NATS's leader stops all writes, and they do not resume at the same time.
 */
const GAP_LEASES = 1;
/** Silence, as a part of a lease, from which a front end is checked over HTTP. */
const DOUBTFUL_LEASES = 0.5;
/** Leases without an own beat after which the load of others is unknown. */
const STALE_LEASES = 1.5;

/**
 * The other front ends of a cluster. Clocks of others are not trusted: a front end is alive while
 * its key changes, and its silence is measured on the local clock from the last change seen. While
 * the store is unreachable no key changes, so time counts only as own beats are acknowledged: a
 * front end that is cut off considers none dead.
 */
export class PeerBook {
  readonly #options: PeerBookOptions;
  readonly #peers = new Map<string, Peer>();
  #ownBeats = 0;
  #lastBeatMs = Number.NEGATIVE_INFINITY;

  constructor(options: PeerBookOptions) {
    this.#options = options;
  }

  /** Records an acknowledged own beat. */
  onOwnBeat(nowMs: number): void {
    if (nowMs - this.#lastBeatMs > GAP_LEASES * this.#options.leaseMs) this.#extendLeases(nowMs);
    this.#ownBeats++;
    this.#lastBeatMs = nowMs;
  }

  /** Records a front end's key. @param load null if it was deleted. */
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
      isChecked: false,
    });
  }

  /** Records the holder of a wanted worker: an unknown holder's lease starts now. */
  onHolder(name: string, nowMs: number): void {
    if (this.#peers.has(name)) return;
    const [revision, ownBeats] = [0, this.#ownBeats];
    const rest = { load: NOTHING, isThere: false, hasLeft: false, isChecked: false };
    this.#peers.set(name, { revision, seenMs: nowMs, ownBeats, ...rest });
  }

  /** Whether the workers of a front end may be claimed. */
  hasExpired(name: string, nowMs: number): boolean {
    const peer = this.#peers.get(name);
    if (peer === undefined) return false;
    return peer.hasLeft || this.#isSilent(peer, nowMs);
  }

  /** Records that a check by means other than the store begins: it is not dead until it ends. */
  onCheck(name: string, nowMs: number): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined && !this.#isSilent(peer, nowMs)) peer.isChecked = true;
  }

  /** Records the end of such a check. @param serves whether the front end answered. */
  onChecked(name: string, serves: boolean, nowMs: number): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    if (serves && !this.#isSilent(peer, nowMs)) {
      peer.seenMs = nowMs;
      peer.ownBeats = this.#ownBeats;
    }
    peer.isChecked = false;
  }

  /** Front ends that will be considered dead soon unless they are heard. */
  doubtful(nowMs: number): string[] {
    const names: string[] = [];
    for (const [name, { isThere, seenMs, ownBeats }] of this.#peers) {
      const isLate = nowMs - seenMs >= DOUBTFUL_LEASES * this.#options.leaseMs;
      if (isThere && isLate && this.#ownBeats > ownBeats) names.push(name);
    }
    return names;
  }

  /** Names of live front ends, in no particular order. */
  alive(nowMs: number): string[] {
    const names: string[] = [];
    for (const [name, peer] of this.#peers) {
      if (peer.isThere && !this.#isSilent(peer, nowMs)) names.push(name);
    }
    return names;
  }

  /** Total load of the live front ends; null if unknown. */
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
   * Forgets front ends that have been dead for long. @returns those whose keys still exist, with
   * their last revisions.
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

  /** Gives each front end that is not considered dead a whole lease from now. */
  #extendLeases(nowMs: number): void {
    for (const peer of this.#peers.values()) {
      if (peer.hasLeft || this.#isSilent(peer, nowMs)) continue;
      peer.seenMs = nowMs;
      peer.ownBeats = this.#ownBeats;
    }
  }

  #isSilent({ seenMs, ownBeats, isChecked }: Peer, nowMs: number): boolean {
    const { leaseMs, leaseBeats } = this.#options;
    if (isChecked) return false;
    return nowMs - seenMs >= leaseMs && this.#ownBeats - ownBeats >= leaseBeats;
  }
}
