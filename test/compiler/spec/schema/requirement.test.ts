/** What promises have to be, as texts: what is read of them, and what is refused and why. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Unreadable } from "../../../../compiler/spec/document/clause.ts";
import { readRequirements } from "../../../../compiler/spec/schema/requirement.ts";
import { casesOf } from "../../../support/cases.ts";

const EVERYWHERE = { kind: "all" };
const ALL = { kind: "all" };

function only(text: string) {
  const read = readRequirements(text);
  if (read instanceof Unreadable) throw new Error(`expected ${read.expected}, got ${read.found}`);
  expect(read).toHaveLength(1);
  return read[0];
}

test.each([
  ["violations <= ceiling", "violations", "<=", "ceiling"],
  ["violations < 0.5%", "violations", "<", 0.005],
  ["accuracy>=97%", "accuracy", ">=", 0.97],
  ["accuracyPerQuery ≥ 0.9", "accuracyPerQuery", ">=", 0.9],
  ["p99 <= 40ms", "p99", "<=", 40],
  ["p50 ≤ 0.25 s", "p50", "<=", 250],
  ["p95 <= slo", "p95", "<=", "slo"],
  ["cost <= 3/h", "cost", "<=", 3],
  ["cost <= 3.5 / h", "cost", "<=", 3.5],
  ["workers <= 8", "workers", "<=", 8],
  ["cores < 16", "cores", "<", 16],
  ["headroom >= 1.3", "headroom", ">=", 1.3],
])("%s is read", (text, figure, relation, bound) => {
  expect(only(text)).toEqual({
    text,
    demand: { kind: "level", figure, whose: ALL, relation, bound },
    scope: EVERYWHERE,
  });
});

test("feasible and bytes are of the levels and of the whole bundle", () => {
  expect(only("feasible")?.demand).toEqual({ kind: "feasible" });
  const bytes = { kind: "bytes", relation: "<=" };
  expect(only("bytes <= 2MiB")?.demand).toEqual({ ...bytes, bound: 2_097_152 });
  expect(only("bytes <= 500 kB")?.demand).toEqual({ ...bytes, bound: 500_000 });
  expect(only("bytes <= 4096")?.demand).toEqual({ ...bytes, bound: 4096 });
});

test.each([
  ["feasible @ all", { kind: "all" }],
  ["violations <= 1% @ feasible", { kind: "feasible" }],
  ["accuracy >= 97% @ 1000", { kind: "load", qps: 1000 }],
  ["accuracy >= 97% @ 1000 / s", { kind: "load", qps: 1000 }],
  ["feasible @ 100..1000", { kind: "range", fromQps: 100, toQps: 1000 }],
  ["feasible @ 0.5..", { kind: "range", fromQps: 0.5, toQps: null }],
  ["feasible @ ..1e3", { kind: "range", fromQps: null, toQps: 1000 }],
])("%s holds there", (text, scope) => {
  expect(only(text)?.scope).toEqual(scope);
});

test.each([
  ["violations of class fast <= 1%", { kind: "class", name: "fast" }],
  ["accuracy of each class >= 90%", { kind: "class", name: null }],
  ["accuracy of bucket 48x160 >= 90%", { kind: "bucket", name: "48x160" }],
])("%s says whose", (text, whose) => {
  expect(only(text)?.demand).toMatchObject({ whose });
});

test("several stand between semicolons, in their order, with single spaces", () => {
  const read = readRequirements(" feasible ;; violations  <=\tceiling;\n");
  if (read instanceof Unreadable) throw new Error(read.expected);
  expect(read.map(({ text }) => text)).toEqual(["feasible", "violations <= ceiling"]);
});

describe("refused", () => {
  test.each([
    ["", /^requirements such as feasible; .*, got ""$/],
    [" ; ", /^requirements such as/],
    ["accurcy >= 97%", /^a figure of promises, got "accurcy"; did you mean "accuracy"\?$/],
    ["slo <= 50ms", /^a figure of promises, got "slo"/],
    ["accuracy", /^accuracy >= an amount, since more is better, got "accuracy"$/],
    ["accuracy <= 97%", /^accuracy >= an amount, since more is better/],
    ["cost >= 3/h", /^cost <= an amount, since less is better/],
    ["violations == 1%", /^violations <= an amount, since less is better, got "violations == 1%"$/],
    ["accuracy >= 97", /^a ratio between 0 and 1 such as 0\.97 or 97% for accuracy, got "97"$/],
    ["violations <= top", /^a ratio .*, or ceiling, for violations, got "top"$/],
    ["p99 <= 40", /^a time with its unit such as 40ms, or slo, for p99, got "40"$/],
    ["p99 <= -1ms", /^a time with its unit/],
    ["cost <= 3/min", /^a cost an hour such as 3\/h for cost, got "3\/min"$/],
    ["bytes <= 2 miles", /^bytes such as 2MiB for bytes/],
    ["bytes <= 2MiB @ 100", /^no @ with bytes, which is for the whole bundle/],
    ["bytes of class fast <= 2MiB", /^bytes of the whole bundle/],
    ["feasible >= 1", /^feasible by itself, or with @ and loads/],
    ["feasible of class fast", /^feasible by itself/],
    ["accuracy of fast >= 97%", /^of class NAME, of bucket NAME, .*, got "of fast"$/],
    ["accuracy of each >= 97%", /^of class NAME/],
    ["accuracy >= 97% @ fast", /^all, feasible, a load such as 1000, or loads .*, got "fast"$/],
    ["accuracy >= 97% @ 2000..1000", /^all, feasible, a load/],
    ["accuracy >= 97% @ ..", /^all, feasible, a load/],
    ["accuracy >= 97% @ 1..2..3", /^all, feasible, a load/],
    ["accuracy >= 97% @ 0", /^all, feasible, a load/],
    ["accuracy >= 97% @ 1 @ 2", /^requirements such as/],
    ["@ 1000", /^requirements such as/],
  ])("%j", (text, message) => {
    const read = readRequirements(text);
    if (!(read instanceof Unreadable)) throw new Error("it was read");
    expect(`${read.expected}, got ${read.found}`).toMatch(message);
  });

  test("what is longer than anybody writes", () => {
    const refusalOf = (text: string) => {
      const read = readRequirements(text);
      return read instanceof Unreadable ? `${read.expected}, got ${read.found}` : "";
    };
    expect(refusalOf("feasible;".repeat(2000))).toBe("at most 10000 characters, got 18000");
    expect(refusalOf("feasible;".repeat(1001))).toBe("at most 1000 clauses, got 1001");
  });

  test("any other text, without a throw, or it is read as it is written", () => {
    const word = fc.constantFrom(
      ...["accuracy", "violations", "p99", "bytes", "feasible", "of", "each", "class", "fast"],
      ...["<=", ">=", ">", "@", "..", ";", "97%", "40ms", "3/h", "2MiB", "1000", "ceiling", "slo"],
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(word, { maxLength: 9 }).map((all) => all.join(" ")),
    );
    fc.assert(
      fc.property(text, (any) => {
        const read = readRequirements(any);
        if (read instanceof Unreadable) return;
        const again = readRequirements(read.map((one) => one.text).join("; "));
        expect(again).toEqual(read);
      }),
      { numRuns: casesOf(3000) },
    );
  });
});
