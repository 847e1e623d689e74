/** The exact solver beside the exhaustive optima, and Themis's own answers beside the joint one. */
import { ExactScaler } from "stratagem/internal/methods/themis/solve/exact";
import { isPlan } from "stratagem/internal/methods/themis/solve/problem";
import type { ScalingMode } from "stratagem/internal/methods/themis/solve/task-options";
import {
  fittedChain,
  type ReferenceAnswer,
  type ReferenceCase,
} from "../../../test/support/themis-reference.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { present } from "../harness/numbers.ts";
import { readReference } from "../harness/reference.ts";

type Case = ReferenceCase & {
  readonly nLabel: string | null;
  readonly themisFeasible: boolean;
  readonly themisCost: number;
};
type Answer = ReturnType<ExactScaler["solve"]>;
type Solved = readonly [answer: Answer, expected: ReferenceAnswer | null];
type ModeName = "horizontal" | "vertical" | "joint";

export const optima: Experiment = {
  name: "optima",
  about: "all cases of the reference, each by its own mode and jointly",
  takes: "a second",
  run: compareAll,
};

function compareAll({ page }: Run): void {
  const { cases } = readReference<{ cases: readonly Case[] }>("themis/exact.json");
  const numbers = ["cases", "feasible", "other cores", "largest difference, ms"];
  const groups = groupsOf(cases).map(([key, solved]) => [key, countsOf(solved)] as const);
  const rows = groups.map(([key, counts]) => [...key.split(" | "), ...cellsOf(counts)]);
  const all = groups.map(([, counts]) => counts).reduce(together);
  page.table(
    ["pipeline", "limits", "mode", ...numbers],
    [...rows, ["all", "", "", ...cellsOf(all)]],
  );
  page.say();
  const labels = [...new Set(cases.map(labelOf)), "all"];
  const own = ["as a plan of its mode", "of these dearer", "worst"];
  page.table(
    ["Themis's mode", "cases", ...own, "dearer than joint", "worst"],
    labels.map((label) => {
      return themisRow(
        label,
        cases.filter((one) => label === "all" || labelOf(one) === label),
      );
    }),
  );
}

/** Pairs of answer and optimum by pipeline, limits and mode. */
function groupsOf(cases: readonly Case[]): (readonly [key: string, solved: readonly Solved[]])[] {
  const found = new Map<string, Solved[]>();
  for (const one of cases) {
    for (const mode of [one.mode, "joint"] as const) {
      const key = `${one.pipeline} | ${one.cfg} | ${mode}`;
      const expected = mode === "joint" ? one.exact_joint_real : one.exact_real;
      found.set(key, [...(found.get(key) ?? []), [solvedBy(mode, one), expected]]);
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** A horizontal case allows one core; a joint answer has as many cores as batches. */
function solvedBy(mode: ModeName, { pipeline, lam, sloMs, bMax, cMax, n0 }: Case): Answer {
  const chain = fittedChain(pipeline, bMax, mode === "joint" ? bMax : cMax, sloMs);
  const how: ScalingMode =
    mode === "vertical" ? { kind: mode, instances: n0 ?? [] } : { kind: mode };
  return new ExactScaler(chain).solve(lam, how);
}

interface Counts {
  readonly cases: number;
  readonly feasible: number;
  readonly differing: number;
  readonly latencyMs: number;
}

function countsOf(solved: readonly Solved[]): Counts {
  return solved
    .map(([answer, expected]) => {
      const plan = isPlan(answer) ? answer : null;
      const isOther = (plan?.cores ?? null) !== (expected?.cost ?? null);
      const difference =
        isOther || plan === null || expected === null
          ? 0
          : Math.abs(plan.latencyMs - expected.latencyMs);
      return {
        cases: 1,
        feasible: plan === null ? 0 : 1,
        differing: isOther ? 1 : 0,
        latencyMs: difference,
      };
    })
    .reduce(together);
}

function together(a: Counts, b: Counts): Counts {
  return {
    cases: a.cases + b.cases,
    feasible: a.feasible + b.feasible,
    differing: a.differing + b.differing,
    latencyMs: Math.max(a.latencyMs, b.latencyMs),
  };
}

function cellsOf({ cases, feasible, differing, latencyMs }: Counts): (string | number)[] {
  return [cases, feasible, differing, latencyMs.toExponential(1)];
}

function labelOf({ mode, nLabel }: Case): string {
  return nLabel === null ? mode : `${mode}, ${nLabel}`;
}

/**
 * Themis's cost, as the reference has it, beside our plan of the same mode, where there is one
 * without extra instances, and beside our joint plan.
 */
function themisRow(label: string, own: readonly Case[]): (string | number)[] {
  const sameMode = dearerThan(own, (one) => solvedBy(one.mode, one));
  const joint = dearerThan(own, (one) => solvedBy("joint", one));
  const { both, dearer, worst } = sameMode;
  return [label, own.length, both, dearer, worst, joint.dearer, joint.worst];
}

function dearerThan(own: readonly Case[], planOf: (one: Case) => Answer) {
  const both = own.flatMap((one) => {
    const plan = planOf(one);
    return isPlan(plan) && one.themisFeasible ? [{ ...one, cores: plan.cores }] : [];
  });
  const factors = both.map(({ themisCost, cores }) => themisCost / cores);
  if (factors.some((factor) => factor < 1)) throw new Error("nothing is cheaper than the optimum");
  const worst = Math.max(...factors);
  const { pipeline, lam, themisCost, cores } = present(both[factors.indexOf(worst)]);
  return {
    both: both.length,
    dearer: factors.filter((factor) => factor > 1).length,
    worst: `${worst.toFixed(2)} (${pipeline}, ${lam}/s: ${themisCost} for ${cores})`,
  };
}
