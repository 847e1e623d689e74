import { describe, expect, test } from "vitest";
import { Fence, leaseOf } from "../../../runtime/agent/fence.ts";
import { deadlineMs } from "../../../runtime/agent/infer.ts";
import { RunIds } from "../../../runtime/agent/run-ids.ts";

describe("a fence", () => {
  test("refuses what is older than the latest lease, and another holder of its epoch", () => {
    const fence = new Fence();
    expect(fence.epoch).toBe(0);
    fence.check({ frontEnd: "a", epoch: 3 });
    fence.check({ frontEnd: "a", epoch: 3 });
    fence.check(null);
    expect(() => fence.check({ frontEnd: "b", epoch: 3 })).toThrow(
      expect.objectContaining({ status: 409 }),
    );
    fence.check({ frontEnd: "b", epoch: 4 });
    expect(() => fence.check({ frontEnd: "a", epoch: 3 })).toThrow(
      expect.objectContaining({
        status: 409,
        message: "stratagem-lease: expected epoch 4 of b or a later epoch, got epoch 3 of a",
      }),
    );
    expect(fence.epoch).toBe(4);
  });

  test("reads leases of front ends whose names have slashes", () => {
    expect(leaseOf(undefined)).toBeNull();
    expect(leaseOf("site/a-17/8")).toEqual({ frontEnd: "site/a-17", epoch: 8 });
    for (const wrong of ["", "a", "a/", "/1", "a/0", "a/-1", "a/1.5", "a b/1", `a/${2 ** 60}`]) {
      expect(() => leaseOf(wrong), wrong).toThrow(expect.objectContaining({ status: 400 }));
    }
  });
});

test("a deadline is what is left, from the arrival on", () => {
  expect(deadlineMs(undefined, 5)).toBe(Number.POSITIVE_INFINITY);
  expect(deadlineMs("12.5", 5)).toBe(17.5);
  expect(deadlineMs("0", 5)).toBe(5);
  for (const wrong of ["", "-1", "1e3", "soon"]) {
    expect(() => deadlineMs(wrong, 0), wrong).toThrow(expect.objectContaining({ status: 400 }));
  }
});

test("the last 1024 ids are known, and those that were given back are not", () => {
  const ids = new RunIds();
  expect(ids.take("a")).toBe(true);
  expect(ids.take("a")).toBe(false);
  ids.giveBack("a");
  expect(ids.take("a")).toBe(true);
  for (let number = 0; number < 1023; number++) ids.take(`b-${number}`);
  expect(ids.take("a")).toBe(false);
  ids.take("b-1023");
  expect(ids.take("a")).toBe(true);
});
