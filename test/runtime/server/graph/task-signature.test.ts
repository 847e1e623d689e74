import { describe, expect, test } from "vitest";
import type { Feed, InferlineBundle, StageTask } from "../../../../runtime/bundle/schema.ts";
import { gatedGroupsOf } from "../../../../runtime/server/graph/signature/output-groups.ts";
import { pipelineSignatureOf } from "../../../../runtime/server/graph/signature/pipeline-signature.ts";
import { visitsOf } from "../../../../runtime/server/graph/signature/sure-visits.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";
import { servedStages } from "./served-tasks.ts";

test("a client sees the entry's inputs, all outputs, and which rows were where", () => {
  const { names, inputs, outputs, variants } = pipelineSignatureOf(servedStages());
  expect(names).toEqual(["stages"]);
  expect(inputs.map(({ name }) => name)).toEqual(["x"]);
  expect(outputs.map(({ name, isInternal }) => [name, isInternal])).toEqual([
    ["gate.escalate", false],
    ["gate.keep", false],
    ["gate.image", true],
    ["gate.quick", true],
    ["slow.score", true],
    ["slow.request_row", true],
    ["last.total", false],
    ["last.request_row", true],
  ]);
  // Images go by the first verdict, quick answers by the second.
  expect(variants.map(({ countByOutput }) => countByOutput)).toEqual([
    [null, null, 0, 1],
    [null],
    [null],
  ]);
});

test.each<[string, readonly (string | null)[], Readonly<Record<string, string | null>>]>([
  ["by the count of its edge", ["a", "b"], { image: null, quick: "b", other: null }],
  [
    "by the only count, as does what is not sent",
    ["a", "a"],
    { image: "a", quick: "a", other: "a" },
  ],
  [
    "a row each beside an edge without a count",
    ["a", null],
    { image: null, quick: null, other: "a" },
  ],
])("what is sent on goes %s", (_, [first = null, second = null], expected) => {
  const outputs = ["image", "quick", "other", "a", "b"].map((name) => {
    return { name, dtype: "float32", shape: [-1] };
  });
  const variant = { name: "", accuracy: 1, model: { file: "", sha256: "", inputs: [], outputs } };
  // The image goes along both edges.
  const image = { input: "image", output: "image" };
  const quick = { input: "quick", output: "quick" };
  const groups = gatedGroupsOf(variant, [
    { name: "first", feed: { inputs: [image], count: first }, isFanout: false },
    { name: "second", feed: { inputs: [image, quick], count: second }, isFanout: false },
  ]);
  expect(Object.fromEntries(groups)).toMatchObject(expected);
});

describe("which rows come to a task", () => {
  const tasks = (shares: { slow: number; last: number }, count: string | null) => {
    const feed = count === null ? null : { inputs: [{ input: "image", output: "image" }], count };
    const bundle = servedStages(
      {
        tasks: [
          { name: "gate", latencyMs: { 1: 5 } },
          { name: "slow", from: { gate: shares.slow }, latencyMs: { 1: 5 } },
          { name: "last", from: { slow: shares.last }, latencyMs: { 1: 5 } },
        ],
        levels: [],
      },
      { "0 1": feed },
    );
    return visitsOf(bundle).map(({ isSure, isDerivable }) => [isSure, isDerivable]);
  };

  test("is sure where all edges are taken, told where counts say so, otherwise unknown", () => {
    expect(tasks({ slow: 1, last: 1 }, null)).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
    expect(tasks({ slow: 0.4, last: 1 }, "escalate")).toEqual([
      [true, true],
      [false, true],
      [false, true],
    ]);
    expect(tasks({ slow: 0.4, last: 1 }, null).map(([, isDerivable]) => isDerivable)).toEqual([
      true,
      false,
      false,
    ]);
    expect(tasks({ slow: 1, last: 0.5 }, "escalate").map(([, isDerivable]) => isDerivable)).toEqual(
      [true, true, false],
    );
  });

  test("is shown without being asked for where a coin decides", () => {
    const from = { gate: 0.6, slow: 0.5 };
    const bundle = servedStages({
      tasks: [
        { name: "gate", latencyMs: { 1: 5 } },
        { name: "slow", from: { gate: 0.4 }, latencyMs: { 1: 5 } },
        { name: "last", from, latencyMs: { 1: 5 } },
      ],
      levels: [],
    });
    const rows = pipelineSignatureOf(bundle).outputs.filter(({ name }) => name.endsWith("_row"));
    expect(rows.map(({ name, isInternal }) => [name, isInternal])).toEqual([
      ["slow.request_row", true],
      ["last.request_row", false],
    ]);
  });

  test("is not sure of an exclusive edge beside one that a model may take", () => {
    const exclusive = (count: string | null) =>
      visitsOf({
        entryBranch: "independent",
        tasks: [
          { edges: [{ parent: null, share: 1, feed: null }], branch: "exclusive" },
          { edges: [{ parent: 0, share: 0, feed: { inputs: [], count } }] },
          { edges: [{ parent: 0, share: 1, feed: null }] },
        ] as unknown as StageTask[],
      })[2];
    expect(exclusive(null)).toEqual({ isSure: true, isDerivable: true });
    expect(exclusive("escalate")).toEqual({ isSure: false, isDerivable: false });
  });
});

