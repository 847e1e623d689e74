/** What a gate and the accurate model behind it answer, and what the threshold makes of it. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { CLASS_NAMES, IMAGE_BYTES } from "../image-classification/dataset.js";

/** Seed of the images the threshold is chosen on: no model was trained on them, and no figure is measured on them. */
export const CALIBRATION_SEED = 3;
export const CALIBRATION_COUNT = 4_000;

/** Largest part of the accurate model's accuracy that a cascade may lose on the calibration images. */
export const LOSS = 0.001;

const BATCH_SIZE = 100;

/**
 * Answers of a model to images, as numbers by output.
 * @param {Uint8Array} model ONNX, with an input `pixels`.
 * @param {Uint8Array} pixels shape (images, IMAGE_BYTES).
 * @returns {Promise<Record<string, number[]>>} all rows of every output but `image`, one after another.
 */
export async function answersOf(model, pixels) {
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
  const answers = {};
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * IMAGE_BYTES) {
    const rows = pixels.slice(first, first + BATCH_SIZE * IMAGE_BYTES);
    const input = new Tensor("uint8", rows, [rows.length / IMAGE_BYTES, IMAGE_BYTES]);
    const outputs = await session.run({ pixels: input });
    for (const name of session.outputNames.filter((output) => output !== "image")) {
      answers[name] ??= [];
      for (const value of outputs[name].data) answers[name].push(Number(value));
    }
  }
  await session.release();
  return answers;
}

/**
 * Class of each row: the largest logit, the first of equals.
 * @param {number[]} logits shape (rows, classes).
 * @returns {number[]}
 */
export function classesOf(logits) {
  return rowsOf(logits).map((row) => row.indexOf(Math.max(...row)));
}

/**
 * Largest probability of each row, in double precision.
 * @param {number[]} logits shape (rows, classes).
 * @returns {number[]}
 */
export function confidencesOf(logits) {
  return rowsOf(logits).map((row) => {
    const largest = Math.max(...row);
    return 1 / row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  });
}

/**
 * The lowest threshold, in hundredths, with which the cascade is as accurate on these images as the accurate model alone, but for LOSS.
 * @param {{ confidence: number, isGateRight: boolean, isAccurateRight: boolean }[]} images
 * @returns {number}
 */
export function chooseThreshold(images) {
  const wanted = shareOf(images, ({ isAccurateRight }) => isAccurateRight) - LOSS;
  for (let percent = 0; percent < 100; percent++) {
    const threshold = percent / 100;
    const isRight = ({ confidence, isGateRight, isAccurateRight }) =>
      confidence < threshold ? isAccurateRight : isGateRight;
    if (shareOf(images, isRight) >= wanted) return threshold;
  }
  return 1;
}

/**
 * What a cascade does with images.
 * @param {{ isEscalated: boolean, isGateRight: boolean, isAccurateRight: boolean }[]} images
 */
export function figuresOf(images) {
  const kept = images.filter(({ isEscalated }) => !isEscalated);
  const escalated = images.filter(({ isEscalated }) => isEscalated);
  const isGateRight = (image) => image.isGateRight;
  const isAccurateRight = (image) => image.isAccurateRight;
  return {
    escalatedShare: escalated.length / images.length,
    gate: {
      accuracyOfKept: shareOf(kept, isGateRight),
      accuracyOfEscalated: shareOf(escalated, isGateRight),
      accuracyAlone: shareOf(images, isGateRight),
    },
    accurate: {
      accuracyOfKept: shareOf(kept, isAccurateRight),
      accuracyOfEscalated: shareOf(escalated, isAccurateRight),
      accuracyAlone: shareOf(images, isAccurateRight),
    },
    accuracy: shareOf(images, (image) =>
      image.isEscalated ? image.isAccurateRight : image.isGateRight,
    ),
  };
}

/** Share of a list for which something holds; 0 of an empty one. */
export function shareOf(list, holds) {
  return list.length === 0 ? 0 : list.filter(holds).length / list.length;
}

function rowsOf(logits) {
  const width = CLASS_NAMES.length;
  return Array.from({ length: logits.length / width }, (_, row) =>
    logits.slice(row * width, (row + 1) * width),
  );
}
