/**
 * Whether a model is all in its one file. Tensors may lie in other files, whose names the model
 * chooses: they are in no digest, and onnxruntime reads them wherever it finds them.
 */
import { visitTensors } from "./onnx-tensors.ts";

/** @throws Error naming the first tensor that lies elsewhere; or if it is no ONNX file. */
export function checkSelfContained(model: Uint8Array): void {
  visitTensors(model, ({ name, isElsewhere }) => {
    if (!isElsewhere) return;
    throw new Error(
      `tensor "${name}" lies in another file, which no digest covers; allowed: models in one ` +
        "file, as onnx.save writes them with save_as_external_data=False (in Python: " +
        'onnx.save(onnx.load("a.onnx"), "one-file.onnx"))',
    );
  });
}
