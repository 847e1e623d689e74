import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { openLayeredModel } from "../../../compiler/onnx/layered-model.ts";
import { OnnxModelError } from "../../../compiler/onnx/onnx-model-error.ts";
import {
  TensorProto_DataType as DataType,
  FunctionProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from "../../../compiler/onnx/onnx-pb.ts";
import { probeTensors } from "../../../runtime/exec/tensors/probe-tensors.ts";
import { GraphBuilder, modelOf, tensorOf } from "../../support/onnx-graphs.ts";
import { modelFile } from "../../support/onnx-stages.ts";

const ROW = tensorOf("x", ["batch", 4]);
const RESULT = tensorOf("y", ["batch", 4]);
const WHY =
  "depends on the inputs of the graph; its work depends on the data, " +
  "so no profile of it would hold; allowed: control flow decided by constants";

/** On one line, without the path that it starts with. */
async function refusalOf(bytes: Uint8Array): Promise<string> {
  const path = modelFile(bytes);
  const error: unknown = await openLayeredModel(path, probeTensors).catch((reason) => reason);
  if (!(error instanceof OnnxModelError)) throw error;
  expect(error.message).not.toMatch(/\n/);
  expect(error.message.startsWith(`${path}: `)).toBe(true);
  return error.message.slice(path.length + 2);
}

function negated(input: ValueInfoProto): Uint8Array {
  const g = new GraphBuilder();
  g.node("Neg", ["x"], {}, { output: ["y"] });
  return modelOf(g.graph([input], [create(ValueInfoProtoSchema, { name: "y" })]));
}

function branch(name: string) {
  const g = new GraphBuilder();
  g.node("Identity", ["x"], {}, { output: [name] });
  return g.graph([], [tensorOf(name, ["batch", 4])]);
}

const BRANCHES = { then_branch: branch("yes"), else_branch: branch("no") };

/**
 * Carries a counter, a size and the size of the round before; `condition` is a value of the body.
 */
function loopBody(condition: string) {
  const body = new GraphBuilder();
  body.node("Less", ["counter", body.ints([3], [])], {}, { output: ["fewer"] });
  body.node("Less", ["size", body.floats([], [9], "nine")], {}, { output: ["smaller"] });
  body.node("Less", ["sizeBefore", "nine"], {}, { output: ["wasSmaller"] });
  body.node("Identity", ["size"], {}, { output: ["thisSize"] });
  body.node("Add", ["counter", body.ints([1], [])], {}, { output: ["nextCounter"] });
  body.node("Add", ["size", "size"], {}, { output: ["nextSize"] });
  body.node("Identity", [condition], {}, { output: ["stillOn"] });
  const scalar = (name: string, type: number) => tensorOf(name, [], type);
  return body.graph(
    [
      scalar("round", DataType.INT64),
      scalar("goOn", DataType.BOOL),
      scalar("counter", DataType.INT64),
      scalar("size", DataType.FLOAT),
      scalar("sizeBefore", DataType.FLOAT),
    ],
    [
      scalar("stillOn", DataType.BOOL),
      scalar("nextCounter", DataType.INT64),
      scalar("nextSize", DataType.FLOAT),
      scalar("thisSize", DataType.FLOAT),
    ],
  );
}

/** What ends it is a value of the body. */
function loopModel(ends: string, { trips = "constant", start = "constant" } = {}): Uint8Array {
  const g = new GraphBuilder();
  const sum = g.node("ReduceSum", ["x"], { keepdims: 0 });
  const count = g.node("Cast", [sum], { to: DataType.INT64 });
  const positive = g.node("Greater", [sum, g.floats([], [0])]);
  const reads = [
    trips === "constant" ? g.ints([5], []) : count,
    start === "constant" ? g.bool(true) : positive,
    ...[g.ints([0], []), sum, g.floats([], [0])],
  ];
  g.node("Loop", reads, { body: loopBody(ends) }, { output: ["n", "y", "before"] });
  return modelOf(g.graph([ROW], [tensorOf("y", [])]));
}

test("refuses an If that the data decides, by its name", async () => {
  const g = new GraphBuilder();
  const sum = g.node("ReduceSum", ["x"], { keepdims: 0 });
  const positive = g.node("Greater", [sum, g.floats([], [0])]);
  g.node("If", [positive], BRANCHES, { output: ["y"], name: "gate" });
  const refusal = await refusalOf(modelOf(g.graph([ROW], [RESULT])));
  expect(refusal).toBe(`node "gate" (If): its condition ${WHY}`);
});

test.each([
  ["trip count", loopModel("fewer", { trips: "computed" }), "trip count"],
  ["first condition", loopModel("fewer", { start: "computed" }), "condition"],
  ["condition", loopModel("smaller"), "condition"],
  ["condition, one round later,", loopModel("wasSmaller"), "condition"],
])("refuses a Loop whose %s the data decides", async (_, bytes, named) => {
  expect(await refusalOf(bytes)).toBe(`the Loop that produces "n": its ${named} ${WHY}`);
});

test("takes a Loop whose body ends it by a counter, whatever else it carries", async () => {
  const layered = await openLayeredModel(modelFile(loopModel("fewer")), probeTensors);
  expect(layered.layerNames).toEqual(["ReduceSum", "Loop"]);
});

test("refuses an If that the data decides inside a branch, and inside a function", async () => {
  const inner = new GraphBuilder();
  const sum = inner.node("ReduceSum", ["x"], { keepdims: 0 }, { output: ["sum"] });
  inner.node("Cast", [sum], { to: DataType.BOOL }, { output: ["decided"] });
  inner.node("If", ["decided"], BRANCHES, { output: ["inner"], name: "inside" });
  const outer = inner.graph([], [tensorOf("inner", ["batch", 4])]);
  const g = new GraphBuilder();
  g.node(
    "If",
    [g.bool(true)],
    { then_branch: outer, else_branch: branch("other") },
    { output: ["y"] },
  );
  const expected = `node "inside" (If): its condition ${WHY}`;
  expect(await refusalOf(modelOf(g.graph([ROW], [RESULT])))).toBe(expected);

  const gated = create(FunctionProtoSchema, {
    name: "Gated",
    domain: "local",
    input: ["x"],
    output: ["inner"],
    node: inner.nodes,
    opsetImport: [{ domain: "", version: 17n }],
  });
  const calling = new GraphBuilder();
  calling.node("Gated", ["x"], {}, { domain: "local", output: ["y"] });
  const graph = calling.graph([ROW], [RESULT]);
  expect(await refusalOf(modelOf(graph, { functions: [gated] }))).toBe(expected);
});

test("quotes onnxruntime's message on unsupported operators", async () => {
  const g = new GraphBuilder();
  g.node("Neg", ["x"], {}, { output: ["y"] });
  const graph = g.graph([ROW], [RESULT]);
  const future = modelOf(graph, { opsetImport: [{ domain: "", version: 99n }] });
  const refusal = await refusalOf(future);
  expect(refusal).toMatch(/^onnxruntime rejects it \(it imports ai\.onnx 99; IR version 8\): /);
  expect(refusal).toMatch(/Current official support for domain ai\.onnx is till opset \d+\.$/);
  expect(await refusalOf(modelOf(graph, { irVersion: 99n }))).toMatch(/max supported IR version/);

  const foreign = new GraphBuilder();
  foreign.node("Guess", ["x"], {}, { domain: "my.own", output: ["y"] });
  const opsetImport = [
    { domain: "", version: 17n },
    { domain: "my.own", version: 3n },
  ];
  const unknown = modelOf(foreign.graph([ROW], [RESULT]), { opsetImport });
  expect(await refusalOf(unknown)).toMatch(/imports ai\.onnx 17, my\.own 3;.*my\.own:Guess/);
});

test("refuses files that are not models, and a model without nodes", async () => {
  const text = new TextEncoder().encode("no model at all");
  expect(await refusalOf(text)).toMatch(/^expected an ONNX model, got another file: /);
  expect(await refusalOf(new Uint8Array())).toMatch(/got another file: it has no graph$/);
  const empty = new GraphBuilder().graph([ROW], [ROW]);
  expect(await refusalOf(modelOf(empty))).toBe("expected at least one node, found none");
  const constant = new GraphBuilder();
  constant.node("Neg", [constant.weight([4])], {}, { output: ["y"] });
  const refusal = await refusalOf(modelOf(constant.graph([ROW], [RESULT])));
  expect(refusal).toBe("expected outputs that depend on the inputs, found none");
  await expect(openLayeredModel("/nowhere/m.onnx", probeTensors)).rejects.toThrow(
    /^\/nowhere\/m\.onnx: expected a readable file, got: ENOENT/,
  );
});

test.each([
  [
    ["batch", 3, "width"],
    /^input "x" has the shape \[batch, 3, width\]; allowed: axis 0 open or 1/,
  ],
  [[4, 3], /^input "x" has the shape \[4, 3\]; allowed: .* one instance at a time$/],
  [[], /^input "x" has the shape \[\]; allowed: axis 0 open or 1/],
  [undefined, /^input "x": expected a shape, found none; allowed: axis 0 open or 1/],
] as const)("refuses an input of the shape %j", async (shape, expected) => {
  expect(await refusalOf(negated(tensorOf("x", shape)))).toMatch(expected);
});

test("refuses inputs and outputs that workers are not sent", async () => {
  const text = negated(tensorOf("x", ["batch"], DataType.BFLOAT16));
  expect(await refusalOf(text)).toMatch(
    /^input "x" has the element type bfloat16; allowed: float32,/,
  );
  const g = new GraphBuilder();
  g.node("SequenceConstruct", ["x"], {}, { output: ["y"] });
  const graph = g.graph([ROW], [create(ValueInfoProtoSchema, { name: "y" })]);
  expect(await refusalOf(modelOf(graph))).toMatch(/^output "y" cannot be sent by a worker/);
});

test("refuses values that are missing, given twice, or wait for themselves", async () => {
  const model = (...nodes: [string[], string][]) => {
    const g = new GraphBuilder();
    for (const [inputs, output] of nodes) g.node("Sum", inputs, {}, { output: [output] });
    return refusalOf(modelOf(g.graph([ROW], [RESULT])));
  };
  expect(await model([["x", "ghost"], "y"])).toMatch(
    /reads "ghost", which no node produces; allowed/,
  );
  expect(await model([["x"], "other"])).toBe(
    'expected a node that produces the output "y", found none',
  );
  expect(await model([["x"], "y"], [["x"], "y"])).toMatch(/produces "y", which exists already/);
  expect(await model([["x", "b"], "y"], [["y"], "b"])).toMatch(/depends on its own output/);
});
