/**
 * The log of a running server: what its dispatcher was told and what it answered. Replaying the
 * events gives the same commands.
 */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { type CommandBuffer, DROP } from "../../../core/command-buffer.ts";
import type { LoadShare } from "../../../core/load-share.ts";

export type RecordedEvent =
  | {
      readonly kind: "arrival";
      readonly query: number;
      readonly deadlineMs: number;
      readonly nowMs: number;
      /** Index of its class; left out for the first, or where there are none. */
      readonly sloClass?: number;
    }
  /** One of several queries that arrive at once, or one that names a variant. */
  | {
      readonly kind: "joint-arrival";
      readonly query: number;
      readonly deadlineMs: number;
      readonly wanted: number;
      readonly nowMs: number;
      /** As above. */
      readonly sloClass?: number;
    }
  /** All that arrive at once have arrived. */
  | { readonly kind: "joint-end"; readonly nowMs: number }
  /** Queries that arrived at once and were refused by the server. */
  | {
      readonly kind: "refused";
      readonly queries: number;
      readonly nowMs: number;
      /** As above. */
      readonly sloClass?: number;
    }
  | {
      readonly kind: "done";
      readonly worker: number;
      readonly nowMs: number;
      /** How long the model ran in the worker; left out where it was not measured. */
      readonly ranMs?: number;
    }
  | { readonly kind: "ready"; readonly worker: number; readonly nowMs: number }
  | { readonly kind: "lost"; readonly worker: number; readonly nowMs: number }
  /** One whose worker was lost. */
  | {
      readonly kind: "retry";
      readonly query: number;
      readonly deadlineMs: number;
      readonly wanted: number;
      readonly nowMs: number;
      /** As above. */
      readonly sloClass?: number;
    }
  | { readonly kind: "wake"; readonly nowMs: number }
  | { readonly kind: "cancel"; readonly query: number; readonly nowMs: number }
  /** From here on this is the part of one of several front ends. */
  | ({ readonly kind: "share"; readonly nowMs: number } & LoadShare)
  /** From here on this bundle decides. */
  | { readonly kind: "policy"; readonly bundle: RamsisBundle; readonly nowMs: number };

export type RecordedCommand =
  | {
      readonly kind: "start-batch";
      readonly worker: number;
      readonly variant: number;
      readonly level: number;
      /** Earliest deadline first. */
      readonly queries: readonly number[];
    }
  | {
      readonly kind: "drop";
      readonly worker: number;
      readonly query: number;
      readonly reason: number;
    };

/**
 * Receives every event just before the dispatcher does, then the commands that answer it, in order.
 * It must not throw.
 */
export type Recorder = (entry: RecordedEvent | RecordedCommand) => void;

/** A command as it is recorded. */
export function recordedCommand(commands: CommandBuffer, command: number): RecordedCommand {
  const worker = commands.worker(command);
  if (commands.kind(command) === DROP) {
    const query = commands.query(command, 0);
    return { kind: "drop", worker, query, reason: commands.reason(command) };
  }
  const [variant, level] = [commands.variant(command), commands.level(command)];
  const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
    commands.query(command, position),
  );
  return { kind: "start-batch", worker, variant, level, queries };
}
