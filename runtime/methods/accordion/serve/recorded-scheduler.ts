import { WakeTimer } from "../../../server/wake-timer.ts";
import { DROP, PlaceCommands, START } from "../core/commands.ts";
import type { PlaceQuery } from "../core/query-runs.ts";
import type { PlaceScheduler } from "../core/scheduler.ts";
import type { PlaceCommand, PlaceRecorder } from "./recording.ts";

export interface RecordedPlacesOptions {
  /** Nothing has been told to it. */
  readonly scheduler: PlaceScheduler;
  readonly recorder: PlaceRecorder | undefined;
  /** Called when the scheduler wants to be asked again. */
  readonly onWake: () => void;
}

/** A scheduler of places whose events and commands are recorded. Commands are copied out: what is done about one may bring the next event. */
export class RecordedPlaces {
  readonly #scheduler: PlaceScheduler;
  readonly #recorder: PlaceRecorder | undefined;
  readonly #commands = new PlaceCommands();
  readonly #wakeTimer: WakeTimer;

  constructor({ scheduler, recorder, onWake }: RecordedPlacesOptions) {
    this.#scheduler = scheduler;
    this.#recorder = recorder;
    this.#wakeTimer = new WakeTimer(onWake);
  }

  onQuery(query: number, ask: PlaceQuery, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "query", query, ...ask, nowMs });
    this.#scheduler.onQuery(query, ask, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onInstanceDone(query: number, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "instance-done", query, nowMs });
    this.#scheduler.onInstanceDone(query, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onCancel(query: number, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "cancel", query, nowMs });
    this.#scheduler.onCancel(query, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceReady(place: number, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "ready", place, nowMs });
    this.#scheduler.onPlaceReady(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceLost(place: number, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "lost", place, nowMs });
    this.#scheduler.onPlaceLost(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  onPlaceReplaced(place: number, nowMs: number): readonly PlaceCommand[] {
    this.#recorder?.({ kind: "replaced", place, nowMs });
    this.#scheduler.onPlaceReplaced(place, nowMs, this.#commands);
    return this.#taken(nowMs);
  }

  /** The timer has called; timers and clocks do not agree to the microsecond. */
  onTimer(nowMs: number): readonly PlaceCommand[] {
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

  #taken(nowMs: number): readonly PlaceCommand[] {
    this.#wakeTimer.set(this.#scheduler.wakeMs, nowMs);
    const commands = placeCommandsOf(this.#commands);
    this.#commands.clear();
    if (this.#recorder !== undefined) commands.forEach(this.#recorder);
    return commands;
  }
}

const NONE: readonly PlaceCommand[] = [];

/** The commands of a buffer, in order. */
export function placeCommandsOf(buffer: PlaceCommands): readonly PlaceCommand[] {
  if (buffer.count === 0) return NONE;
  return Array.from({ length: buffer.count }, (_, command) => commandOf(buffer, command));
}

function commandOf(buffer: PlaceCommands, command: number): PlaceCommand {
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
