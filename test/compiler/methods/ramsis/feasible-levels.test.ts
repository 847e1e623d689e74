/** What is feasible with a serving path, on random problems with a tight SLO. */
import { expect, test } from "vitest";
import { broken } from "../../../support/feasible-levels.ts";
import { randomServed } from "../../../support/random-served.ts";

/** Queries are answered within four SLOs, but for what a batch and the serving path overrun. */
const LONGEST_SLOS = 4.5;

test("no level is infeasible that a baseline keeps, or worse for a load that is added", async () => {
  const { kept, worse, longest } = await broken(randomServed(5));
  expect({ kept, worse }).toEqual({ kept: [], worse: [] });
  expect(longest).toBeLessThan(LONGEST_SLOS);
});
