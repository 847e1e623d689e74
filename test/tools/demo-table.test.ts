/** The demo's table: the policy beside the best single model. */
import { expect, test } from "vitest";
import { demoText, type Single } from "../../tools/demo-table.ts";
import { documentWith, MEASURED, POINT } from "../compiler/truth/truth-sample.ts";

const LARGE: Single = {
  name: "large",
  accuracy: 0.99,
  violationRate: 0.4,
  p50Ms: 90,
  p99Ms: 300,
};
const SMALL = { ...LARGE, name: "small", accuracy: 0.9, violationRate: 0 };
const document = documentWith([{ ...POINT, machine: { ...POINT.machine, pace: 1.3 } }]);

test("shows promise, policy and the model that answers most requests correctly", () => {
  const lines = demoText(document, [[LARGE, SMALL]]).split("\n");
  expect(lines.find((line) => line.includes("promised"))).toMatch(/^ *100 +1\.30 +promised +0\.1/);
  expect(lines.find((line) => line.includes("measured"))).toMatch(/10\.0 +50\.0 +holds$/);
  expect(lines.filter((line) => line.includes("alone")).join()).toMatch(/small alone +0\.000%/);
  expect(lines.at(-2)).toContain("1 of 1 promises are kept");
  expect(lines.at(-1)).toMatch(/than the policy: no model$/);
});

test("names each model that is better in accuracy and in late requests", () => {
  const better = { ...SMALL, accuracy: 0.98 };
  expect(demoText(document, [[LARGE, better]])).toMatch(/: small at 100\/s$/);
  // The policy has no late request, so no model has fewer.
  const none = documentWith([{ ...POINT, measured: { ...MEASURED, violationRate: 0 } }]);
  expect(demoText(none, [[LARGE, better]])).toMatch(/: no model$/);
});
