/**
 * Log of a running pipeline: the events and commands of its dispatcher. Replaying the events gives
 * the same commands.
 */
import type { LoadShare } from "../../core/load-share.ts";

interface Timed {
  readonly nowMs: number;
}

export type PipelineEvent =
  | (Timed & { readonly kind: "request" })
  | (Timed & {
      readonly kind: "query";
      readonly query: number;
      readonly task: number;
      readonly parent: number;
      readonly deadlineMs: number;
    })
  | (Timed & {
      readonly kind: "ready" | "model-ready" | "resized" | "lost";
      readonly worker: number;
    })
  | (Timed & {
      readonly kind: "done";
      readonly worker: number;
      /** Run time of the model in the worker; undefined where it was not measured. */
      readonly ranMs?: number;
    })
  | (Timed & { readonly kind: "retry"; readonly query: number; readonly task: number })
  | {
      readonly kind: "fanout";
      readonly query: number;
      readonly childTask: number;
      readonly count: number;
    }
  | (Timed & { readonly kind: "wake" })
  | (Timed & { readonly kind: "share" } & LoadShare)
  /**
   * Highest expected rate of one second, requests per second; NaN withdraws the previous forecast.
   */
  | { readonly kind: "forecast"; readonly qps: number }
  | { readonly kind: "cancel"; readonly query: number };

export type PipelineCommand =
  | {
      readonly kind: "start-batch";
      readonly worker: number;
      readonly variant: number;
      readonly level: number;
      /** Queries that waited where it was decided, those of the batch included. */
      readonly queued: number;
      readonly queries: readonly number[];
    }
  | { readonly kind: "drop"; readonly query: number; readonly reason: number }
  | {
      readonly kind: "assign";
      readonly worker: number;
      readonly variant: number;
      /** Left out where workers have as many as they have. */
      readonly cores?: number;
    }
  | { readonly kind: "resize"; readonly worker: number; readonly cores: number }
  | { readonly kind: "release"; readonly worker: number };

/**
 * Receives every event just before the dispatcher does, then the commands that answer it, in order.
 * It must not throw.
 */
export type PipelineRecorder = (entry: PipelineEvent | PipelineCommand) => void;
