/** A log as a fresh core would have written it that is told the same events. */
import {
  isCommand,
  type RecordedEntry,
  type Replayer,
} from "../../runtime/server/requests/recorded-entry.ts";

/** The events of a log, each with what the replayer says to it. */
export function replayedBy(replayer: Replayer, log: readonly RecordedEntry[]): RecordedEntry[] {
  return log
    .filter((entry) => !isCommand(entry))
    .flatMap((event) => [event, ...replayer.tell(event)]);
}
