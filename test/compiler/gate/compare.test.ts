/** Two bundles beside each other: what is worse, what is allowed, and what is not judged. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Comparison, compare, type Verdict } from "../../../compiler/gate/compare.ts";
import { chanceText } from "../../../compiler/gate/comparison-text.ts";
import type { PromisedBundle, PromisedLevel } from "../../../compiler/gate/promised-bundle.ts";
import { readTolerances } from "../../../compiler/gate/tolerance.ts";
import { Unreadable } from "../../../compiler/spec/document/clause.ts";
import { casesOf } from "../../support/cases.ts";
import { allowed } from "./parsed.ts";
import { FIGURES, level, promised } from "./promised.ts";

const OLD = promised([level(100), level(200)]);

/** `figure@load` of the rows of a verdict. */
function of(verdict: Verdict, rows: readonly Comparison[]): string[] {
  return rows
    .filter((row) => row.verdict === verdict)
    .map(({ figure, loadQps, part }) => `${figure}${part?.name ?? ""}@${loadQps ?? "all"}`);
}

function regressions(
  after: PromisedBundle | readonly PromisedLevel[],
  allow = "",
  before = OLD,
): string[] {
  const bundle = "levels" in after ? after : promised(after);
  const tolerances = allow === "" ? [] : allowed(allow);
  return of("regression", compare(before, bundle, tolerances));
}

test("a bundle is no worse than itself", () => {
  const rows = compare(OLD, OLD, []);
  expect(new Set(rows.map(({ verdict }) => verdict))).toEqual(new Set(["same"]));
  expect(of("same", rows)).toEqual([
    ...["application@all", "bytes@all", "slo@all", "ceiling@all"],
    ...["feasible@100", "violations@100", "accuracy@100", "accuracyPerQuery@100", "cost@100"],
    ...["feasible@200", "violations@200", "accuracy@200", "accuracyPerQuery@200", "cost@200"],
  ]);
});

test.each([
  ["accuracy", 0.96, "accuracy@200"],
  ["accuracyPerQuery", 0.9, "accuracyPerQuery@200"],
  ["violations", 0.003, "violations@200"],
  ["cost", 2.1, "cost@200"],
] as const)("a worse %s at one level is a regression", (figure, value, place) => {
  const worse = level(200, { figures: { ...FIGURES, [figure]: value } });
  expect(regressions([level(100), worse])).toEqual([place]);
  const better = promised([level(100), worse]);
  expect(of("better", compare(better, OLD, []))).toEqual([place]);
});

test("rounding is no change", () => {
  const almost = level(200, { figures: { ...FIGURES, accuracy: 0.97 - 1e-15 } });
  expect(regressions([level(100), almost])).toEqual([]);
});

