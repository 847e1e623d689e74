/** What is feasible with a serving path, on random problems with a tight SLO. */
import { expect, test } from "vitest";
import { broken } from "../../../support/feasible-levels.ts";
import { randomServed } from "../../../support/random-served.ts";

/** Queries are answered within four SLOs, but for what a batch and the serving path overrun. */
const LONGEST_SLOS = 4.5;

test("no level is infeasible that a baseline keeps, or worse for a load that is added", {
  timeout: 180_000,
}, async () => {
  const problem = randomServed(5);
  const { kept, worse, longest } = await broken({ ...problem, loads: problem.loads.slice(0, 2) });
  expect({ kept, worse }).toEqual({ kept: [], worse: [] });
  expect(longest).toBeLessThan(LONGEST_SLOS);
});
