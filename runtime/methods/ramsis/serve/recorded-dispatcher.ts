/** Records the events and commands of the dispatcher of tables. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { CommandBuffer } from "../../../core/command-buffer.ts";
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { WakeTimer } from "../../../server/wake-timer.ts";
import type { Dispatcher } from "../core/dispatcher.ts";
import { type RecordedCommand, type Recorder, recordedCommand } from "./recording.ts";

export type DropCommand = Extract<RecordedCommand, { readonly kind: "drop" }>;
export type StartCommand = Extract<RecordedCommand, { readonly kind: "start-batch" }> & {
  /** Queries that waited where it was decided, its own included; 0 where nobody says. */
  readonly queued: number;
};
export type TableCommand = StartCommand | DropCommand;

const NONE: readonly TableCommand[] = [];

/**
 * A dispatcher of tables whose events and commands are recorded. Commands are copied out: what is
 * done about one may bring the next event.
 */
export class RecordedDispatcher {
  readonly #dispatcher: Dispatcher;
  readonly #recorder: Recorder | undefined;
  readonly #buffer: CommandBuffer;
  readonly #wakeTimer: WakeTimer;

  /**
   * @param dispatcher that nothing has been told to.
   * @param onWake called when it wants to be asked again.
   */
  constructor(dispatcher: Dispatcher, recorder: Recorder | undefined, onWake: () => void) {
    this.#dispatcher = dispatcher;
    this.#recorder = recorder;
    this.#buffer = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
    this.#wakeTimer = new WakeTimer(onWake);
  }

  /** Whether a query that arrives now would be dropped, whatever it asks. */
  get isFull(): boolean {
    return this.#dispatcher.isFull;
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

/** What a record says of a class: nothing of the first. */
function named(sloClass: number): { readonly sloClass?: number } {
  return sloClass === 0 ? {} : { sloClass };
}
