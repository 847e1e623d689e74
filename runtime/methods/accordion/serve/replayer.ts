/** A scheduler of places driven by recorded events alone. */
import {
  given,
  noEvent,
  type RecordedEntry,
  type Replayer,
} from "../../../server/requests/recorded-entry.ts";
import { AccordionCommands } from "../core/commands.ts";
import type { AccordionScheduler } from "../core/scheduler.ts";
import { accordionCommandsOf } from "./recorded-scheduler.ts";
import type { AccordionCommand, AccordionEvent } from "./recording.ts";

type Tell = (scheduler: AccordionScheduler, event: RecordedEntry, out: AccordionCommands) => void;

const TELL: Readonly<Record<AccordionEvent["kind"], Tell>> = {
  query: (scheduler, event, out) => {
    const asked = {
      model: given(event, "model"),
      batch: given(event, "batch"),
      isHigh: event.isHigh === true,
      deadlineMs: given(event, "deadlineMs"),
    };
    scheduler.onQuery(given(event, "query"), asked, given(event, "nowMs"), out);
  },
  "instance-done": (scheduler, event, out) =>
    scheduler.onInstanceDone(given(event, "query"), given(event, "nowMs"), out),
  cancel: (scheduler, event, out) =>
    scheduler.onCancel(given(event, "query"), given(event, "nowMs"), out),
  ready: (scheduler, event, out) =>
    scheduler.onPlaceReady(given(event, "place"), given(event, "nowMs"), out),
  lost: (scheduler, event, out) =>
    scheduler.onPlaceLost(given(event, "place"), given(event, "nowMs"), out),
  replaced: (scheduler, event, out) =>
    scheduler.onPlaceReplaced(given(event, "place"), given(event, "nowMs"), out),
  wake: (scheduler, event, out) => scheduler.onWake(given(event, "nowMs"), out),
};

function isKnown(kind: string): kind is AccordionEvent["kind"] {
  return Object.hasOwn(TELL, kind);
}

export class AccordionReplayer implements Replayer {
  readonly #scheduler: AccordionScheduler;
  readonly #commands = new AccordionCommands();

  /** @param scheduler without any events yet. */
  constructor(scheduler: AccordionScheduler) {
    this.#scheduler = scheduler;
  }

  tell(event: RecordedEntry): readonly AccordionCommand[] {
    if (!isKnown(event.kind)) noEvent(event, Object.keys(TELL));
    TELL[event.kind](this.#scheduler, event, this.#commands);
    const commands = accordionCommandsOf(this.#commands);
    this.#commands.clear();
    return commands;
  }
}
