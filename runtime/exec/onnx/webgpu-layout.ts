/**
 * How WebGPU is to lay out the images of a model: onnxruntime 1.30 computes some convolutions wrong
 * where channels come last, which is what it prefers.
 */
import { visitTensors } from "./onnx-tensors.ts";

/** Channels that a kernel takes at once. */
const FOUR = 4;
/** Where those of the input are no multiple of four but of three, and this is what goes wrong. */
const THREE = 3;

/**
 * "NCHW" for a model with weights that onnxruntime's kernel for channels last takes wrong, null for
 * any other, which may be laid out as the provider likes.
 *
 * Tried with convolutions of one and two dimensions: answers are wrong where the output channels
 * are a multiple of 4, and the input channels more than 3, a multiple of 3 and none of 4, unless
 * the kernel is of size 1 (onnxruntime issue 29651).
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
