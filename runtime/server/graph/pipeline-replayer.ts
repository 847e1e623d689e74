/** A pipeline's dispatcher driven by recorded events alone. */
import { CommandBuffer } from "../../core/command-buffer.ts";
import {
  given,
  noEvent,
  type RecordedEntry,
  type Replayer,
  shareIn,
} from "../requests/recorded-entry.ts";
import type { PipelineCommand, PipelineEvent } from "./pipeline-recording.ts";
import { commandsOf, type ServedDispatcher } from "./recorded-dispatcher.ts";

type Tell = (dispatcher: ServedDispatcher, event: RecordedEntry, out: CommandBuffer) => void;

const TELL: Readonly<Record<PipelineEvent["kind"], Tell>> = {
  request: (dispatcher, event) => void dispatcher.onRequest(given(event, "nowMs")),
  query: (dispatcher, event, out) => {
    const query = given(event, "query");
    const parent = given(event, "parent");
    const deadlineMs = given(event, "deadlineMs");
    const task = given(event, "task");
    dispatcher.onQuery(query, task, parent, deadlineMs, given(event, "nowMs"), out);
  },
  done: (dispatcher, event, out) =>
    dispatcher.onBatchDone(given(event, "worker"), given(event, "nowMs"), out, event.ranMs),
  ready: (dispatcher, event, out) =>
    dispatcher.onWorkerReady(given(event, "worker"), given(event, "nowMs"), out),
  "model-ready": (dispatcher, event, out) =>
    dispatcher.onModelReady(given(event, "worker"), given(event, "nowMs"), out),
  resized: (dispatcher, event, out) =>
    dispatcher.onResized?.(given(event, "worker"), given(event, "nowMs"), out),
  lost: (dispatcher, event, out) =>
    dispatcher.onWorkerLost(given(event, "worker"), given(event, "nowMs"), out),
  retry: (dispatcher, event, out) => {
    const nowMs = given(event, "nowMs");
    dispatcher.onRetry(given(event, "query"), given(event, "task"), nowMs, out);
  },
  fanout: (dispatcher, event) =>
    dispatcher.onFanout(given(event, "query"), given(event, "childTask"), given(event, "count")),
  wake: (dispatcher, event, out) => dispatcher.onWake(given(event, "nowMs"), out),
  forecast: (dispatcher, event) => dispatcher.onForecast?.(given(event, "qps")),
  share: (dispatcher, event) => dispatcher.onShare(shareIn(event)),
  cancel: (dispatcher, event) => void dispatcher.onCancel(given(event, "query")),
};

function isKnown(kind: string): kind is PipelineEvent["kind"] {
  return Object.hasOwn(TELL, kind);
}

export class PipelineReplayer implements Replayer {
  readonly #dispatcher: ServedDispatcher;
  readonly #commands: CommandBuffer;

  /**
   * @param dispatcher a new dispatcher without any events.
   * @param queryCapacity maximum number of queries in the commands of one event.
   */
  constructor(dispatcher: ServedDispatcher, queryCapacity: number) {
    this.#dispatcher = dispatcher;
    this.#commands = new CommandBuffer(dispatcher.commandCapacity, queryCapacity);
  }

  tell(event: RecordedEntry): readonly PipelineCommand[] {
    if (!isKnown(event.kind)) noEvent(event, Object.keys(TELL));
    TELL[event.kind](this.#dispatcher, event, this.#commands);
    const commands = commandsOf(this.#commands);
    this.#commands.clear();
    return commands;
  }
}
