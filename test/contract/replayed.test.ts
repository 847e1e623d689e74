/** What a decision log has of the core of every method, told again from its lines alone. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsedLine } from "../../compiler/replay/parsed-line.ts";
import { type DifferentCommands, ReplayedCore } from "../../compiler/replay/replayed-core.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { EventNotes } from "../../runtime/features/decision-log/event-notes.ts";
import type { LoggedEntry } from "../../runtime/features/decision-log/log-lines.ts";
import { isCommand, type RecordedEntry } from "../../runtime/server/requests/recorded-entry.ts";
import { casesOf } from "../support/cases.ts";
import { BY_METHOD } from "./subjects.ts";

/** The entries of a log after they were lines, and the bundles that they name. */
function logged(log: readonly RecordedEntry[]) {
  const bundles: Bundle[] = [];
  const notes = new EventNotes("application", 0, () => ({
    revision: String(bundles.length - 1),
    levelCount: bundles.at(-1)?.levels.length ?? 0,
  }));
  for (const entry of log) {
    // A log asks which bundle it is once that decides.
    notes.onEntry(entry);
    if (entry.bundle !== undefined) bundles.push(entry.bundle);
  }
  const entries = notes.take().flatMap((text) => {
    const line = parsedLine(text);
    if (line?.kind !== "events") throw new Error(`no line of events: ${text}`);
    return line.entries;
  });
  return { entries, bundles };
}

describe.each(BY_METHOD)("a decision log of %s", (_, { scheduled: { stories, runs } }) => {
  test("has what reproduces every command, and a changed one is found", async () => {
    let commands = 0;
    await fc.assert(
      fc.asyncProperty(stories, fc.nat(), async (story, pick) => {
        const played = await story.play([]);
        for (const { outcome } of played.requests) await outcome;
        const { entries, bundles } = logged(played.log);
        const replay = (own: readonly LoggedEntry[]) => {
          const different: DifferentCommands[] = [];
          let same = 0;
          const core = new ReplayedCore(played.replayer(), (digest) => bundles[Number(digest)], {
            onSame: (count) => {
              same += count;
            },
            onDifferent: (found) => void different.push(found),
            onImpossible: (_, reason) => expect.fail(reason),
            onStart: () => {},
          });
          for (const entry of own) core.take(entry);
          core.end();
          return { different, same, stopped: core.stopped };
        };
        const said = entries.filter(isCommand);
        expect(replay(entries)).toEqual({ different: [], same: said.length, stopped: undefined });
        commands += said.length;
        const changed = said[pick % Math.max(1, said.length)];
        if (changed === undefined) return;
        const index = entries.indexOf(changed);
        const other = entries.with(index, { ...changed, level: 7, query: 1234 });
        expect(replay(other).different).toHaveLength(1);
      }),
      { numRuns: casesOf(runs, 40) },
    );
    expect(commands).toBeGreaterThan(0);
  });
});
