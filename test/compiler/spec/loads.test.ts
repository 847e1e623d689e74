import fc from "fast-check";
import { expect, test } from "vitest";
import { loadMistakes, resolveLoads } from "../../../compiler/spec/loads.ts";
import { edited, mistakeOfSpec, PROFILE, SPEC } from "./spec-folder.ts";

test("expands a range with its end, without rounding errors", () => {
  const loads = resolveLoads({ from: 0.1, to: 0.5, step: 0.1 });
  expect(loads).toEqual({ kind: "list", qps: [0.1, 0.2, 0.3, 0.4, 0.5] });
});

test("leaves out an end that the steps jump over", () => {
  const loads = resolveLoads({ from: 100, to: 1000, step: 400 });
  expect(loads).toEqual({ kind: "list", qps: [100, 500, 900] });
});

test("keeps an adaptive range as it is", () => {
  const loads = resolveLoads({ from: 200, to: 4000, maxAccuracyStep: 0.01 });
  expect(loads).toEqual({ kind: "adaptive", fromQps: 200, toQps: 4000, maxAccuracyStep: 0.01 });
});

test("a range of decimals is what the same range of integers is, shifted", () => {
  const size = fc.integer({ min: 1, max: 100_000 });
  const shift = fc.integer({ min: -6, max: 3 });
  fc.assert(
    fc.property(size, size, fc.integer({ min: 1, max: 500 }), shift, (from, step, count, e) => {
      const shifted = (value: number) => Number(`${value}e${e}`);
      const to = from + step * (count - 1);
      const spec = { from: shifted(from), to: shifted(to), step: shifted(step) };
      expect([...loadMistakes(spec)]).toEqual([]);
      const qps = Array.from({ length: count }, (_, index) => shifted(from + index * step));
      expect(resolveLoads(spec)).toEqual({ kind: "list", qps });
    }),
  );
});

test("counts a range of a very small step without making it", () => {
  const [mistake] = loadMistakes({ from: 1e-300, to: 1e300, step: 1e-300 });
  expect(mistake?.message).toMatch(/^expected at most 10000 loads, got a step that makes 10{600}$/);
});

test.each([
  [
    "[100, 200]",
    "[]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads: expected at least one load, got an empty list",
  ],
  [
    "[100, 200]",
    "[200, 100]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[1]: expected loads in ascending order " +
      "without repeats, above 200, got 100",
  ],
  [
    "[100, 200]",
    "[100, 100]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[1]: expected loads in ascending order " +
      "without repeats, above 100, got 100",
  ],
  [
    "[100, 200]",
    "[0, 100]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[0]: expected a rate above 0 in queries per " +
      "second such as 2000 or 2000 / s, got 0",
  ],
  [
    "[100, 200]",
    "[-5]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[0]: expected a rate above 0 in queries per " +
      "second such as 2000 or 2000 / s, got -5",
  ],
  [
    "[100, 200]",
    "[.nan]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[0]: expected a rate above 0 in queries per " +
      "second such as 2000 or 2000 / s, got NaN",
  ],
  [
    "[100, 200]",
    "[.inf]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[0]: expected a rate above 0 in queries per " +
      "second such as 2000 or 2000 / s, got Infinity",
  ],
  [
    "[100, 200]",
    "100",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads: expected a list of rates, " +
      "or a mapping with from, to and step or maxAccuracyStep, got 100",
  ],
  [
    "[100, 200]",
    "[fast]",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads[0]: expected a rate above 0 in queries per " +
      'second such as 2000 or 2000 / s, got "fast" (unknown unit "fast")',
  ],
  [
    "[100, 200]",
    "{ from: 200, to: 100, step: 1 }",
    "INPUT_CONFLICT app.yaml:6 workload.loads.from: expected at most to, which is 100, got 200",
  ],
  [
    "[100, 200]",
    "{ from: 1, to: 100, step: 0 }",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads.step: expected a rate above 0 in queries " +
      "per second such as 2000 or 2000 / s, got 0",
  ],
  [
    "[100, 200]",
    "{ from: 1, to: 100 }",
    "INPUT_MISSING_KEY app.yaml:6 workload.loads.step: missing; " +
      "expected step or maxAccuracyStep with from and to",
  ],
  [
    "[100, 200]",
    "{ from: 1, to: 10001, step: 1 }",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads.step: expected at most 10000 loads, " +
      "got a step that makes 10001",
  ],
  [
    "[100, 200]",
    "{ from: 1, to: 2, step: 1, maxAccuracyStep: 1% }",
    "INPUT_CONFLICT app.yaml:6 workload.loads.maxAccuracyStep: " +
      "expected step or maxAccuracyStep, got both",
  ],
  [
    "[100, 200]",
    "{ from: 1, to: 2, maxAccuracyStep: 0 }",
    "INPUT_INVALID_VALUE app.yaml:6 workload.loads.maxAccuracyStep: " +
      "expected a ratio above 0 and up to 1 such as 0.5 or 50%, got 0",
  ],
  [
    "[100, 200]",
    "{ from: 1, too: 2, step: 1 }",
    'INPUT_UNKNOWN_KEY app.yaml:6 workload.loads.too: unknown key "too"; did you mean "to"?',
  ],
])("refuses %j made %j", (from, to, message) => {
  expect(mistakeOfSpec(edited(SPEC, from, to), PROFILE)).toBe(message);
});
