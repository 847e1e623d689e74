import { create, fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  TensorProto_DataType as DataType,
  FunctionProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  SparseTensorProtoSchema,
  TensorAnnotationSchema,
} from "../../../compiler/onnx/onnx-pb.ts";
import {
  floatTensor,
  GraphBuilder,
  intTensor,
  modelOf,
  tensorOf,
} from "../../support/onnx-graphs.ts";
import {
  cutAt,
  layersOf,
  randomTensor,
  relativeDifference,
  runStages,
  runWhole,
} from "../../support/onnx-stages.ts";

const ROW = tensorOf("x", ["batch", 4]);
const RESULT = tensorOf("y", ["batch", 4]);
const FEEDS = new Map([["x", randomTensor([1, 4], 7)]]);

/** Cuts everywhere and compares `outputs` with those of the whole. */
async function expectAgreement(bytes: Uint8Array, layerNames: string, outputs = ["y"]) {
  const layered = await layersOf(bytes);
  expect(layered.layerNames.join(" ")).toBe(layerNames);
  const whole = await runWhole(bytes, FEEDS);
  const ends = Array.from({ length: layered.layerCount - 1 }, (_, at) => at + 1);
  for (const cut of [[], ends]) {
    const values = await runStages(cutAt(layered, cut), FEEDS);
    for (const name of outputs) {
      expect(relativeDifference(values.get(name), whole.get(name)), name).toBeLessThan(1e-5);
    }
  }
  return layered;
}

/**
 * A branch that scales what it captures from outside, among it what another node of the graph
 * computes.
 */
function scalingBranch(captured: string, seed: number) {
  const branch = new GraphBuilder(seed);
  branch.node("Mul", [captured, branch.weight([4])], {}, { output: [`scaled${seed}`] });
  return branch.graph([], [tensorOf(`scaled${seed}`, ["batch", 4])]);
}

test("an If that a constant decides is one layer, and captures earlier values", async () => {
  const g = new GraphBuilder();
  g.node("Neg", ["x"], {}, { output: ["captured"] });
  const other = g.node("Abs", ["x"]);
  const decided = g.node("Not", [g.bool(false)]);
  const branches = {
    then_branch: scalingBranch("captured", 2),
    else_branch: scalingBranch("x", 3),
  };
  const chosen = g.node("If", [decided], branches);
  g.node("Add", [chosen, other], {}, { output: ["y"] });
  const layered = await expectAgreement(modelOf(g.graph([ROW], [RESULT])), "Neg Abs If Add");
  expect(layered.stage(2, 3).inputs.map(({ name }) => name)).toEqual(["x", "captured"]);
});

test("a Loop of a constant trip count is one layer", async () => {
  const body = new GraphBuilder(4);
  body.node("Identity", ["goOn"], {}, { output: ["stillOn"] });
  body.node("Mul", ["state", "x"], {}, { output: ["next"] });
  const loop = body.graph(
    [
      tensorOf("round", [], DataType.INT64),
      tensorOf("goOn", [], DataType.BOOL),
      tensorOf("state", ["batch", 4]),
    ],
    [tensorOf("stillOn", [], DataType.BOOL), tensorOf("next", ["batch", 4])],
  );
  const g = new GraphBuilder();
  const start = g.relu("x");
  const looped = g.node("Loop", [g.ints([3], []), g.bool(true), start], { body: loop });
  g.node("Neg", [looped], {}, { output: ["y"] });
  await expectAgreement(modelOf(g.graph([ROW], [RESULT])), "Relu Loop Neg");
});

test("functions of the model go with every stage", async () => {
  const double = create(FunctionProtoSchema, {
    name: "Double",
    domain: "local",
    input: ["a"],
    output: ["b"],
    node: [{ opType: "Add", input: ["a", "a"], output: ["b"] }],
    opsetImport: [{ domain: "", version: 17n }],
  });
  const g = new GraphBuilder();
  const first = g.node("Double", ["x"], {}, { domain: "local" });
  g.node("Double", [g.relu(first)], {}, { domain: "local", output: ["y"] });
  const opsetImport = [
    { domain: "", version: 17n },
    { domain: "local", version: 1n },
  ];
  const bytes = modelOf(g.graph([ROW], [RESULT]), { functions: [double], opsetImport });
  await expectAgreement(bytes, "Double Relu Double");
});

test("initializers listed among the inputs are no inputs, as before format 4", async () => {
  const g = new GraphBuilder();
  const weight = g.weight([4]);
  const sum = g.node("Add", ["x", weight]);
  g.node("Mul", [sum, weight], {}, { output: ["y"] });
  const graph = g.graph([ROW, tensorOf(weight, [4])], [RESULT]);
  const opsetImport = [{ domain: "", version: 8n }];
  const layered = await expectAgreement(modelOf(graph, { irVersion: 3n, opsetImport }), "Add Mul");
  expect(layered.stage(0, 2).inputs.map(({ name }) => name)).toEqual(["x"]);
  const second = fromBinary(ModelProtoSchema, layered.stage(1, 2).bytes);
  expect(second.irVersion).toBe(3n);
  expect(second.graph?.input.map(({ name }) => name)).toEqual([sum, weight]);
});

