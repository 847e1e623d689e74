/** What holds of every method's scheduler, which is between requests, the core and the workers. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { casesOf } from "../support/cases.ts";
import { replayedBy } from "../support/replayed-by.ts";
import { BY_METHOD } from "./subjects.ts";

const GONE = fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 2 });

describe.each(BY_METHOD)("the scheduler of %s, whatever happens", (_, { scheduled }) => {
  const { stories, runs, failures } = scheduled;

  test("settles every request once, with its own rows; and a replay says the same", async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const played = await story.play([]);
        for (const { outcome, checkOwn } of played.requests) {
          const settled = await outcome;
          if (settled.kind === "answered") checkOwn(settled);
          else seen.add(settled.reason);
        }
        expect(played.pendingCount()).toBe(0);
        expect(replayedBy(played.replayer(), played.log)).toEqual(played.log);
      }),
      { numRuns: casesOf(runs, 2) },
    );
    // Else this would say little.
    expect([...seen]).toEqual(expect.arrayContaining([...failures]));
  });

  test("has no request wait for workers that never come back", async () => {
    await fc.assert(
      fc.asyncProperty(stories, GONE, async (story, gone) => {
        const played = await story.play(gone);
        for (const { outcome } of played.requests) await outcome;
        expect(played.pendingCount()).toBe(0);
      }),
      { numRuns: casesOf(Math.ceil(runs / 2), 2) },
    );
  });

  test("settles what is open when it stops", async () => {
    const [story] = fc.sample(stories, 1);
    const played = await story?.play([]);
    expect(await played?.abort()).toMatchObject({ kind: "failed", reason: "closed" });
  });
});
