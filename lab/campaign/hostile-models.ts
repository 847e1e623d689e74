/**
 * Models that do harm where they are read or run: float32 "x" [batch, 4] in, float32 "y" out, as
 * far as they are models at all. Each is told by what it does.
 */
import { TensorProto_DataType as DataType } from "../../compiler/onnx/onnx-pb.ts";
import { endlessModel, greedyModel, longModel, nanModel } from "../../test/support/hostile-onnx.ts";
import { GraphBuilder, modelOf, tensorOf } from "../../test/support/onnx-graphs.ts";

const WIDTH = 4;
const X = tensorOf("x", ["batch", WIDTH]);
const Y = tensorOf("y", ["batch", WIDTH]);

export interface HostileModel {
  readonly name: string;
  readonly bytes: () => Uint8Array;
}

export const HOSTILE_MODELS: readonly HostileModel[] = [
  { name: "16 GiB in one value", bytes: () => greedyModel(WIDTH) },
  { name: "a Loop without an end", bytes: () => endlessModel(WIDTH) },
  { name: "outputs that are NaN", bytes: () => nanModel(WIDTH) },
  { name: "2,000 nodes one after another", bytes: () => longModel(WIDTH, 2000) },
  { name: "50,000 nodes one after another", bytes: () => longModel(WIDTH, 50_000) },
  { name: "an If in an If, 500 deep", bytes: () => nestedIfs(500) },
  { name: "an If in an If, 20 deep", bytes: () => nestedIfs(20) },
  { name: "a constant that becomes 64 GiB", bytes: constantOfShape },
  { name: "weights claimed and not there", bytes: () => claimedWeights(2 ** 40) },
  { name: "weights of a negative size", bytes: () => claimedWeights(-5) },
  { name: "weights in /dev/zero", bytes: () => externalWeights("/dev/zero", "0") },
  { name: "weights in a file above", bytes: () => externalWeights("../../../etc/passwd", "0") },
  { name: "weights at a negative offset", bytes: () => externalWeights("w.bin", "-8") },
  { name: "weights at an offset beyond all", bytes: () => externalWeights("w.bin", "1e300") },
  { name: "nodes in a circle", bytes: cyclic },
  { name: "two values of one name", bytes: sameNames },
  { name: "an operator of nobody", bytes: () => oneNode("Explode", "com.nobody") },
  { name: "an operator that there is not", bytes: () => oneNode("Explode", "") },
  { name: "text for numbers", bytes: strings },
  { name: "an output of another number of rows", bytes: manyRows },
  { name: "a rank of 3,000", bytes: deepRank },
  { name: "an input of 2^40 numbers a row", bytes: () => wideInput(2 ** 40) },
  { name: "an input of a negative width", bytes: () => wideInput(-3) },
  { name: "an empty file", bytes: () => new Uint8Array() },
  { name: "half a model", bytes: () => longModel(WIDTH, 100).slice(0, 1500) },
  { name: "random bytes", bytes: () => Uint8Array.from({ length: 5000 }, (_, i) => (i * i) % 251) },
  { name: "a million empty nodes", bytes: () => emptyNodes(1_000_000) },
  { name: "messages nested 10,000 deep", bytes: () => nestedMessages(10_000) },
  { name: "JSON", bytes: () => new TextEncoder().encode('{"graph": {"node": []}}') },
];

