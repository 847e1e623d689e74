/** A model as exporters write it today: its weights lie in other files. */
import { TensorProto_DataLocation } from "../../compiler/onnx/onnx-pb.ts";
import { floatTensor, GraphBuilder, modelOf, tensorOf } from "./onnx-graphs.ts";

/**
 * x plus three tensors of ones: two in split.onnx.data, one in more/third.bin. The length of the
 * second is left to its shape.
 */
export function splitModel(width: number): Uint8Array {
  const g = new GraphBuilder();
  const bytes = 4 * width;
  g.initializers.push(
    external("first", width, { location: "split.onnx.data", offset: "0", length: `${bytes}` }),
    external("second", width, { location: "split.onnx.data", offset: `${bytes}` }),
    external("third", width, { location: "more/third.bin", length: `${bytes}` }),
  );
  const sum = g.node("Add", [g.node("Add", ["x", "first"]), "second"]);
  g.node("Add", [sum, "third"], {}, { output: ["y"] });
  return modelOf(g.graph([tensorOf("x", ["batch", width])], [tensorOf("y", ["batch", width])]));
}

export function weightsOf(values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

/** @param entries location, offset and length, as far as they are given. */
export function external(name: string, width: number, entries: Readonly<Record<string, string>>) {
  const externalData = Object.entries(entries).map(([key, value]) => {
    return { $typeName: "onnx.StringStringEntryProto", key, value } as const;
  });
  return {
    ...floatTensor(name, [width], []),
    dataLocation: TensorProto_DataLocation.EXTERNAL,
    externalData,
  };
}