test("keeps metadata, opsets, sparse initializers, annotations and what they name", async () => {
  const g = new GraphBuilder();
  const scale = g.floats([], [0.5], "scale");
  const sum = g.node("Add", ["x", "sparse"]);
  g.node("Neg", [sum], {}, { output: ["y"] });
  const sparse = create(SparseTensorProtoSchema, {
    values: floatTensor("sparse", [2], [1, 2]),
    indices: intTensor("", [2], [0, 3]),
    dims: [4n],
  });
  const annotation = create(TensorAnnotationSchema, {
    tensorName: "y",
    quantParameterTensorNames: [{ key: "SCALE_TENSOR", value: scale }],
  });
  const graph = g.graph([ROW], [RESULT], {
    sparseInitializer: [sparse],
    quantizationAnnotation: [annotation],
  });
  const metadataProps = [{ key: "made", value: "here" }];
  const layered = await expectAgreement(
    modelOf(graph, { metadataProps, producerName: "test" }),
    "Add Neg",
  );
  const [first, second] = [layered.stage(0, 1), layered.stage(1, 2)].map(({ bytes }) =>
    fromBinary(ModelProtoSchema, bytes),
  );
  expect(first).toMatchObject({ producerName: "test", metadataProps, irVersion: 8n });
  expect(first?.opsetImport).toMatchObject([{ domain: "", version: 17n }]);
  expect(first?.graph?.sparseInitializer).toHaveLength(1);
  expect(first?.graph?.quantizationAnnotation).toHaveLength(0);
  expect(second?.graph?.sparseInitializer).toHaveLength(0);
  expect(second?.graph?.quantizationAnnotation).toHaveLength(1);
  expect(second?.graph?.initializer.map(({ name }) => name)).toEqual([scale]);
});

test("outputs leave early, inputs enter late, and unused nodes go", async () => {
  const g = new GraphBuilder();
  g.relu("x");
  g.node("Neg", ["x"], {}, { output: ["early"] });
  const middle = g.node("Exp", ["early"]);
  g.node("Add", [middle, "x"], {}, { output: ["y"] });
  const graph = g.graph([ROW], [RESULT, tensorOf("early", ["batch", 4])]);
  const layered = await expectAgreement(modelOf(graph), "Neg Exp Add", ["y", "early"]);
  const namesOf = (tensors: readonly { name: string }[]) => tensors.map(({ name }) => name);
  const [first, last] = [layered.stage(0, 1), layered.stage(2, 3)];
  expect(namesOf(first.outputs)).toEqual(["early"]);
  expect(namesOf(last.inputs)).toEqual(["x", middle]);
  expect(namesOf(last.outputs)).toEqual(["y"]);
  expect(namesOf(layered.stage(0, 3).outputs)).toEqual(["y", "early"]);
});

test("an input or a constant that is an output comes with the last stage", async () => {
  const g = new GraphBuilder();
  const weight = g.weight([4]);
  const constant = g.node("Neg", [weight]);
  g.node("Neg", [g.relu("x")], {}, { output: ["y"] });
  const graph = g.graph([ROW], [RESULT, ROW, tensorOf(constant, [4])]);
  const layered = await expectAgreement(modelOf(graph), "Relu Neg", ["y", constant]);
  const { inputs, outputs } = layered.stage(1, 2);
  expect(inputs.map(({ name }) => name)[0]).toBe("x");
  expect(outputs.map(({ shape }) => shape)).toEqual([[1, 4], [1, 4], [4]]);
});

test("nodes that a file has before those they read from are sorted", async () => {
  const g = new GraphBuilder();
  g.node("Neg", ["b"], {}, { output: ["y"] });
  g.node("Exp", ["a"], {}, { output: ["b"] });
  g.node("Relu", ["x"], {}, { output: ["a"] });
  await expectAgreement(modelOf(g.graph([ROW], [RESULT])), "Relu Exp Neg");
});

test("what is drawn is drawn once, although nothing goes into it", async () => {
  const g = new GraphBuilder();
  const noise = g.node("RandomNormal", [], { shape: [1, 4] });
  const sum = g.node("Add", ["x", noise]);
  g.node("Sub", [sum, noise], {}, { output: ["y"] });
  await expectAgreement(modelOf(g.graph([ROW], [RESULT])), "RandomNormal Add Sub");
});

