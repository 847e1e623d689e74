/** Records the events and commands of a scheduler. */
import { WakeTimer } from "../../../server/wake-timer.ts";
import { AccordionCommands, DROP, START } from "../core/commands.ts";
import type { AccordionQuery } from "../core/query-runs.ts";
import type { AccordionScheduler } from "../core/scheduler.ts";
import type { AccordionCommand, AccordionRecorder } from "./recording.ts";

interface RecordedSchedulerOptions {
  /** Scheduler without any events yet. */
  readonly scheduler: AccordionScheduler;
  readonly recorder: AccordionRecorder | undefined;
  /** Called when the scheduler wants to be asked again. */
  readonly onWake: () => void;
}

/**
 * Scheduler whose events and commands are recorded. Commands are copied, because carrying one out
 * may bring the next event.
 */
export class RecordedScheduler {
  readonly #scheduler: AccordionScheduler;
  readonly #recorder: AccordionRecorder | undefined;
  readonly #commands = new AccordionCommands();
  readonly #wakeTimer: WakeTimer;

  constructor({ scheduler, recorder, onWake }: RecordedSchedulerOptions) {
    this.#scheduler = scheduler;
    this.#recorder = recorder;
    this.#wakeTimer = new WakeTimer(onWake);
  }

  onQuery(query: number, ask: AccordionQuery, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "query", query, ...ask, nowMs });
    this.#scheduler.onQuery(query, ask, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onInstanceDone(query: number, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "instance-done", query, nowMs });
    this.#scheduler.onInstanceDone(query, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onCancel(query: number, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "cancel", query, nowMs });
    this.#scheduler.onCancel(query, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceReady(place: number, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "ready", place, nowMs });
    this.#scheduler.onPlaceReady(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceLost(place: number, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "lost", place, nowMs });
    this.#scheduler.onPlaceLost(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceReplaced(place: number, nowMs: number): readonly AccordionCommand[] {
    this.#recorder?.({ kind: "replaced", place, nowMs });
    this.#scheduler.onPlaceReplaced(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  /** The timer has called; timers and clocks do not agree to the microsecond. */
  onTimer(nowMs: number): readonly AccordionCommand[] {
    if (nowMs >= this.#scheduler.wakeMs) {
      this.#recorder?.({ kind: "wake", nowMs });
      this.#scheduler.onWake(nowMs, this.#commands);
    }
    return this.#taken(nowMs);
  }

  /** No timer calls any more, until the next event. */
  stop(): void {
    this.#wakeTimer.clear();
  }

  #taken(nowMs: number): readonly AccordionCommand[] {
    this.#wakeTimer.set(this.#scheduler.wakeMs, nowMs);
    const commands = accordionCommandsOf(this.#commands);
    this.#commands.clear();
    if (this.#recorder !== undefined) commands.forEach(this.#recorder);
    return commands;
  }
}

const NONE: readonly AccordionCommand[] = [];

/** The commands of a buffer, in order. */
export function accordionCommandsOf(buffer: AccordionCommands): readonly AccordionCommand[] {
  if (buffer.count === 0) return NONE;
  return Array.from({ length: buffer.count }, (_, command) => commandOf(buffer, command));
}

function commandOf(buffer: AccordionCommands, command: number): AccordionCommand {
  const kind = buffer.kind(command);
  const query = buffer.query(command);
  if (kind === DROP) return { kind: "drop", query, reason: buffer.reason(command) };
  return {
    kind: kind === START ? "start" : "reshape",
    query,
    shape: buffer.shape(command),
    resumeAt: buffer.resumeAt(command),
    places: Array.from({ length: buffer.placeCount(command) }, (_, stage) =>
      buffer.place(command, stage),
    ),
  };
}
