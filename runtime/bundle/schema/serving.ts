/** What serving takes beside the models, as it was measured through the server itself. */

/** Times of one kind, ms; all 0 where the profile does not say. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}

/** Spells in which a processor works slowly, and what work takes outside of them. */
export interface SlowSpells {
  /** Their part of the time, 0 to 1, both exclusive. */
  readonly share: number;
  /** How many times as long work takes in them. */
  readonly factor: number;
  /** How long one lasts in the mean, ms. */
  readonly spellMs: number;
  /** What work takes outside of them, over what profile and contention say; above 0. */
  readonly fast: number;
}

/** The way of a request through the server, and what workers take from each other. */
export interface ServingPath {
  /** Processors of the machine. */
  readonly processors: number;
  /** Bytes of the request that was measured. */
  readonly requestBytes: number;
  /** Of the server's process: a request, from taking it up to its decision. */
  readonly requestMs: Spread;
  /** Of the server's process: a batch, sending it and taking it back. */
  readonly batchMs: Spread;
  /** Of the server's process: writing the answer of a request. */
  readonly answerMs: Spread;
  /** Of the server's process: each MiB of a request and its answer beyond `requestBytes`. */
  readonly perMiBMs: number;
  /** What a process that slept takes longer than one that did not. */
  readonly wakeMs: Spread;
  /** Client and network, both ways together. */
  readonly wireMs: Spread;
  /**
   * Service times with 1, 2, … workers busy at once, relative to those with one; it does not
   * descend, and the first is 1.
   */
  readonly contention: readonly number[];
  /**
   * Times at which the host takes a processor away, of one processor; left out where there were
   * none.
   */
  readonly stalls?: { readonly perSecond: number; readonly ms: Spread };
  /** Times in which the host lets a processor work slowly; left out where there are none. */
  readonly slow?: SlowSpells;
  /** Time of the SLO that decisions leave to the path; 0 where it was planned without. */
  readonly marginMs: number;
  /**
   * Service times that plans reckon with at most, relative to the measured ones: what all workers
   * take from each other. Left out where it was planned without the path.
   */
  readonly stretch?: number;
}
