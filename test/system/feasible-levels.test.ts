/** What is feasible with a serving path, on many random problems with a tight SLO. */
import { expect, test } from "vitest";
import { InputError } from "../../compiler/spec/input-error.ts";
import { broken } from "../support/feasible-levels.ts";
import { randomServed } from "../support/random-served.ts";

const PROBLEMS = 60;
const FIRST_SEED = 101;

test("no level is infeasible that a baseline keeps, or worse for an added load", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + PROBLEMS; seed++) {
    const found = await broken(randomServed(seed)).catch((error: unknown) => {
      // The serving path alone may take the SLO.
      if (error instanceof InputError) return null;
      throw error;
    });
    if (found === null) continue;
    expect({ seed, kept: found.kept, worse: found.worse }).toEqual({ seed, kept: [], worse: [] });
    expect(found.longest).toBeLessThan(4.5);
  }
});
