/**
 * Records the events of the table dispatcher and its commands; replaying the events gives the same
 * commands.
 */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { CommandBuffer, DROP } from "../../../core/command-buffer.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { WakeTimer } from "../../../server/wake-timer.ts";
import type { Dispatcher } from "../core/dispatcher.ts";

export type RecordedEvent =
  | {
      readonly kind: "arrival";
      readonly query: number;
      readonly deadlineMs: number;
      readonly nowMs: number;
      /** Index of its class; left out for the first class, and without classes. */
      readonly sloClass?: number;
    }
  /** One of several queries that arrive at once, or one that names a variant. */
  | {
      readonly kind: "joint-arrival";
      readonly query: number;
      readonly deadlineMs: number;
      readonly wanted: number;
      readonly nowMs: number;
      /** Index of its class, as above. */
      readonly sloClass?: number;
    }
  /** All that arrive at once have arrived. */
  | { readonly kind: "joint-end"; readonly nowMs: number }
  /** Queries that arrived at once and were refused by the server. */
  | {
      readonly kind: "refused";
      readonly queries: number;
      readonly nowMs: number;
      /** Index of its class, as above. */
      readonly sloClass?: number;
    }
  | {
      readonly kind: "done";
      readonly worker: number;
      readonly nowMs: number;
      /** How long the model ran in the worker; left out if not measured. */
      readonly ranMs?: number;
    }
  | { readonly kind: "ready"; readonly worker: number; readonly nowMs: number }
  | { readonly kind: "lost"; readonly worker: number; readonly nowMs: number }
  /** Retry of a query whose worker was lost. */
  | {
      readonly kind: "retry";
      readonly query: number;
      readonly deadlineMs: number;
      readonly wanted: number;
      readonly nowMs: number;
      /** Index of its class, as above. */
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

export type DropCommand = Extract<RecordedCommand, { readonly kind: "drop" }>;
export type StartCommand = Extract<RecordedCommand, { readonly kind: "start-batch" }> & {
  /** Queries that waited at the decision, its own included; 0 if unknown. */
  readonly queued: number;
};
export type TableCommand = StartCommand | DropCommand;

const NONE: readonly TableCommand[] = [];

/**
 * Dispatcher whose events and commands are recorded. Commands are copied, because carrying one out
 * may bring the next event.
 */
export class RecordedDispatcher {
  readonly #dispatcher: Dispatcher;
  readonly #recorder: Recorder | undefined;
  readonly #buffer: CommandBuffer;
  readonly #wakeTimer: WakeTimer;

  /**
   * @param dispatcher without any events yet.
   * @param onWake called when it wants to be asked again.
   */
  constructor(dispatcher: Dispatcher, recorder: Recorder | undefined, onWake: () => void) {
    this.#dispatcher = dispatcher;
    this.#recorder = recorder;
    this.#buffer = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    this.#wakeTimer = new WakeTimer(onWake);
  }

  /** Whether a query that arrives now would be dropped, whatever it asks. */
  isFull(nowMs: number): boolean {
    return this.#dispatcher.isFull(nowMs);
  }

  get pace(): PaceMonitor {
    return this.#dispatcher.pace;
  }

  loadQps(nowMs: number): number {
    return this.#dispatcher.loadQps(nowMs);
  }

  seenLoad(nowMs: number): SeenLoad {
    return this.#dispatcher.seenLoad(nowMs);
  }

  onShare(share: LoadShare, nowMs: number): void {
    this.#recorder?.({ kind: "share", ...share, nowMs });
    this.#dispatcher.onShare(share);
  }

  replaceBundle(bundle: RamsisBundle, nowMs: number): void {
    this.#recorder?.({ kind: "policy", bundle, nowMs });
    this.#dispatcher.replaceBundle(bundle);
  }

  onArrival(query: number, deadlineMs: number, nowMs: number, sloClass: number) {
    this.#recorder?.({ kind: "arrival", query, deadlineMs, nowMs, ...named(sloClass) });
    this.#dispatcher.onArrival(query, deadlineMs, nowMs, this.#buffer, sloClass);
    return this.#commands(nowMs);
  }

  onJointArrival(
    query: number,
    deadlineMs: number,
    wanted: number,
    nowMs: number,
    sloClass: number,
  ) {
    const arrival = { query, deadlineMs, wanted, nowMs, ...named(sloClass) };
    this.#recorder?.({ kind: "joint-arrival", ...arrival });
    this.#dispatcher.onJointArrival(query, deadlineMs, wanted, nowMs, this.#buffer, sloClass);
    return this.#commands(nowMs);
  }

  onJointEnd(nowMs: number) {
    this.#recorder?.({ kind: "joint-end", nowMs });
    this.#dispatcher.onJointEnd(nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onRefused(queries: number, nowMs: number, sloClass: number): void {
    this.#recorder?.({ kind: "refused", queries, nowMs, ...named(sloClass) });
    this.#dispatcher.onRefused(queries, nowMs, sloClass);
  }

  onBatchDone(worker: number, nowMs: number, ranMs?: number) {
    this.#recorder?.({ kind: "done", worker, nowMs, ...(ranMs === undefined ? {} : { ranMs }) });
    this.#dispatcher.onBatchDone(worker, nowMs, this.#buffer, ranMs);
    return this.#commands(nowMs);
  }

  /** The timer has called; timers and clocks do not agree to the microsecond. */
  onTimer(nowMs: number) {
    if (nowMs >= this.#dispatcher.wakeMs) {
      this.#recorder?.({ kind: "wake", nowMs });
      this.#dispatcher.onWake(nowMs, this.#buffer);
    }
    return this.#commands(nowMs);
  }

  onWorkerReady(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "ready", worker, nowMs });
    this.#dispatcher.onWorkerReady(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onWorkerLost(worker: number, nowMs: number) {
    this.#recorder?.({ kind: "lost", worker, nowMs });
    this.#dispatcher.onWorkerLost(worker, nowMs, this.#buffer);
    return this.#commands(nowMs);
  }

  onRetry(query: number, deadlineMs: number, wanted: number, nowMs: number, sloClass: number) {
    this.#recorder?.({ kind: "retry", query, deadlineMs, wanted, nowMs, ...named(sloClass) });
    this.#dispatcher.onRetry(query, deadlineMs, wanted, nowMs, this.#buffer, sloClass);
    return this.#commands(nowMs);
  }

  /** @returns whether it waited, and its name is free. */
  onCancel(query: number, nowMs: number): boolean {
    this.#recorder?.({ kind: "cancel", query, nowMs });
    return this.#dispatcher.onCancel(query);
  }

  /** No timer calls any more, until the next event. */
  stop(): void {
    this.#wakeTimer.clear();
  }

  #commands(nowMs: number): readonly TableCommand[] {
    const buffer = this.#buffer;
    this.#wakeTimer.set(this.#dispatcher.wakeMs, nowMs);
    if (buffer.count === 0) return NONE;
    const commands = Array.from({ length: buffer.count }, (_, command) =>
      this.#command(buffer, command),
    );
    buffer.clear();
    return commands;
  }

  #command(buffer: CommandBuffer, command: number): TableCommand {
    const recorded = recordedCommand(buffer, command);
    this.#recorder?.(recorded);
    return recorded.kind === "drop" ? recorded : { ...recorded, queued: buffer.queued(command) };
  }
}

/** Field of a record for a class: left out for the first. */
function named(sloClass: number): { readonly sloClass?: number } {
  return sloClass === 0 ? {} : { sloClass };
}
