/**
 * Image layout of a model on WebGPU: onnxruntime 1.30 computes some convolutions wrong in its
 * default layout, channels last.
 */
import { visitTensors } from "../files/onnx-tensors.ts";

/** Channels that a kernel takes at once. */
const FOUR = 4;
/** Input channels that are a multiple of three but not of four are computed wrong. */
const THREE = 3;

/**
 * Returns "NCHW" for a model with weights that onnxruntime's channels-last kernel computes wrong;
 * null for any other, which uses the provider's default.
 *
 * Tried with convolutions of one and two dimensions: answers are wrong if the output channels are a
 * multiple of 4, the input channels are more than 3, a multiple of 3 and not of 4, and the kernel
 * is larger than 1 (onnxruntime issue 29651).
 */
export function webgpuLayout(model: Uint8Array): "NCHW" | null {
  let isWrong = false;
  visitTensors(model, ({ dims }) => {
    const [outputs = 0, inputs = 0, ...kernel] = dims;
    const isTakenByThree = inputs > THREE && inputs % THREE === 0 && inputs % FOUR !== 0;
    isWrong ||= outputs % FOUR === 0 && isTakenByThree && kernel.some((size) => size > 1);
  });
  return isWrong ? "NCHW" : null;
}
