/** Checks that an ONNX file takes and gives the promised tensors. */
import type { TensorInfo } from "../../bundle/schema.ts";
import type { VariantModel } from "../models/executor.ts";
import type { InferenceSession } from "./onnxruntime.ts";
import { tensorData } from "./tensor-data.ts";

/** @throws Error if names or element types differ from the promised ones, or their order does. */
export function checkModel(
  { adapter, inputs, outputs }: VariantModel,
  session: InferenceSession,
): void {
  checkTensors("input", adapter?.inputs ?? inputs, session.inputMetadata);
  if (adapter === undefined) {
    checkTensors("output", outputs, session.outputMetadata);
    checkOpenAxes(inputs);
    return;
  }
  for (const { name } of adapter.outputs) {
    if (session.outputNames.includes(name)) continue;
    throw new Error(`expected an output "${name}"; has ${session.outputNames.join(", ")}`);
  }
}

export function checkTensors(
  what: string,
  promised: readonly Pick<TensorInfo, "name" | "dtype">[],
  found: readonly InferenceSession.ValueMetadata[],
): void {
  const expected = promised.map(({ name, dtype }) => `${name} ${dtype}`);
  const actual = found.map(
    (value) => `${value.name} ${value.isTensor ? value.type : "not a tensor"}`,
  );
  if (expected.join() !== actual.join()) {
    throw new Error(`expected the ${what}s ${expected.join(", ")}; has ${actual.join(", ")}`);
  }
  for (const { dtype } of promised) tensorData(dtype);
}

export function checkOpenAxes(inputs: readonly TensorInfo[]): void {
  for (const { name, shape } of inputs) {
    if (shape.slice(1).filter((size) => size < 0).length <= 1) continue;
    const allowed = "only the first dimension and one other may be open";
    throw new Error(`input "${name}" has the shape [${shape.join(", ")}]; ${allowed}`);
  }
}
