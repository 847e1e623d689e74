/** The demo's table: the policy beside the best single model. */
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
const document = documentWith([{ ...POINT, machine: { ...POINT.machine, pace: 1.3 } }]);

test("shows promise, policy and the model that answers most requests correctly", () => {
  const lines = demoText(document, [[LARGE, SMALL]]).split("\n");
  expect(lines.find((line) => line.includes("promised"))).toMatch(/^ *100 +1\.30 +promised +0\.1/);
  expect(lines.find((line) => line.includes("measured"))).toMatch(/10\.0 +50\.0 +holds$/);
  expect(lines.filter((line) => line.includes("alone")).join()).toMatch(/small alone +0\.000%/);
  expect(lines.slice(-3, -1).join(" ")).toMatch(
    /or better, at 1 of 1 loads;.* latencies are at 1$/,
  );
  expect(lines.at(-1)).toMatch(/than the policy: no model$/);
});

test("a run that is only slower than predicted keeps what was promised of its answers", () => {
  const slower = documentWith([{ ...POINT, verdict: "slower", holds: false, cause: "spells" }]);
  const text = demoText({ ...slower, held: 0 }, [[SMALL]]);
  expect(text).toMatch(/10\.0 +50\.0 +slower/);
  expect(text).toContain("100/s: spells");
  expect(text.replaceAll("\n", " ")).toMatch(/or better, at 1 of 1 loads; latencies are at 0/);
});

test("names each model that is better in accuracy and in late requests", () => {
  const better = { ...SMALL, accuracy: 0.98 };
  expect(demoText(document, [[LARGE, better]])).toMatch(/: small at 100\/s$/);
  // The policy has no late request, so no model has fewer.
  const none = documentWith([{ ...POINT, measured: { ...MEASURED, violationRate: 0 } }]);
  expect(demoText(none, [[LARGE, better]])).toMatch(/: no model$/);
});
