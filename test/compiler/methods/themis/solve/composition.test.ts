import { describe, expect, it } from "vitest";
import { compositionOf } from "../../../../../compiler/methods/themis/solve/composition.ts";

describe("a composition", () => {
  it("adds a chain up from its first stage", () => {
    expect(compositionOf([[], [0], [1]])).toEqual({
      merges: [
        { kind: "series", left: 0, right: 1 },
        { kind: "series", left: 3, right: 2 },
      ],
      rest: [{ part: 4, parents: [] }],
    });
  });

  it("takes the longer of two branches between a split and a join", () => {
    expect(compositionOf([[], [0], [0], [1, 2]])).toEqual({
      merges: [
        { kind: "parallel", left: 1, right: 2 },
        { kind: "series", left: 0, right: 4 },
        { kind: "series", left: 5, right: 3 },
      ],
      rest: [{ part: 6, parents: [] }],
    });
  });

  it("takes several entries and several ends as side by side", () => {
    const { merges, rest } = compositionOf([[], [], [0, 1], [0, 1]]);
    expect(merges.map(({ kind }) => kind)).toEqual(["parallel", "parallel", "series"]);
    expect(rest).toHaveLength(1);
  });

  it("leaves out an edge that a longer path stands for", () => {
    const { merges, rest } = compositionOf([[], [0], [0, 1]]);
    expect(merges.map(({ kind }) => kind)).toEqual(["series", "series"]);
    expect(rest).toHaveLength(1);
  });

  it("leaves a zigzag as it is, with what it can around it merged", () => {
    // Two entries; the second leads to both ends, the first to one, which goes on to a last stage.
    expect(compositionOf([[], [], [0, 1], [1], [2]])).toEqual({
      merges: [{ kind: "series", left: 2, right: 4 }],
      rest: [
        { part: 0, parents: [] },
        { part: 1, parents: [] },
        { part: 5, parents: [0, 1] },
        { part: 3, parents: [1] },
      ],
    });
  });
});
