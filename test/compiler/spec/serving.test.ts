/** Slow spells, as profiles state them. */
import { describe, expect, test } from "vitest";
import type { ServingSpec } from "../../../compiler/spec/schema/profile-schema.ts";
import { servingMistakes, servingOf } from "../../../compiler/spec/serving.ts";

type Slow = NonNullable<ServingSpec["slow"]>;

const BARE: ServingSpec = { processors: 2, requestBytes: 0, perMiBMs: 0 };
const SLOW: Slow = { share: 0.2, factor: 1.5, spellMs: 200 };

const slowOf = (slow: Slow) => servingOf({ ...BARE, slow }).slow;
const mistakesOf = (slow: Slow) =>
  [...servingMistakes({ ...BARE, slow })].map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );

describe("slow spells of a profile", () => {
  test("assume by default that the profile's times are those of continuous work", () => {
    const slow = slowOf(SLOW);
    expect(slow).toEqual({ ...SLOW, fast: 0.8 + 0.2 / 1.5 });
    // Of the time, a fifth is slow, and two thirds as much gets done in it.
    const { fast = 0 } = slow ?? {};
    expect(0.8 / fast + 0.2 / (1.5 * fast)).toBeCloseTo(1, 12);
    expect(slowOf({ ...SLOW, fast: 1.1 })?.fast).toBe(1.1);
  });

  test("are left out without share, slowdown or noticeable length", () => {
    expect(servingOf(BARE).slow).toBeUndefined();
    for (const none of [{ share: 0 }, { factor: 1, fast: 1 }, { spellMs: 0.5 }]) {
      expect(slowOf({ ...SLOW, ...none })).toBeUndefined();
    }
  });

  test("are refused where they are all of the time, or quicker than the rest", () => {
    expect(mistakesOf(SLOW)).toEqual([]);
    expect(mistakesOf({ ...SLOW, share: 1 })).toEqual([
      expect.stringMatching(/^serving\.slow\.share: expected a share below 1/),
    ]);
    expect(mistakesOf({ ...SLOW, factor: 0.5 })).toEqual([
      "serving.slow.factor: expected at least 1, got 0.5",
    ]);
    expect(mistakesOf({ ...SLOW, fast: 0 })).toEqual([
      "serving.slow.fast: expected at least 0.001, got 0",
    ]);
  });
});
