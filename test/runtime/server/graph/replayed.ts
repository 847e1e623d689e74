import { CommandBuffer } from "../../../../runtime/core/command-buffer.ts";
import type {
  PipelineCommand,
  PipelineEvent,
} from "../../../../runtime/server/graph/pipeline-recording.ts";
import {
  commandsOf,
  type ServedDispatcher,
} from "../../../../runtime/server/graph/recorded-dispatcher.ts";

export type Entry = PipelineEvent | PipelineCommand;

const COMMANDS: readonly Entry["kind"][] = ["start-batch", "drop", "assign", "resize", "release"];

/** The commands that a fresh dispatcher gives for the events of a log, in place. */
export function replayed(
  dispatcher: ServedDispatcher,
  queryCapacity: number,
  log: readonly Entry[],
): Entry[] {
  const commands = new CommandBuffer(dispatcher.commandCapacity, queryCapacity);
  const entries: Entry[] = [];
  for (const entry of log) {
    if (COMMANDS.includes(entry.kind)) continue;
    entries.push(entry);
    if (entry.kind === "request") dispatcher.onRequest(entry.nowMs);
    else if (entry.kind === "query") {
      const { query, task, parent, deadlineMs, nowMs } = entry;
      dispatcher.onQuery(query, task, parent, deadlineMs, nowMs, commands);
    } else if (entry.kind === "done") dispatcher.onBatchDone(entry.worker, entry.nowMs, commands);
    else if (entry.kind === "ready") dispatcher.onWorkerReady(entry.worker, entry.nowMs, commands);
    else if (entry.kind === "model-ready")
      dispatcher.onModelReady(entry.worker, entry.nowMs, commands);
    else if (entry.kind === "resized") dispatcher.onResized?.(entry.worker, entry.nowMs, commands);
    else if (entry.kind === "forecast") dispatcher.onForecast?.(entry.qps);
    else if (entry.kind === "lost") dispatcher.onWorkerLost(entry.worker, entry.nowMs, commands);
    else if (entry.kind === "retry")
      dispatcher.onRetry(entry.query, entry.task, entry.nowMs, commands);
    else if (entry.kind === "fanout")
      dispatcher.onFanout(entry.query, entry.childTask, entry.count);
    else if (entry.kind === "wake") dispatcher.onWake(entry.nowMs, commands);
    else if (entry.kind === "cancel") dispatcher.onCancel(entry.query);
    entries.push(...commandsOf(commands));
    commands.clear();
  }
  return entries;
}
