/** What is known, while a server runs, of how often each variant is right. */

/** Feedback implements it; drift asks it every few seconds. */
export interface AccuracyEvidence {
  /**
   * One entry at most for each variant of which something is known, in any order; a variant of
   * which nothing is known is left out. Counts go up only, and begin at 0 with the bundle.
   */
  counts(): readonly VariantEvidence[];
}

export interface VariantEvidence {
  /** Name of its task; left out where the bundle has one task. */
  readonly task?: string;
  /** As the bundle names it. */
  readonly variant: string;
  /** Rows that it answered and of which the truth came in since. */
  readonly asked: number;
  /** Of these the rows that it had right, 0 to `asked`. */
  readonly correct: number;
}
