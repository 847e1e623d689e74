/** Models without the product: a session of onnxruntime, and inputs that are the same each time. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { drawScenes, SCENE_BYTES, SCENE_SIDE } from "../models/scenes/dataset.ts";
import { SEED, type Settings } from "./settings.ts";

/** With one thread on the processor, as a worker has it. */
export function bareSession(
  file: string,
  device: Settings["device"],
  options: InferenceSession.SessionOptions = {},
): Promise<InferenceSession> {
  return InferenceSession.create(file, {
    executionProviders: [device],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
    logSeverityLevel: 3,
    ...options,
  });
}

/**
 * Feeds of so many rows: scenes for what takes scenes, so that a detector finds something, and
 * else random numbers. An axis that is open besides the first is 1.
 */
export function rowsOf(session: InferenceSession, rows: number): InferenceSession.FeedsType {
  const feeds: Record<string, Tensor> = {};
  for (const input of session.inputMetadata) {
    if (!input.isTensor) throw new TypeError(`input ${input.name}: expected a tensor`);
    const shape = input.shape.map((size, axis) => {
      return typeof size === "number" && size >= 0 ? size : axis === 0 ? rows : 1;
    });
    feeds[input.name] = tensorOf(input.type, shape);
  }
  return feeds;
}

function tensorOf(type: string, shape: readonly number[]): Tensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const rng = new Rng(SEED, count);
  if (type === "uint8") {
    const isScene = shape.at(-1) === SCENE_SIDE && shape.at(-2) === SCENE_SIDE;
    const bytes = isScene
      ? drawScenes(SEED, count / SCENE_BYTES).pixels
      : Uint8Array.from({ length: count }, () => Math.floor(256 * rng.nextFloat()));
    return new Tensor("uint8", bytes, shape);
  }
  if (type === "float32") {
    return new Tensor(
      "float32",
      Float32Array.from({ length: count }, () => rng.nextFloat()),
      shape,
    );
  }
  throw new TypeError(`found an input of ${type}, expected uint8 or float32`);
}
