/**
 * Log of running execution places: events of their scheduler and its commands. Replaying the events
 * gives the same commands.
 */

interface Timed {
  readonly nowMs: number;
}

export type AccordionEvent =
  | (Timed & {
      readonly kind: "query";
      readonly query: number;
      readonly model: number;
      readonly batch: number;
      readonly isHigh: boolean;
      readonly deadlineMs: number;
    })
  | (Timed & { readonly kind: "instance-done" | "cancel"; readonly query: number })
  | (Timed & { readonly kind: "ready" | "lost" | "replaced"; readonly place: number })
  | (Timed & { readonly kind: "wake" });

export type AccordionCommand =
  | {
      readonly kind: "start" | "reshape";
      readonly query: number;
      readonly shape: number;
      /** Instances that are done. */
      readonly resumeAt: number;
      /** In the order of the stages. */
      readonly places: readonly number[];
    }
  | { readonly kind: "drop"; readonly query: number; readonly reason: number };

/**
 * Receives every event just before the scheduler does, then the commands that answer it, in order.
 * It must not throw.
 */
export type AccordionRecorder = (entry: AccordionEvent | AccordionCommand) => void;
