import type {
  PipelineCommand,
  PipelineEvent,
} from "../../../../runtime/server/graph/pipeline-recording.ts";
import { PipelineReplayer } from "../../../../runtime/server/graph/pipeline-replayer.ts";
import type { ServedDispatcher } from "../../../../runtime/server/graph/recorded-dispatcher.ts";
import { replayedBy } from "../../../support/replayed-by.ts";

export type Entry = PipelineEvent | PipelineCommand;

/** The commands that a fresh dispatcher gives for the events of a log, in place. */
export function replayed(
  dispatcher: ServedDispatcher,
  queryCapacity: number,
  log: readonly Entry[],
) {
  return replayedBy(new PipelineReplayer(dispatcher, queryCapacity), log);
}
