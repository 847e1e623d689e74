/** Destination of a decision log's batches. */

/** Outcome of sending a batch. */
export type Delivery =
  | { readonly kind: "taken" }
  /** A later attempt may succeed. @property waitMs requested by the destination. */
  | { readonly kind: "away"; readonly reason: string; readonly waitMs?: number }
  /** No later attempt will succeed. */
  | { readonly kind: "refused"; readonly reason: string };

export const TAKEN: Delivery = { kind: "taken" };

export interface LogDestination {
  /** Name in messages. */
  readonly name: string;
  /**
   * Sends a batch; never rejects.
   * @param text whole lines, each with its end.
   * @param signal aborts the attempt.
   */
  send(text: string, signal: AbortSignal): Promise<Delivery>;
}
