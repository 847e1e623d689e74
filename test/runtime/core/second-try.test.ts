import { expect, test } from "vitest";
import { mayTryAgain } from "../../../runtime/core/second-try.ts";

test("a query whose worker was lost is tried again once, unless it is late", () => {
  expect(mayTryAgain(1, 100, 99)).toBe(true);
  expect(mayTryAgain(1, 100, 100)).toBe(false);
  expect(mayTryAgain(2, 100, 0)).toBe(false);
});