test("no cut crosses a sequence, bfloat16 or a shape that the data decides", async () => {
  const g = new GraphBuilder();
  const sequence = g.node("SequenceConstruct", [g.relu("x"), "x"]);
  const joined = g.node("ConcatFromSequence", [sequence], { axis: 1 });
  const half = g.node("Cast", [joined], { to: DataType.BFLOAT16 });
  const back = g.node("Cast", [half], { to: DataType.FLOAT });
  // Only from here on shapes are inferred again, which tells that the count is of 2 numbers.
  const rows = g.node("Reshape", [back, g.ints([1, 8])]);
  const found = g.node("Transpose", [g.node("NonZero", [rows])], { perm: [1, 0] });
  const count = g.node("ReduceSum", [found, g.ints([0])], { keepdims: 0 });
  g.node("Cast", [count], { to: DataType.FLOAT }, { output: ["y"] });
  const bytes = modelOf(g.graph([ROW], [tensorOf("y", [2])]));
  await expectAgreement(
    bytes,
    "Relu SequenceConstruct+ConcatFromSequence Cast+Cast Reshape NonZero+Transpose+ReduceSum Cast",
  );
});

test("runs that happen to agree do not make a shape fixed that the data decides", async () => {
  const g = new GraphBuilder();
  // All elements are found in every run of the probe, and fewer where one is 0.
  const found = g.node("NonZero", [g.node("Abs", ["x"])]);
  g.node("Cast", [found], { to: DataType.FLOAT }, { output: ["y"] });
  const layered = await layersOf(modelOf(g.graph([ROW], [tensorOf("y", [2, "found"])])));
  expect(layered.layerNames).toEqual(["Abs", "NonZero+Cast"]);
  expect(layered.stage(0, 2).outputs).toEqual([{ name: "y", dtype: "float32", shape: [2, -1] }]);
});

test("an output with the rows of the input by name has one row per instance", async () => {
  const g = new GraphBuilder();
  const found = g.node("Transpose", [g.node("NonZero", [g.node("Abs", ["x"])])], { perm: [1, 0] });
  const first = g.node("Slice", [found, g.ints([0]), g.ints([1]), g.ints([0])]);
  g.node("Cast", [first], { to: DataType.FLOAT }, { output: ["y"] });
  g.node("Cast", [found], { to: DataType.FLOAT }, { output: ["z"] });
  const outputs = [tensorOf("y", ["batch", 2]), tensorOf("z", ["found", 2])];
  const layered = await layersOf(modelOf(g.graph([ROW], outputs)));
  expect(layered.stage(0, layered.layerCount).outputs.map(({ shape }) => shape)).toEqual([
    [1, 2],
    [-1, 2],
  ]);
});

test("a shape that constants decide is fixed, whatever op decides it", async () => {
  const g = new GraphBuilder();
  const found = g.node("NonZero", [g.floats([4], [1, 0, 1, 1])]);
  const indices = g.node("Squeeze", [found, g.ints([0])]);
  const picked = g.node("Gather", [g.relu("x"), indices], { axis: 1 });
  g.node("Neg", [picked], {}, { output: ["y"] });
  await expectAgreement(modelOf(g.graph([ROW], [tensorOf("y", ["batch", 3])])), "Relu Gather Neg");
});

test.each([
  ["int64", DataType.INT64],
  ["int32", DataType.INT32],
  ["bool", DataType.BOOL],
  ["float16", DataType.FLOAT16],
])("%s goes in as 1 too, so that shapes that follow it show", async (_, type) => {
  const g = new GraphBuilder();
  const whole = g.node("Cast", ["x"], { to: DataType.INT64 });
  const filled = g.node("ConstantOfShape", [g.node("Add", [whole, g.ints([2])])]);
  g.node("ReduceSum", [filled, g.ints([0])], { keepdims: 0 }, { output: ["y"] });
  const graph = g.graph([tensorOf("x", ["batch"], type)], [tensorOf("y", [])]);
  const layered = await layersOf(modelOf(graph));
  expect(layered.layerNames).toEqual(["Cast", "Add", "ConstantOfShape+ReduceSum"]);
});

test("an input that takes no index but 0 is no obstacle", async () => {
  const g = new GraphBuilder();
  const row = g.node("Gather", [g.weight([1, 4]), "x"]);
  g.node("Neg", [row], {}, { output: ["y"] });
  const graph = g.graph([tensorOf("x", ["batch"], DataType.INT64)], [RESULT]);
  const layered = await layersOf(modelOf(graph));
  expect(layered.layerNames).toEqual(["Gather", "Neg"]);
});

test("fields that this version of the format does not know are kept", async () => {
  const g = new GraphBuilder();
  g.node("Neg", ["x"], {}, { output: ["y"] });
  const graph = create(GraphProtoSchema, g.graph([ROW], [RESULT]));
  const unknown = { no: 999, wireType: 0, data: Uint8Array.of(42) };
  for (const message of [graph, ...graph.node]) message.$unknown = [unknown];
  const layered = await layersOf(modelOf(graph));
  const stage = fromBinary(ModelProtoSchema, layered.stage(0, 1).bytes);
  expect(stage.graph?.$unknown).toEqual([unknown]);
  expect(stage.graph?.node[0]?.$unknown).toEqual([unknown]);
});