function nestedIfs(depth: number): Uint8Array {
  let branch = new GraphBuilder();
  branch.node("Identity", ["x"], {}, { output: ["o0"] });
  let graph = branch.graph([], [tensorOf("o0", ["batch", WIDTH])]);
  for (let level = 1; level < depth; level++) {
    branch = new GraphBuilder();
    const sides = { then_branch: graph, else_branch: graph };
    // Each level once: a graph of both sides would grow with 2^depth.
    const other = new GraphBuilder();
    other.node("Identity", ["x"], {}, { output: [`e${level}`] });
    sides.else_branch = other.graph([], [tensorOf(`e${level}`, ["batch", WIDTH])]);
    branch.node("If", ["yes"], sides, { output: [`o${level}`] });
    graph = branch.graph([], [tensorOf(`o${level}`, ["batch", WIDTH])]);
  }
  const g = new GraphBuilder();
  const other = new GraphBuilder();
  other.node("Identity", ["x"], {}, { output: ["e"] });
  const yes = g.node("Identity", [g.bool(true)], {}, { output: ["yes"] });
  const sides = { then_branch: graph, else_branch: other.graph([], [tensorOf("e", undefined)]) };
  g.node("If", [yes], sides, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

function constantOfShape(): Uint8Array {
  const g = new GraphBuilder();
  const many = g.node("ConstantOfShape", [g.ints([2 ** 17, 2 ** 17])]);
  g.node("Add", ["x", g.node("ReduceSum", [many])], {}, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

function claimedWeights(size: number): Uint8Array {
  const g = new GraphBuilder();
  const weights = g.weight([1]);
  const [first] = g.initializers;
  if (first !== undefined) first.dims = [BigInt(size)];
  g.node("Add", ["x", weights], {}, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

function externalWeights(location: string, offset: string): Uint8Array {
  const g = new GraphBuilder();
  const weights = g.weight([WIDTH]);
  const [first] = g.initializers;
  if (first !== undefined) {
    first.rawData = new Uint8Array();
    first.dataLocation = 1;
    const entry = (key: string, value: string) => ({ $typeName: ENTRY, key, value }) as const;
    first.externalData = [entry("location", location), entry("offset", offset)];
  }
  g.node("Add", ["x", weights], {}, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

const ENTRY = "onnx.StringStringEntryProto";

function cyclic(): Uint8Array {
  const g = new GraphBuilder();
  g.node("Add", ["x", "b"], {}, { output: ["a"] });
  g.node("Neg", ["a"], {}, { output: ["b"] });
  g.node("Neg", ["b"], {}, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

function sameNames(): Uint8Array {
  const g = new GraphBuilder();
  g.node("Neg", ["x"], {}, { output: ["y"] });
  g.node("Abs", ["x"], {}, { output: ["y"] });
  return modelOf(g.graph([X], [Y]));
}

function oneNode(operator: string, domain: string): Uint8Array {
  const g = new GraphBuilder();
  g.node(operator, ["x"], {}, { output: ["y"], domain });
  const opsetImport = [
    { domain: "", version: 17n },
    { domain: "com.nobody", version: 1n },
  ];
  return modelOf(g.graph([X], [Y]), { opsetImport });
}

function strings(): Uint8Array {
  const g = new GraphBuilder();
  g.node("Identity", ["x"], {}, { output: ["y"] });
  const text = (name: string) => tensorOf(name, ["batch", WIDTH], DataType.STRING);
  return modelOf(g.graph([text("x")], [text("y")]));
}

function manyRows(): Uint8Array {
  const g = new GraphBuilder();
  g.node("Concat", ["x", "x"], { axis: 0 }, { output: ["y"] });
  return modelOf(g.graph([X], [tensorOf("y", ["rows", WIDTH])]));
}

function deepRank(): Uint8Array {
  const g = new GraphBuilder();
  g.node("Identity", ["x"], {}, { output: ["y"] });
  const shape = ["batch", ...Array.from({ length: 3000 }, () => 1)];
  return modelOf(g.graph([tensorOf("x", shape)], [tensorOf("y", shape)]));
}

function wideInput(width: number): Uint8Array {
  const g = new GraphBuilder();
  g.node("Identity", ["x"], {}, { output: ["y"] });
  const shape = ["batch", width];
  return modelOf(g.graph([tensorOf("x", shape)], [tensorOf("y", shape)]));
}

/** Two bytes each in the file, and an object each in memory. */
function emptyNodes(count: number): Uint8Array {
  const node = [0x0a, 0x00];
  const graph = Uint8Array.from({ length: 2 * count }, (_, index) => node[index % 2] ?? 0);
  return Uint8Array.from([0x3a, ...varint(graph.length), ...[]].concat([...graph]));
}

/** Graphs in attributes in nodes in graphs. */
function nestedMessages(depth: number): Uint8Array {
  let message: number[] = [];
  // Field 6 of an attribute, 5 of a node, 1 of a graph.
  const tags = [0x32, 0x2a, 0x0a];
  const layers: number[][] = [];
  let length = 0;
  for (let level = 0; level < depth; level++) {
    const head = [tags[level % 3] ?? 0, ...varint(length)];
    layers.push(head);
    length += head.length;
  }
  message = [0x3a, ...varint(length), ...layers.reverse().flat()];
  return Uint8Array.from(message);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}
