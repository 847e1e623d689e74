import { describe, expect, it } from "vitest";
import { mainLoads } from "../../../compiler/model/main-loads.ts";

describe("main loads", () => {
  it("are all loads of a short list, however close", () => {
    const loadsQps = Array.from({ length: 16 }, (_, index) => 1000 + index);
    expect([...mainLoads(loadsQps)]).toEqual(loadsQps);
  });

  it("are the ends of a long list and, downwards, what is not close", () => {
    const loadsQps = Array.from({ length: 17 }, (_, index) => 840 + 10 * index);
    expect([...mainLoads(loadsQps)].sort((a, b) => a - b)).toEqual([840, 860, 930, 1000]);
  });
});