describe("sampling error", () => {
  type Sample = NonNullable<PromisedLevel["sample"]>;
  const sampled = (
    figures: PromisedLevel["figures"],
    sample: Sample = { queries: 72_133, bestAccuracy: 0.98 },
  ) => promised([level(100, { figures, sample })]);
  const row = (before: PromisedBundle, after: PromisedBundle, figure: string) => {
    const found = compare(before, after, []).find((one) => one.figure === figure);
    if (found === undefined) throw new RangeError(`no row of ${figure}`);
    return found;
  };
  const violations = (count: number, queries = 72_133) =>
    sampled({ violations: count / queries }, { queries });

  test.each([
    [30, 27, "same"],
    [27, 30, "same"],
    [0, 3, "same"],
    [30, 50, "same"],
    [30, 90, "regression"],
    [90, 30, "better"],
    [0, 30, "regression"],
  ])("%i and then %i violations of 72,133 are %s", (before, after, verdict) => {
    const found = row(violations(before), violations(after), "violations");
    expect(found.verdict).toBe(verdict);
    const [lower = 0, upper = 0] = found.interval ?? [];
    const change = (after - before) / 72_133;
    expect(lower).toBeLessThan(change);
    expect(upper).toBeGreaterThan(change);
    if (verdict === "same") {
      expect(chanceText(found)).toMatch(
        /^violations at 100 qps: .* → .*, within sampling error: 99 % interval of the change -.*% /,
      );
    }
  });

  test("the same rates of more queries are a regression", () => {
    const [before, after] = [violations(300, 721_330), violations(500, 721_330)];
    expect(row(before, after, "violations").verdict).toBe("regression");
  });

  test("bounds that are promised differ by counted violations only", () => {
    const of = (upper: number) => sampled({ violations: upper }, { queries: 1000, violations: 0 });
    expect(row(of(0.0001), of(0.0009), "violations").verdict).toBe("same");
  });

  test.each([
    ["accuracy", 0.975, 0.9749, "same"],
    ["accuracy", 0.975, 0.97, "regression"],
    ["accuracyPerQuery", 0.97, 0.9699, "same"],
    ["accuracyPerQuery", 0.97, 0.96, "regression"],
    ["p99", 40, 40.3, "same"],
    ["p99", 40, 44, "regression"],
  ] as const)("%s of %f and then %f is %s", (figure, before, after, verdict) => {
    const of = (value: number) => sampled({ p50: 10, [figure]: value });
    expect(row(of(before), of(after), figure).verdict).toBe(verdict);
  });

  test("computed figures have no sampling error", () => {
    const exact = { queries: 30_000, hasExactRates: true } as const;
    const [a, b] = [sampled({ violations: 0.001 }, exact), sampled({ violations: 0.00101 }, exact)];
    expect(row(a, b, "violations")).not.toHaveProperty("interval");
    expect(row(a, b, "violations").verdict).toBe("regression");
  });

  test("is that of classes and paces for them", () => {
    const kinds = (count: number) => {
      const part = {
        name: "2",
        figures: { violations: count / 10_000 },
        sample: { queries: 10_000 },
      };
      return promised([level(100, { paces: [part], classes: [part] })]);
    };
    expect(regressions(kinds(12), "", kinds(9))).toEqual([]);
    expect(regressions(kinds(60), "", kinds(9))).toEqual(["violations2@100", "violations2@100"]);
  });
});

describe("tolerances", () => {
  const worse = level(200, { figures: { accuracy: 0.965, accuracyPerQuery: 0.963, p99: 44 } });
  const before = promised([
    level(100),
    level(200, { figures: { accuracy: 0.97, accuracyPerQuery: 0.968, p99: 40 } }),
  ]);
  const left = (allow: string) => regressions([level(100), worse], allow, before);

  test.each([
    ["", ["accuracy@200", "accuracyPerQuery@200", "p99@200"]],
    ["accuracy 0.5%", ["p99@200"]],
    ["accuracyPerQuery 0.5%", ["accuracy@200", "p99@200"]],
    ["accuracy 0.4%", ["accuracy@200", "accuracyPerQuery@200", "p99@200"]],
    ["accuracy 0.5%; accuracyPerQuery 0.005; p99 10%", []],
    ["accuracy any; accuracyPerQuery any; p99 4 ms", []],
    ["accuracy any; accuracyPerQuery any; p99 3.9ms", ["p99@200"]],
    ["accuracy any; accuracyPerQuery any; p99 9%", ["p99@200"]],
    ["accuracy any; accuracyPerQuery any; p99 9%; p99 11% @ 150..", []],
    ["accuracy any @ 100; accuracyPerQuery any; p99 any", ["accuracy@200"]],
    ["accuracy any @ 100; p99 any", ["accuracy@200", "accuracyPerQuery@200"]],
    ["accuracy any @ 200; accuracyPerQuery any @ feasible; p99 any @ 101", []],
  ])("%j leaves %j", (allow, expected) => {
    expect(left(allow)).toEqual(expected);
  });

  test("reports allowed changes with their tolerance", () => {
    const rows = compare(before, promised([level(100), worse]), allowed("p99 10%; p99 1ms"));
    const row = rows.find(({ figure, loadQps }) => figure === "p99" && loadQps === 200);
    expect(row).toMatchObject({ verdict: "allowed", tolerances: ["p99 10%", "p99 1ms"] });
  });

  test.each([
    ["", /^tolerances such as accuracy 0\.5%/],
    ["accurcy 1%", /^a figure of promises, got "accurcy"; did you mean "accuracy"/],
    ["accuracy", /^a ratio .*, or any, for accuracy, got ""$/],
    ["p99 5", /^a time with its unit such as 40ms, a percentage, or any, for p99, got "5"$/],
    ["feasible 5%", /^feasible by itself, or with @ and loads, got "feasible 5%"$/],
    ["cost -1%", /^a cost an hour such as 3\/h, a percentage, or any, for cost/],
  ])("%j is refused", (text, message) => {
    const read = readTolerances(text);
    if (!(read instanceof Unreadable)) throw new Error("it was read");
    expect(`${read.expected}, got ${read.found}`).toMatch(message);
  });
});

