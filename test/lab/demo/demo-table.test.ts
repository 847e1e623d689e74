/** The demo's table: the policy beside single models. */
import { expect, test } from "vitest";
import { demoText, type Single } from "../../../lab/demo/demo-table.ts";
import { documentWith, MEASURED, POINT } from "../../compiler/truth/truth-sample.ts";

const LARGE: Single = {
  name: "large",
  accuracy: 0.99,
  violationRate: 0.4,
  p50Ms: 90,
  p99Ms: 300,
};
const SMALL = { ...LARGE, name: "small", accuracy: 0.9, violationRate: 0 };
const TINY = { ...SMALL, name: "tiny", accuracy: 0.8 };
const document = documentWith([{ ...POINT, machine: { ...POINT.machine, pace: 1.3 } }]);

test("shows the policy, its prediction, the most accurate model and the best that keeps up", () => {
  const text = demoText(document, [[LARGE, SMALL, TINY]]);
  expect(text).toMatch(/^ *100 +the policy +97\.000% +0\.100% +10\.0 +50\.0$/m);
  expect(text).toMatch(/^ +as predicted +97\.000% +0\.100% +10\.0 +50\.0$/m);
  expect(text).toMatch(/^ +large alone +99\.000% +40\.000% +90\.0 +300\.0$/m);
  expect(text).toMatch(/^ +small alone +90\.000% +0\.000%/m);
  expect(text).not.toContain("tiny");
  expect(text.replaceAll("\n", " ")).toMatch(
    /met the deadline at 1 of 1 loads\. .* better at 1\. This machine took 1\.30 to 1\.30 times/,
  );
  expect(text).toContain("No single model was more accurate and more often in time.");
});

test("shows the model with most correct answers where none keeps up", () => {
  const late = { ...SMALL, violationRate: 0.2 };
  expect(demoText(document, [[LARGE, late]])).toMatch(/small alone/);
  expect(demoText(document, [[LARGE, { ...late, violationRate: 0.9 }]])).not.toMatch(/small/);
});

test("a load above the ceiling and a broken prediction are counted, with their cause", () => {
  const measured = { ...MEASURED, violationRate: 0.5 };
  const broken = { ...POINT, measured, verdict: "broken" as const, holds: false, cause: "spells" };
  const text = demoText(documentWith([broken]), [[SMALL]]);
  expect(text).toContain("100 requests/s: spells");
  expect(text.replaceAll("\n", " ")).toMatch(/deadline at 0 of 1 loads\. .* better at 0\./);
});

test("names each model that is better in accuracy and in late requests", () => {
  const better = { ...SMALL, accuracy: 0.98 };
  expect(demoText(document, [[LARGE, better]])).toMatch(/in time: small at 100 requests\/s\.$/);
  // The policy has no late request, so no model has fewer.
  const none = documentWith([{ ...POINT, measured: { ...MEASURED, violationRate: 0 } }]);
  expect(demoText(none, [[LARGE, better]])).toMatch(/No single model was more accurate/);
});
