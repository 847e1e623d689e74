/** What holds of every method's core when it looks on while another is driven by a server. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { onlookerOf } from "../../runtime/server/shadow-policy/onlooker-of.ts";
import type { OutcomeObserver } from "../../runtime/server/shadow-policy/query-outcomes.ts";
import { casesOf } from "../support/cases.ts";
import { AFTER_ALL_MS, partsOf, reportOf } from "../support/looked-on.ts";
import { BY_METHOD } from "./subjects.ts";

/** With these a query comes to be. */
const OPENING = ["arrival", "joint-arrival", "query"];

const GONE = fc.subarray([0, 1, 2, 3], { maxLength: 2 });

describe.each(BY_METHOD)("a core of %s that looks on", (_, { scheduled }) => {
  const { stories, runs } = scheduled;

  test("settles every query once, whatever happens where it is served", async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(stories, GONE, async (story, gone) => {
        const { bundle, log } = await story.play(gone);
        const outcomes = new Map<number, number>();
        const settle = (query: number) => {
          outcomes.set(query, (outcomes.get(query) ?? 0) + 1);
        };
        const observer: OutcomeObserver = {
          onBatch: (_variant, _level, rows) => expect(rows).toBeGreaterThan(0),
          onAnswered: (query) => {
            answered++;
            settle(query);
          },
          onDropped: settle,
          onCancelled: settle,
          onRefused: () => {},
        };
        const onlooker = onlookerOf(bundle, bundle, partsOf(bundle), observer);
        onlooker.open(0);
        let opened = 0;
        for (const entry of log) {
          if (OPENING.includes(entry.kind)) opened++;
          onlooker.take(entry, opened);
        }
        onlooker.passTo(AFTER_ALL_MS);
        const expected = Array.from({ length: opened }, (_query, at) => [at + 1, 1]);
        expect([...outcomes].sort(([one], [other]) => one - other)).toEqual(expected);
      }),
      { numRuns: casesOf(runs, 20) },
    );
    // Else this would say little.
    expect(answered).toBeGreaterThan(0);
  });

  test("is reported beside what served, with nothing gone wrong", async () => {
    const [story] = fc.sample(stories, { numRuns: 1, seed: 5 });
    const played = await story?.play([]);
    if (played === undefined) throw new Error("there is a story");
    const { fault, served, compared } = reportOf(played.bundle, played.bundle, played.log);
    expect(fault).toBeNull();
    expect(compared.queries).toBeLessThanOrEqual(served.queries);
  });
});
