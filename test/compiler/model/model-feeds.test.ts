import { describe, expect, test } from "vitest";
import { feedOf } from "../../../compiler/graph/task-edges.ts";
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
        '"gate" or "slow": one of the same name, or an output or input named under inputs of the ' +
        "edge",
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
        'its inputs are "value", "image", and none of that name is passed on by an edge of "last"',
    ],
    [
      "names an output that there is not",
      { slow: [{ task: "last", inputs: { value: "scores" } }] },
      "tasks.1.to.0.inputs: the input value float32[-1, 4] of last.onnx needs the output " +
        '"scores" of slow.onnx, whose outputs are score float32[-1, 4]; under inputs, the edge ' +
        "may also name an input of slow.onnx to pass on: image float32[-1, 4]",
    ],
    [
      "gives an output that the input cannot take",
      {
        slow: [{ task: "last", inputs: { value: "score" } }],
        gate: [{ task: "last", inputs: { value: "escalate" } }],
      },
      "tasks.0.to.0.inputs: the input value float32[-1, 4] of last.onnx needs the output " +
        '"escalate" of gate.onnx, whose outputs are image float32[-1, 4], quick float32[-1, ' +
        "4], escalate int64[-1]; under inputs, the edge may also name an input of gate.onnx to " +
        "pass on: image float32[-1, 4]",
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

/** A detector, what selects among its boxes, and what cuts them from the image. */
const CUTTING: readonly ModelFile[] = [
  model("find.onnx", ["image"], ["boxes", "number:int64"]),
  model("pick.onnx", ["boxes"], ["boxes", "count:int64"]),
  model("cut.onnx", ["image", "boxes"], ["crops"]),
];

function cuttingMistakes(edges: Edges, models = CUTTING, method: Method = "loki"): string[] {
  const tasks = ["cut", "pick", "find"].map((name) => ({
    name,
    variants: [{ model: `${name}.onnx` }],
    to: (edges[name] ?? []).map((edge) => ({ share: 1, inputs: null, count: null, ...edge })),
  }));
  const feeds = method === "inferline" ? "all edges together" : "every edge";
  const byFile = new Map(models.map((one) => [one.file, one]));
  const mistakes = feedMistakes({ tasks: tasks as unknown as Task[] }, byFile, feeds);
  return [...mistakes].map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe.each<Method>(["loki", "inferline"])("an edge of %s that passes an input on", (method) => {
  const DIRECT: Edges = { find: [{ task: "cut", inputs: { image: "image" } }] };
  const THROUGH: Edges = {
    find: [{ task: "pick", inputs: { scene: "image" } }],
    pick: [{ task: "cut", inputs: { image: "scene" } }],
  };

  test("needs no output of that name, also past a task that does not take it", () => {
    expect(cuttingMistakes(DIRECT, CUTTING, method)).toEqual([]);
    expect(cuttingMistakes(THROUGH, CUTTING, method)).toEqual([]);
  });

  test("names it: without an entry only outputs are given", () => {
    const [message = ""] = cuttingMistakes({ find: [{ task: "cut" }] }, CUTTING, method);
    expect(message).toContain("the input image float32[-1, 4] of cut.onnx needs");
  });

  test("is refused where it is neither an output nor an input", () => {
    const edges = { find: [{ task: "cut", inputs: { image: "picture" } }] };
    expect(cuttingMistakes(edges, CUTTING, method)).toEqual([
      "tasks.2.to.0.inputs: the input image float32[-1, 4] of cut.onnx needs the output " +
        '"picture" of find.onnx, whose outputs are boxes float32[-1, 4], number int64[-1]; under ' +
        "inputs, the edge may also name an input of find.onnx to pass on: image float32[-1, 4]",
    ]);
  });

  test("is refused where nothing gives the task before what it should pass on", () => {
    const { find, ...pick } = { ...THROUGH, find: [{ task: "pick" }] };
    expect(cuttingMistakes({ find, ...pick }, CUTTING, method)).toEqual([
      expect.stringMatching(
        /^tasks\.1\.to\.0\.inputs: the input image .* needs the output "scene"/,
      ),
    ]);
    const wrong = { ...THROUGH, find: [{ task: "pick", inputs: { scene: "picture" } }] };
    expect(cuttingMistakes(wrong, CUTTING, method)[1]).toBe(
      'tasks.2.to.0.inputs.scene: find.onnx has no output or input "picture"; ' +
        'it has "image", "boxes", "number"',
    );
  });

  test("is refused where the next task neither takes it nor passes it on", () => {
    const edges = { find: [{ task: "cut", inputs: { image: "image", scene: "image" } }] };
    expect(cuttingMistakes(edges, CUTTING, method)).toEqual([
      'tasks.2.to.0.inputs.scene: cut.onnx has no input "scene"; its inputs are "image", ' +
        '"boxes", and none of that name is passed on by an edge of "cut"',
    ]);
  });

  test("has to fit in type and shape, and an output of the name comes first", () => {
    const others = [model("find.onnx", ["image:uint8"], ["boxes"]), ...CUTTING.slice(1)];
    for (const edges of [DIRECT, THROUGH]) {
      expect(cuttingMistakes(edges, others, method)).toEqual([
        expect.stringMatching(/(image|scene) uint8/),
      ]);
    }
    const both = [model("find.onnx", ["image:uint8"], ["boxes", "image"]), ...CUTTING.slice(1)];
    expect(cuttingMistakes(DIRECT, both, method)).toEqual([]);
  });

  test("is not judged where a task before is not described", () => {
    expect(cuttingMistakes(THROUGH, CUTTING.slice(1), method)).toEqual([]);
  });
});

test("a feed has outputs, inputs that are passed on, and what is only passed on", () => {
  const task = (name: string) =>
    ({ name, variants: [{ model: `${name}.onnx` }] }) as unknown as Task;
  const byFile = new Map(CUTTING.map((one) => [one.file, one]));
  const feed = (inputs: Edge["inputs"], parent: string, child: string) =>
    feedOf({ inputs, count: null }, task(parent), task(child), byFile);
  expect(feed(null, "find", "cut")).toEqual({
    inputs: [{ input: "boxes", output: "boxes" }],
    count: null,
  });
  expect(feed({ scene: "image", total: "number" }, "find", "pick")).toEqual({
    inputs: [
      { input: "boxes", output: "boxes" },
      { input: "total", output: "number" },
    ],
    passed: [{ input: "scene", parentInput: "image" }],
    count: null,
  });
});
