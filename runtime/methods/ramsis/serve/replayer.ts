/** A dispatcher of tables driven by recorded events alone. */
import { isOfSameMethod } from "../../../bundle/same-method.ts";
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { CommandBuffer } from "../../../core/command-buffer.ts";
import {
  given,
  noEvent,
  type RecordedEntry,
  type Replayer,
  shareIn,
} from "../../../server/requests/recorded-entry.ts";
import type { Dispatcher } from "../core/dispatcher.ts";
import { dispatcherOf } from "../core/dispatcher-of.ts";
import {
  type RecordedCommand,
  type RecordedEvent,
  recordedCommand,
} from "./recorded-dispatcher.ts";

type Tell = (dispatcher: Dispatcher, event: RecordedEntry, out: CommandBuffer) => void;

const TELL: Readonly<Record<Exclude<RecordedEvent["kind"], "policy">, Tell>> = {
  arrival: (dispatcher, event, out) => {
    const deadlineMs = given(event, "deadlineMs");
    const nowMs = given(event, "nowMs");
    dispatcher.onArrival(given(event, "query"), deadlineMs, nowMs, out, event.sloClass);
  },
  "joint-arrival": (dispatcher, event, out) =>
    dispatcher.onJointArrival(
      given(event, "query"),
      given(event, "deadlineMs"),
      given(event, "wanted"),
      given(event, "nowMs"),
      out,
      event.sloClass,
    ),
  "joint-end": (dispatcher, event, out) => dispatcher.onJointEnd(given(event, "nowMs"), out),
  refused: (dispatcher, event) =>
    dispatcher.onRefused(countOf(event), given(event, "nowMs"), event.sloClass),
  done: (dispatcher, event, out) =>
    dispatcher.onBatchDone(given(event, "worker"), given(event, "nowMs"), out, event.ranMs),
  ready: (dispatcher, event, out) =>
    dispatcher.onWorkerReady(given(event, "worker"), given(event, "nowMs"), out),
  lost: (dispatcher, event, out) =>
    dispatcher.onWorkerLost(given(event, "worker"), given(event, "nowMs"), out),
  retry: (dispatcher, event, out) =>
    dispatcher.onRetry(
      given(event, "query"),
      given(event, "deadlineMs"),
      given(event, "wanted"),
      given(event, "nowMs"),
      out,
      event.sloClass,
    ),
  wake: (dispatcher, event, out) => dispatcher.onWake(given(event, "nowMs"), out),
  cancel: (dispatcher, event) => void dispatcher.onCancel(given(event, "query")),
  share: (dispatcher, event) => dispatcher.onShare(shareIn(event)),
};

function isKnown(kind: string): kind is keyof typeof TELL {
  return Object.hasOwn(TELL, kind);
}

export class RamsisReplayer implements Replayer {
  readonly #bundle: RamsisBundle;
  readonly #dispatcher: Dispatcher;
  readonly #commands: CommandBuffer;

  /** @param bundle that decides until an event names another. */
  constructor(bundle: RamsisBundle) {
    this.#bundle = bundle;
    this.#dispatcher = dispatcherOf(bundle, { ready: false });
    const { commandCapacity, waitingCapacity } = this.#dispatcher;
    this.#commands = new CommandBuffer(commandCapacity, waitingCapacity);
  }

  tell(event: RecordedEntry): readonly RecordedCommand[] {
    if (event.kind === "policy") this.#replaceBundle(event);
    else if (isKnown(event.kind)) TELL[event.kind](this.#dispatcher, event, this.#commands);
    else noEvent(event, [...Object.keys(TELL), "policy"]);
    const buffer = this.#commands;
    const commands = Array.from({ length: buffer.count }, (_, at) => recordedCommand(buffer, at));
    buffer.clear();
    return commands;
  }

  #replaceBundle({ bundle }: RecordedEntry): void {
    if (bundle === undefined || !isOfSameMethod(this.#bundle, bundle)) {
      throw new RangeError('an event "policy" has a bundle of the method');
    }
    this.#dispatcher.replaceBundle(bundle);
  }
}

function countOf({ queries }: RecordedEntry): number {
  if (typeof queries === "number") return queries;
  throw new RangeError('an event "refused" says how many queries were');
}
