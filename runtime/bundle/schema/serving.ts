/** Time that serving takes besides the models, as measured through the server itself. */

/** Times of one kind, ms; all 0 if the profile does not say. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}

/** The path of a request through the server, and the contention between workers. */
export interface ServingPath {
  /** Processors of the machine. */
  readonly processors: number;
  /** Bytes of the measured request. */
  readonly requestBytes: number;
  /** The server's process: a request, from its start to its decision. */
  readonly requestMs: Spread;
  /** The server's process: a batch, sending it and receiving its answer. */
  readonly batchMs: Spread;
  /** The server's process: writing the answer of a request. */
  readonly answerMs: Spread;
  /** The server's process: each MiB of a request and its answer beyond `requestBytes`. */
  readonly perMiBMs: number;
  /** Extra time of a process that slept. */
  readonly wakeMs: Spread;
  /** Client and network, both ways together. */
  readonly wireMs: Spread;
  /**
   * Service times with 1, 2, … workers busy at once, relative to those with one; non-decreasing,
   * and the first is 1.
   */
  readonly contention: readonly number[];
  /**
   * Times at which the host takes a processor away, per processor; left out if none were measured.
   */
  readonly stalls?: { readonly perSecond: number; readonly ms: Spread };
  /** Periods in which the host slowed a processor down, of earlier compilers; not used. */
  readonly slow?: {
    readonly share: number;
    readonly factor: number;
    readonly spellMs: number;
    readonly fast: number;
  };
  /** Part of the SLO that decisions leave to the path; 0 if plans ignore it. */
  readonly marginMs: number;
  /**
   * Largest service times that plans assume, relative to the measured ones: the contention of all
   * workers. Left out if plans ignore the path.
   */
  readonly stretch?: number;
}
