import { describe, expect, test } from "vitest";
import { feedMistakes } from "../../../compiler/model/model-feeds.ts";
import type { Edge, Task } from "../../../compiler/spec/application.ts";
import type { ModelFile } from "../../../runtime/bundle/schema.ts";

type Method = "loki" | "inferline";

function model(file: string, inputs: readonly string[], outputs: readonly string[]): ModelFile {
  const tensor = (text: string) => {
    const [name = "", dtype = "float32"] = text.split(":");
    return { name, dtype, shape: dtype === "int64" ? [-1] : [-1, 4] };
  };
  return { file, sha256: "", inputs: inputs.map(tensor), outputs: outputs.map(tensor) };
}

/** A gate whose image goes on to a slow model; both send what they found to the end. */
const MODELS = [
  model("gate.onnx", ["image"], ["image", "quick", "escalate:int64"]),
  model("slow.onnx", ["image"], ["score"]),
  model("last.onnx", ["value", "image"], ["label"]),
];

type Edges = Readonly<Record<string, readonly (Pick<Edge, "task"> & Partial<Edge>)[]>>;

const EDGES: Edges = {
  gate: [
    { task: "slow", count: "escalate" },
    { task: "last", inputs: { value: "quick" } },
  ],
  slow: [{ task: "last", inputs: { value: "score" } }],
  last: [],
};

function mistakesOf(method: Method, changes: Edges = {}, own = MODELS): string[] {
  const tasks = Object.entries({ ...EDGES, ...changes }).map(([name, to]) => ({
    name,
    variants: name === "root" ? [] : [{ model: `${name}.onnx` }],
    to: to.map((edge) => ({ share: 1, inputs: null, count: null, ...edge })),
  }));
  const feeds = method === "inferline" ? "all edges together" : "every edge";
  const models = new Map(own.map((one) => [one.file, one]));
  const mistakes = feedMistakes({ tasks: tasks as unknown as Task[] }, models, feeds);
  return [...mistakes].map(({ path, message }) => `${path.join(".")}: ${message}`);
}

test.each([
  [[2, 4], []],
  [[2, 8], []],
  // No listed size holds four.
  [[2, 3], [expect.stringContaining('needs the output "image" of gate.onnx')]],
])("an input with the sizes %j is fed rows of 4", (sizes, found) => {
  const [gate, slow, last] = MODELS as [ModelFile, ModelFile, ModelFile];
  const axis = { inputs: [{ input: 0, axis: 1 }], sizes, padding: 0 };
  const inputs = [{ name: "image", dtype: "float32", shape: [-1, -1] }];
  expect(mistakesOf("inferline", {}, [gate, { ...slow, inputs, buckets: [axis] }, last])).toEqual(
    found,
  );
});

describe("an inferline join", () => {
  test("needs every input from some edge, not from each", () => {
    expect(mistakesOf("inferline")).toEqual([]);
    expect(mistakesOf("loki")).toEqual([
      expect.stringContaining("tasks.1.to.0.inputs: the input image float32[-1, 4] of last.onnx"),
    ]);
  });

  test("is refused if no edge gives an input", () => {
    const changes = { gate: [{ task: "slow" }, { task: "last" }], slow: [{ task: "last" }] };
    expect(mistakesOf("inferline", changes)).toEqual([
      "tasks.2.variants: the input value float32[-1, 4] of last.onnx needs an output of " +
        '"gate" or "slow": one of the same name, or one named under inputs of the edge',
    ]);
  });

  test("may be given by the requests what no task before gives", () => {
    const root = [{ task: "gate" }, { task: "last" }];
    const changes = { gate: [{ task: "slow" }], slow: [{ task: "last" }], root };
    expect(mistakesOf("inferline", changes)).toEqual([]);
  });

  test.each<[string, Edges, string]>([
    [
      "names an input that there is not",
      { slow: [{ task: "last", inputs: { value: "score", scores: "score" } }] },
      'tasks.1.to.0.inputs.scores: last.onnx has no input "scores"; ' +
        'its inputs are "value", "image"',
    ],
    [
      "names an output that there is not",
      { slow: [{ task: "last", inputs: { value: "scores" } }] },
      "tasks.1.to.0.inputs: the input value float32[-1, 4] of last.onnx needs the output " +
        '"scores" of slow.onnx, whose outputs are score float32[-1, 4]',
    ],
    [
      "gives an output that the input cannot take",
      {
        slow: [{ task: "last", inputs: { value: "score" } }],
        gate: [{ task: "last", inputs: { value: "escalate" } }],
      },
      "tasks.0.to.0.inputs: the input value float32[-1, 4] of last.onnx needs the output " +
        '"escalate" of gate.onnx, whose outputs are image float32[-1, 4], quick float32[-1, ' +
        "4], escalate int64[-1]",
    ],
    [
      "counts with an output of another form",
      {
        gate: [
          { task: "slow", count: "quick" },
          { task: "last", inputs: { value: "quick" } },
        ],
      },
      "tasks.0.to.0.count: expected an output of gate.onnx of the form int64[rows], " +
        "whose outputs are image float32[-1, 4], quick float32[-1, 4], escalate int64[-1]",
    ],
  ])("is refused an edge that %s", (_, changes, message) => {
    expect(mistakesOf("inferline", changes)).toEqual([message]);
  });
});
