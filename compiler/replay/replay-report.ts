/** Formats the result of a replay as text and as data. */
import type { LoadedBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { counted, explainedTable, wrapped } from "stratagem-runtime/internal/describe/text";
import type { Difference, ReplayPass } from "./replay-pass.ts";

/** Most differences in a text. */
const MAX_LINES = 20;

export function replayText(pass: ReplayPass, bundles: readonly LoadedBundle[]): string {
  const { counts, differences } = pass;
  const { same, different, open, differentEvents, skippedEvents } = counts;
  const differenceCount = different + differentEvents;
  return [
    `${counted(counts.requests, "request")}, ` +
      `${counted(same + different + open, "decision")} that started batches`,
    explainedTable([
      ["", "reproduced", "different", "not settled"],
      ["decisions", String(same), String(different), String(open)],
      ["events", String(counts.events), String(differentEvents), String(skippedEvents)],
    ]),
    ...differences.slice(0, MAX_LINES).flatMap(differenceLines),
    ...(differenceCount > MAX_LINES ? [`and ${differenceCount - MAX_LINES} more`] : []),
    ...[...pass.reasons].map(([reason, count]) => wrapped(`not settled, ${count}: ${reason}`)),
    ...sourceLines(pass, bundles),
  ].join("\n");
}

function differenceLines({ application, id, time, atMs, logged, replayed }: Difference): string[] {
  const what = id === null ? `an event at ${atMs} ms of the server's clock` : `request ${id}`;
  const when = time === null ? "" : ` at ${time}`;
  return [`${application}: ${what}${when}`, `  log:    ${logged}`, `  bundle: ${replayed}`];
}

function sourceLines(
  { counts, requestsByRevision }: ReplayPass,
  bundles: readonly LoadedBundle[],
): string[] {
  const others = [...requestsByRevision].filter(([revision]) => {
    return !bundles.some(({ sha256 }) => sha256 === revision);
  });
  return [
    ...others.map(([revision, requests]) =>
      wrapped(
        `${counted(requests, "request")} were decided by a bundle with digest ` +
          `${revision.slice(0, 12)}…, which was not provided`,
      ),
    ),
    ...(counts.lostLines === 0
      ? []
      : [`${counted(counts.lostLines, "line")} were lost during logging`]),
    ...(counts.unreadable === 0
      ? []
      : [`${counted(counts.unreadable, "line")} could not be read as decision log entries`]),
  ];
}

export function replayJson(
  { counts, differences, reasons, requestsByRevision }: ReplayPass,
  files: readonly string[],
  bundles: readonly LoadedBundle[],
): object {
  const { requests, same, different, open, events, commands } = counts;
  const { skippedEvents, differentEvents, lostLines, unreadable } = counts;
  return {
    files,
    bundles: bundles.map(({ path, sha256, bundle }) => {
      return { path, sha256, application: bundle.application };
    }),
    requests,
    decisions: { reproduced: same, different, notSettled: open },
    events: { recorded: events, commands, different: differentEvents, skipped: skippedEvents },
    differences,
    reasons: Object.fromEntries(reasons),
    requestsByRevision: Object.fromEntries(requestsByRevision),
    ...{ lostLines, unreadable },
  };
}