describe("levels", () => {
  test("are matched by load, or else by which one decides for it", () => {
    const after = [level(100), level(150), level(300, { figures: { ...FIGURES, accuracy: 0.9 } })];
    const rows = compare(OLD, promised(after), []);
    // At 200 the level for 300 decides; at 300 the old bundle promises nothing.
    expect(of("regression", rows)).toEqual(["accuracy@200"]);
    expect(of("new", rows)).toEqual(["feasible@300"]);
  });

  test("that are gone at the top are a regression, unless allowed", () => {
    expect(regressions([level(100)])).toEqual(["feasible@200"]);
    expect(regressions([level(100)], "feasible @ 200")).toEqual([]);
    expect(regressions([level(100)], "feasible @ ..100")).toEqual(["feasible@200"]);
  });

  test("that are feasible no more are a regression, and feasible now are better", () => {
    const worse = promised([level(100), level(200, { feasible: false })]);
    expect(regressions(worse)).toEqual(["feasible@200"]);
    expect(of("better", compare(worse, OLD, []))).toEqual(["feasible@200"]);
  });

  test("that the old bundle did not carry promised nothing that could be broken", () => {
    const before = promised([level(100), level(200, { feasible: false })]);
    const after = level(200, { feasible: false, figures: { accuracy: 0.5, violations: 0.9 } });
    const rows = compare(before, promised([level(100), after]), allowed("accuracy 1%"));
    expect(of("regression", rows)).toEqual([]);
    expect(of("unjudged", rows)).toContain("accuracy@200");
    expect(regressions([level(100)], "", before)).toEqual([]);
  });
});

test("a missing promise is a regression, a new one is not", () => {
  const { accuracy: _, ...without } = FIGURES;
  const after = [level(100, { figures: without }), level(200)];
  expect(regressions(after)).toEqual(["accuracy@100"]);
  expect(regressions(after, "accuracy 5%")).toEqual(["accuracy@100"]);
  expect(regressions(after, "accuracy any")).toEqual([]);
  expect(of("new", compare(promised(after), OLD, []))).toEqual(["accuracy@100"]);
});

test("workers and cores count where prices do not say what they cost", () => {
  const few = { workers: 2, cores: 2 };
  const many = { workers: 3, cores: 3 };
  const priced = (cost: number | null, means: object) =>
    promised([level(100, { figures: { ...means, ...(cost === null ? {} : { cost }) } })]);
  expect(regressions(priced(null, many), "", priced(null, few))).toEqual([
    "workers@100",
    "cores@100",
  ]);
  expect(regressions(priced(1, many), "", priced(1, few))).toEqual([]);
  expect(regressions(priced(1, many), "workers 0", priced(1, few))).toEqual(["workers@100"]);
});

