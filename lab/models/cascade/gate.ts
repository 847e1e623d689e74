/** A classifier that also says of each row whether it is sure. */
import { extendedModel } from "../onnx-graph.ts";

/** The code of int64 in onnx.proto. */
const INT64 = 7;

/**
 * The model as it is, and nodes behind its logits. It gives, besides `logits`, `escalate` int64
 * [batch], 1 where the largest probability is below the threshold and 0 elsewhere, and `image`, the
 * pixels as they came.
 * @param model ONNX, from `pixels` uint8 [batch, width] to `logits` float32 [batch, classes].
 * @param threshold probability from 0 to 1, compared in float32. @param width of a row of pixels.
 */
export function gateOf(
  model: Uint8Array,
  threshold: number,
  width: number,
): Uint8Array<ArrayBuffer> {
  const extension = {
    nodes: [
      { op: "Softmax", inputs: ["logits"], output: "probabilities", attributes: { axis: 1 } },
      {
        op: "ReduceMax",
        inputs: ["probabilities"],
        output: "confidence",
        attributes: { axes: [1], keepdims: 0 },
      },
      { op: "Less", inputs: ["confidence", "threshold"], output: "is_unsure" },
      { op: "Cast", inputs: ["is_unsure"], output: "escalate", attributes: { to: INT64 } },
      { op: "Identity", inputs: ["pixels"], output: "image" },
    ],
    constants: [{ name: "threshold", type: "float32", shape: [], values: [threshold] }],
    outputs: [
      { name: "escalate", type: "int64", shape: ["batch"] },
      { name: "image", type: "uint8", shape: ["batch", width] },
    ],
  } as const;
  return extendedModel(model, extension, true);
}
