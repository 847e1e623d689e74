/** What holds of the core of every method, whatever happens to it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { warmSizes } from "../../runtime/exec/onnx/warm-sizes.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import { casesOf } from "../support/cases.ts";
import { BY_METHOD } from "./subjects.ts";

/** More than any of the small clusters has; those that a cluster has not are not meant. */
const MOST_WORKERS = 12;
/** Workers that never come back: some, one of the first, or all of them. */
const GONE = fc.oneof(
  fc.nat(3).map((worker) => [worker]),
  fc.subarray(Array.from({ length: MOST_WORKERS }, (_, worker) => worker)),
  fc.constant(Array.from({ length: MOST_WORKERS }, (_, worker) => worker)),
);

describe.each(BY_METHOD)("the core of %s, whatever happens", (_, { core }) => {
  const { stories, runs, mustHappen } = core;

  test("ends every query once, and none waits when its workers are back", () => {
    const happened = new Map<string, number>();
    fc.assert(
      fc.property(stories, (story) => {
        const played = story.play();
        for (const [what, count] of played.happened) {
          happened.set(what, (happened.get(what) ?? 0) + count);
        }
        const { came, ended, waiting } = played.end([]);
        expect([ended, waiting]).toEqual([came, 0]);
      }),
      { numRuns: casesOf(runs, 3) },
    );
    // Else this would say little.
    for (const what of mustHappen)
      expect([what, (happened.get(what) ?? 0) > casesOf(20, 3)]).toEqual([what, true]);
  });

  test("has nothing wait for ever, even if workers are lost for good", () => {
    fc.assert(
      fc.property(stories, GONE, (story, gone) => {
        const { came, ended, waiting } = story.play().end(gone);
        expect([ended, waiting]).toEqual([came, 0]);
      }),
      { numRuns: casesOf(runs, 3) },
    );
  });

  test("starts no batch that its worker has not run before it was ready", () => {
    fc.assert(
      fc.property(stories, (story) => {
        const { bundle, log } = story.play();
        // Stages of malleable pipelines run one row at a time.
        if (bundle === undefined) return;
        const models = methodOf(bundle).models(bundle);
        for (const { model, batch } of startsOf(log)) {
          const variant = models.find(({ name }) => name === model) ?? models[Number(model)];
          const warmed = (provider: "cuda" | "webgpu") =>
            warmSizes(variant ?? { warmBatches: [] }, provider);
          expect(warmed("cuda")).toContain(batch);
          expect(Math.max(...warmed("webgpu"))).toBeGreaterThanOrEqual(batch);
        }
      }),
      { numRuns: casesOf(Math.ceil(runs / 4), 3) },
    );
  });

  test("says the same when the same happens again", () => {
    fc.assert(
      fc.property(stories, (story) => {
        expect(story.play().log).toEqual(story.play().log);
      }),
      { numRuns: 20 },
    );
  });
});

/** The batches that a log tells of. */
function startsOf(log: readonly string[]): { readonly model: string; readonly batch: number }[] {
  return log.flatMap((line) => {
    const [what, , model = "", queries = ""] = line.split(" ");
    return what === "start" ? [{ model, batch: queries.split(",").length }] : [];
  });
}
