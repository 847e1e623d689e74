/** Rejects front ends whose lease of this worker is over, by the epochs that requests state. */
import { HttpError } from "../server/connections/http-error.ts";

/** Header in which a front end states its lease: `<front end>/<epoch>`. */
export const LEASE = "stratagem-lease";

const FORM = /^([\x21-\x7e]{1,256})\/([1-9]\d{0,14})$/;

export interface Lease {
  readonly frontEnd: string;
  /** Grows with each lease of the worker, whichever front end gets it. */
  readonly epoch: number;
}

/** Returns null without the header. @throws HttpError 400 */
export function leaseOf(header: string | readonly string[] | undefined): Lease | null {
  if (header === undefined) return null;
  const text = String(header);
  const [, frontEnd, epoch] = FORM.exec(text) ?? [];
  if (frontEnd !== undefined && epoch !== undefined) return { frontEnd, epoch: Number(epoch) };
  throw new HttpError(400, `${LEASE}: expected <front end>/<epoch> such as a/7, got "${text}"`);
}

/** The latest lease seen. It is forgotten with the process, as are the batches that ran in it. */
export class Fence {
  #latest: Lease | null = null;
  readonly #onHigher: () => void;

  /** @param onHigher called when a new highest epoch was seen. */
  constructor(onHigher: () => void = () => {}) {
    this.#onHigher = onHigher;
  }

  /** Highest epoch seen; 0 before the first. */
  get epoch(): number {
    return this.#latest?.epoch ?? 0;
  }

  /**
   * Records a lease. Requests without one pass.
   * @throws HttpError 409 if a later one was seen, or another front end has the epoch.
   */
  check(lease: Lease | null): void {
    if (lease === null) return;
    const latest = this.#latest;
    const isOver = latest !== null && lease.epoch < latest.epoch;
    const isDouble = lease.epoch === latest?.epoch && lease.frontEnd !== latest.frontEnd;
    if (isOver || isDouble) {
      const expected = `expected epoch ${latest.epoch} of ${latest.frontEnd} or a later epoch`;
      const found = `epoch ${lease.epoch} of ${lease.frontEnd}`;
      throw new HttpError(409, `${LEASE}: ${expected}, got ${found}`);
    }
    this.#latest = lease;
    if (lease.epoch > (latest?.epoch ?? 0)) this.#onHigher();
  }
}
