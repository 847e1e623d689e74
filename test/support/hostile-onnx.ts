/** Models that do harm when they run: float32 "x" [batch, width] in, as much "y" out. */
import { TensorProto_DataType as DataType } from "../../compiler/onnx/onnx-pb.ts";
import { GraphBuilder, modelOf, tensorOf } from "./onnx-graphs.ts";

/** Asks for 16 GiB: the mean of a batch, 2^32 times. */
export function greedyModel(width: number): Uint8Array {
  const g = new GraphBuilder();
  const mean = g.node("ReduceMean", ["x"]);
  const many = g.node("Expand", [mean, g.ints([2 ** 16, 2 ** 16])]);
  g.node("Add", ["x", g.node("ReduceSum", [many])], {}, { output: ["y"] });
  return modelOf(graphOf(g, width));
}

/** A Loop that nothing ends. */
export function endlessModel(width: number): Uint8Array {
  const body = new GraphBuilder();
  body.node("Identity", ["goes"], {}, { output: ["goes_on"] });
  body.node("Neg", ["value"], {}, { output: ["next"] });
  const goes = (name: string) => tensorOf(name, [], DataType.BOOL);
  const row = (name: string) => tensorOf(name, ["batch", width]);
  const loop = body.graph(
    [tensorOf("round", [], DataType.INT64), goes("goes"), row("value")],
    [goes("goes_on"), row("next")],
  );
  const g = new GraphBuilder();
  g.node("Loop", ["", g.bool(true), "x"], { body: loop }, { output: ["y"] });
  return modelOf(graphOf(g, width));
}

/** One node after the other; an even number gives x back. */
export function longModel(width: number, nodes: number): Uint8Array {
  const g = new GraphBuilder();
  let value = "x";
  for (let node = 1; node < nodes; node++) value = g.node("Neg", [value]);
  g.node("Neg", [value], {}, { output: ["y"] });
  return modelOf(graphOf(g, width));
}

/** Every number is none. */
export function nanModel(width: number): Uint8Array {
  const g = new GraphBuilder();
  const zero = g.node("Sub", ["x", "x"]);
  g.node("Div", [zero, zero], {}, { output: ["y"] });
  return modelOf(graphOf(g, width));
}

function graphOf(g: GraphBuilder, width: number) {
  return g.graph([tensorOf("x", ["batch", width])], [tensorOf("y", ["batch", width])]);
}
