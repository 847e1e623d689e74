import { describe, expect, it } from "vitest";
import { ExactScaler } from "../../../../../compiler/methods/themis/solve/exact.ts";
import { isPlan } from "../../../../../compiler/methods/themis/solve/problem.ts";
import type { ScalingMode } from "../../../../../compiler/methods/themis/solve/task-options.ts";
import {
  fittedChain,
  REFERENCE,
  type ReferenceAnswer,
  type ReferenceCase,
  readThemis,
} from "../../../../support/themis-reference.ts";

const { cases } =
  REFERENCE === undefined
    ? { cases: [] }
    : readThemis<{ cases: readonly ReferenceCase[] }>("exact.json");

describe.skipIf(REFERENCE === undefined)(
  "beside the exhaustive optima (skipped without STRATAGEM_REFERENCE)",
  () => {
    it("has all of them", () => expect(cases).toHaveLength(224));

    for (const pipeline of ["video", "sentiment"]) {
      const own = cases.filter((one) => one.pipeline === pipeline);

      it(`finds each mode's cores and latency, or no plan: ${pipeline}`, () => {
        for (const one of own) {
          const mode: ScalingMode =
            one.n0 === null ? { kind: "horizontal" } : { kind: "vertical", instances: one.n0 };
          expectAnswer(one, mode, one.exact_real);
        }
      });

      it(`finds them with all free: ${pipeline}`, () => {
        // A horizontal case names one core at most; its joint answer is that of the vertical cases
        // beside it.
        for (const one of own.filter(({ cMax }) => cMax > 1)) {
          expectAnswer(one, { kind: "joint" }, one.exact_joint_real);
        }
        for (const one of own.filter(({ cMax }) => cMax === 1)) {
          expectAnswer({ ...one, cMax: one.bMax }, { kind: "joint" }, one.exact_joint_real);
        }
      });
    }
  },
);

function expectAnswer(one: ReferenceCase, mode: ScalingMode, expected: ReferenceAnswer | null) {
  const name = `${one.pipeline} ${one.cfg} ${one.mode} ${one.lam}/s ${one.n0 ?? ""}`;
  const answer = new ExactScaler(fittedChain(one.pipeline, one.bMax, one.cMax, one.sloMs)).solve(
    one.lam,
    mode,
  );
  expect(isPlan(answer), name).toBe(expected !== null);
  if (!isPlan(answer) || expected === null) return;
  expect(answer.cores, name).toBe(expected.cost);
  expect(Math.abs(answer.latencyMs - expected.latencyMs), name).toBeLessThanOrEqual(1e-6);
}