describe("a join", () => {
  const tensor = (name: string, dtype = "float32") => ({ name, dtype, shape: [-1, 1] });

  /**
   * A root that passes requests to two tasks, of which the second also gets what the first makes.
   */
  function joined(feed: Feed | null, lastInputs = ["y", "z"], dtype = "float32"): InferlineBundle {
    const bundle = inferlineBundle({
      tasks: [
        { name: "first", latencyMs: { 1: 1 } },
        { name: "join", from: { requests: 1, first: 1 }, latencyMs: { 1: 1 } },
      ],
      levels: [],
    });
    const tensors = [
      { inputs: [tensor("x")], outputs: [tensor("y", dtype)] },
      { inputs: lastInputs.map((name) => tensor(name)), outputs: [tensor("out")] },
    ];
    return {
      ...bundle,
      tasks: bundle.tasks.map((task, index) => ({
        ...task,
        edges: task.edges.map((edge) => ({ ...edge, feed: edge.parent === null ? null : feed })),
        variants: task.variants.map((variant) => ({
          ...variant,
          model: { file: "m.onnx", sha256: "", ...(tensors[index] ?? { inputs: [], outputs: [] }) },
        })),
      })),
    };
  }

  test("takes from the request what no task before gives", () => {
    const feed = { inputs: [{ input: "y", output: "y" }], count: null };
    const { inputs, tasks } = pipelineSignatureOf(joined(feed));
    expect(inputs.map(({ name }) => name)).toEqual(["x", "z"]);
    expect(tasks.map(({ requestInputs }) => requestInputs)).toEqual([[0], [-1, 1]]);
  });

  test("takes from the request all that an edge without inputs does not bring", () => {
    const { inputs } = pipelineSignatureOf(joined({ inputs: [], count: null }));
    expect(inputs.map(({ name }) => name)).toEqual(["x", "y", "z"]);
  });

  test.each<[string, InferlineBundle, RegExp]>([
    [
      "an input that no edge gives",
      servedStages({}, { "0 2": null, "1 2": null }),
      /task "last" input "value": expected an output of task "gate" or "slow", got nothing/,
    ],
    [
      "an output of another element type",
      joined({ inputs: [{ input: "y", output: "y" }], count: null }, ["y"], "int64"),
      /task "join" input "y" from "first": expected .*, "y" FP32 \[rows, 1\], got "y" INT64/,
    ],
    [
      "an output that there is not",
      servedStages({}, { "1 2": { inputs: [{ input: "value", output: "sum" }], count: null } }),
      /variant "slow\/slow" outputs: expected "sum", which task "last" is fed, got "score"/,
    ],
    [
      "an input that there is not",
      servedStages({}, { "1 2": { inputs: [{ input: "score", output: "score" }], count: null } }),
      /task "last" feed "score": expected an input of its variants, .*, got "value"/,
    ],
    [
      "a count that is no INT64",
      servedStages({}, { "1 2": { inputs: [], count: "score" } }),
      /task "last" count from "slow": expected INT64 \[rows\], got "score" FP32/,
    ],
  ])("refuses %s", (_, bundle, message) => {
    const refused = () => pipelineSignatureOf(bundle);
    expect(refused).toThrow(message);
    expect(refused).toThrow(expect.objectContaining({ code: "RUNTIME_MODEL" }));
  });
});
