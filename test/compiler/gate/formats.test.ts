/** A comparison as people read it: a table, or Markdown. */
import { expect, test } from "vitest";
import { compare } from "../../../compiler/gate/compare.ts";
import type { GateOutcome } from "../../../compiler/gate/gate-outcome.ts";
import { gateMarkdown, gateText } from "../../../compiler/gate/gate-table.ts";
import { judge } from "../../../compiler/gate/judge.ts";
import { allowed, parsed } from "./parsed.ts";
import { FIGURES, level, promised } from "./promised.ts";

function outcome(application = "letters"): GateOutcome {
  const fast = (violations: number) => ({ classes: [{ name: "fast", figures: { violations } }] });
  const before = promised([level(100, fast(0.001)), level(200)], { application });
  const after = promised(
    [
      level(100, { ...fast(0.003), figures: { ...FIGURES, accuracy: 0.965 } }),
      level(200, { feasible: false, figures: { ...FIGURES, accuracy: 0.99 } }),
      level(300),
    ],
    { application, byteCount: 1200 },
  );
  return {
    before,
    after,
    oldPath: "old.msgpack",
    newPath: "policies/letters/bundle.msgpack",
    rows: compare(before, after, allowed("accuracy 1%")),
    requirements: judge(parsed("feasible; bytes <= 1MiB"), after),
  };
}

test("the table has a line for each load and class, and a line for each regression", () => {
  expect(gateText(outcome())).toBe(
    [
      "old.msgpack (ramsis, 2 levels) → policies/letters/bundle.msgpack (ramsis, 3 levels)",
      "bytes: 1000 bytes → 1200 bytes",
      "",
      "load/s  of    feasible           violations           accuracy  accuracyPerQuery  cost  " +
        "verdict",
      "   100        yes                    0.200%  97.000% → 96.500%           96.800%   2/h  " +
        "allowed",
      "   100  fast              0.100% → 0.300% !                                             " +
        "WORSE",
      "   200        yes → no !             0.200%  97.000% → 99.000%           96.800%   2/h  " +
        "WORSE",
      "   300        none → yes                                                                " +
        "new",
      "violations: late or dropped; accuracyPerQuery: 0 if late or lost; " +
        "verdict: ! marks broken or worse",
      "figures, + better ones",
      "",
      "REGRESSION violations of class fast at 100 qps: 0.100% → 0.300%",
      "REGRESSION feasible at 200 qps: yes → no",
      "BROKEN feasible: not feasible at level 200 qps",
      "letters: 2 regressions, 1 broken requirement in 14 comparisons",
    ].join("\n"),
  );
});

test("Markdown has a headline, what is worse, and the table; names are no markup", () => {
  const lines = gateMarkdown(outcome()).split("\n");
  expect(lines[0]).toBe("### letters: 2 regressions, 1 broken requirement in 14 comparisons");
  expect(lines).toContain("- **violations of class fast at 100 qps**: 0.100% → 0.300%");
  expect(lines).toContain("- **feasible** is broken: not feasible at level 200 qps");
  expect(lines).toContain(
    "| 200 |  | **yes → no** | 0.200% | 97.000% → 99.000% | 96.800% | 2/h | WORSE |",
  );
  const widths = lines.filter((line) => line.startsWith("|")).map((line) => line.split("|").length);
  expect(new Set(widths).size).toBe(1);
  expect(gateMarkdown(outcome("a|b<i>_c_"))).toContain("### a\\|b\\<i\\>\\_c\\_: 2 regressions");
});

test("a gate that is passed says so everywhere", () => {
  const { before } = outcome();
  const same = { before, after: before, oldPath: "a", newPath: "/b", requirements: [] };
  const passed = { ...same, rows: compare(before, before, []) };
  expect(gateText(passed).split("\n").at(-1)).toBe("letters: no regression in 15 comparisons");
  expect(gateMarkdown(passed)).toMatch(/^### letters: no regression in 15 comparisons\n/);
});