test("bytes and medians are judged once somebody says how much they may grow", () => {
  const at = (p50: number, byteCount: number) =>
    promised([level(100, { figures: { p50 } })], { byteCount });
  expect(regressions(at(20, 1100), "", at(10, 1000))).toEqual([]);
  const allow = "bytes 5%; p50 1ms";
  expect(regressions(at(20, 1100), allow, at(10, 1000))).toEqual(["bytes@all", "p50@100"]);
  expect(regressions(at(11, 1050), allow, at(10, 1000))).toEqual([]);
});

test("a weaker objective is a regression however good the figures look", () => {
  const slo = { latencyMs: 120, maxViolationRate: 0.02, percentile: 99 };
  const weaker = promised(OLD.levels, { slo });
  expect(regressions(weaker)).toEqual(["slo@all", "ceiling@all"]);
  expect(regressions(weaker, "slo 20%; ceiling 1%")).toEqual([]);
  expect(regressions(promised(OLD.levels, { application: "other" }))).toEqual(["application@all"]);
});

test("each class and bucket is compared, and one that is gone is a regression", () => {
  const classes = [
    { name: "fast", latencyMs: 50, share: 0.5 },
    { name: "slow", latencyMs: 100, share: 0.5 },
  ];
  const slo = { ...OLD.slo, classes };
  const of = (fast: number, buckets: PromisedLevel["buckets"] = []) => {
    const named = [
      { name: "fast", figures: { violations: fast } },
      { name: "slow", figures: { violations: 0.001 } },
    ];
    return promised([level(100, { classes: named, buckets })], { slo });
  };
  expect(regressions(of(0.004), "", of(0.002))).toEqual(["violationsfast@100"]);
  expect(regressions(of(0.004), "violations of class fast 0.2%", of(0.002))).toEqual([]);
  expect(regressions(of(0.004), "violations of each class 0.2%", of(0.002))).toEqual([]);
  expect(regressions(of(0.004), "violations 0.2%", of(0.002))).toEqual([]);
  expect(regressions(of(0.004), "violations of class slow 1%", of(0.002))).toEqual([
    "violationsfast@100",
  ]);
  const bucket = [{ name: "160", figures: { accuracy: 0.9 } }];
  expect(regressions(of(0.002), "", of(0.002, bucket))).toEqual(["accuracy160@100"]);
  const [, slow] = classes;
  const without = promised(of(0.002).levels, {
    slo: { ...slo, classes: slow === undefined ? [] : [slow] },
  });
  expect(regressions(without, "", of(0.002))).toEqual(["slofast@all"]);
});

test("whatever the promises: no regression one way is no gain the other way", () => {
  const amount = fc.integer({ min: 0, max: 4 }).map((count) => count / 10);
  const figures = fc.record(
    { violations: amount, accuracy: amount, p99: amount, cost: amount, workers: amount },
    { requiredKeys: ["violations"] },
  );
  const levels = fc
    .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.boolean(), figures), {
      minLength: 1,
      maxLength: 4,
      selector: ([load]) => load,
    })
    .map((all) =>
      all
        .toSorted(([a], [b]) => a - b)
        .map(([load, feasible, own]) => level(load, { feasible, figures: own })),
    );
  fc.assert(
    fc.property(levels, levels, (a, b) => {
      const rows = compare(promised(a), promised(b), []);
      const back = compare(promised(b), promised(a), []);
      for (const row of rows) {
        const other = back.find((one) => one.loadQps === row.loadQps && one.figure === row.figure);
        if (row.verdict === "better") expect(other?.verdict).not.toBe("better");
        if (row.verdict === "same") expect(["same", "new"]).toContain(other?.verdict);
        const isWorse = row.verdict === "regression" && row.after !== null;
        if (isWorse) expect(["better", "unjudged"]).toContain(other?.verdict);
      }
      const all = "violations any; accuracy any; p99 any; cost any; workers any; feasible";
      const lenient = compare(promised(a), promised(b), allowed(all));
      expect(of("regression", lenient)).toEqual([]);
    }),
    { numRuns: casesOf(3000) },
  );
});
