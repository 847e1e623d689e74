/** Where the batches of a decision log go. */

/** What became of a batch. */
export type Delivery =
  | { readonly kind: "taken" }
  /** It may be taken later. @property waitMs that the place asks for, if it does. */
  | { readonly kind: "away"; readonly reason: string; readonly waitMs?: number }
  /** It will never be taken. */
  | { readonly kind: "refused"; readonly reason: string };

export const TAKEN: Delivery = { kind: "taken" };

export interface LogPlace {
  /** For people. */
  readonly name: string;
  /**
   * Never rejects.
   * @param text whole lines, each with its end.
   * @param signal ends what takes long.
   */
  send(text: string, signal: AbortSignal): Promise<Delivery>;
}
