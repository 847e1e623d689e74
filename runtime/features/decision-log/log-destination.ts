/** Destinations of decision logs, and standard output as one. */
import { causeOf } from "../../base/http-client.ts";
import type { LineWriter } from "../../server/logs/line-writer.ts";

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

/** Standard output in lines, for collectors of container logs. */
export class StreamDestination implements LogDestination {
  readonly name = "standard output";
  readonly #writer: LineWriter;

  constructor(writer: LineWriter) {
    this.#writer = writer;
  }

  /** Resolves once the text is written, so that at most one batch waits. */
  send(text: string, signal: AbortSignal): Promise<Delivery> {
    return new Promise((resolve) => {
      const onAbort = () => resolve({ kind: "refused", reason: "the reader is too slow" });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#writer.write(text, (error) => {
        signal.removeEventListener("abort", onAbort);
        resolve(error === null ? TAKEN : { kind: "refused", reason: causeOf(error) });
      });
    });
  }
}
