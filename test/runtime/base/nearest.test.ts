import { expect, test } from "vitest";
import { nearest, suggestion } from "../../../runtime/base/nearest.ts";

test("finds the word that a slip of the pen was meant to be", () => {
  expect(nearest("worker", ["workers", "pools"])).toBe("workers");
  expect(nearest("tabel", ["table"])).toBe("table");
  expect(nearest("SLO", ["slo"])).toBe("slo");
});

test("finds nothing when no word is near", () => {
  expect(nearest("zebra", ["workers", "pools"])).toBeNull();
  expect(nearest("x", [])).toBeNull();
});

test("prefers the first of equally near words", () => {
  expect(nearest("p90", ["p50", "p95", "p99"])).toBe("p50");
});

test("suggests the nearest word, or else lists a few that are allowed", () => {
  expect(suggestion("worker", ["workers"])).toBe('; did you mean "workers"?');
  expect(suggestion("zebra", ["workers", "pools"])).toBe("; allowed are workers, pools");
  const many = Array.from({ length: 14 }, (_, index) => `name${index}`);
  expect(suggestion("zebra", many)).toMatch(/name11 and 2 more$/);
});
