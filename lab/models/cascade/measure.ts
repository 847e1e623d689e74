/** What a gate and the accurate model behind it answer, and what the threshold makes of it. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { outputOf, rowsOf, shareOf } from "../../answers.ts";
import { CLASS_NAMES, IMAGE_BYTES } from "../image-classification/dataset.ts";

/** Seed of the images the threshold is chosen on: nothing was trained or measured on them. */
export const CALIBRATION_SEED = 3;
export const CALIBRATION_COUNT = 4_000;

/** Largest part of the accurate model's accuracy that a cascade may lose on these images. */
export const LOSS = 0.001;

const BATCH_SIZE = 100;

/** Whether each of the two names an image rightly. */
interface Verdicts {
  readonly isGateRight: boolean;
  readonly isAccurateRight: boolean;
}

/** What the gate says of an image. */
interface Confidence extends Verdicts {
  readonly confidence: number;
}

/** What the gate does with an image. */
interface Escalation extends Verdicts {
  readonly isEscalated: boolean;
}

interface Accuracies {
  readonly accuracyOfKept: number;
  readonly accuracyOfEscalated: number;
  readonly accuracyAlone: number;
}

export interface Figures {
  readonly escalatedShare: number;
  readonly gate: Accuracies;
  readonly accurate: Accuracies;
  readonly accuracy: number;
}

/**
 * Answers of a model to images. @param model ONNX, with an input `pixels`.
 * @param pixels [images, IMAGE_BYTES].
 * @returns logits of all rows, one after another, and what else it says of them.
 */
export async function answersOf(
  model: Uint8Array,
  pixels: Uint8Array,
): Promise<{ logits: number[]; escalate?: number[] }> {
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
  const names = session.outputNames.filter((output) => output !== "image");
  const answers: { logits: number[] } & Record<string, number[]> = { logits: [] };
  for (let first = 0; first < pixels.length; first += BATCH_SIZE * IMAGE_BYTES) {
    const rows = pixels.slice(first, first + BATCH_SIZE * IMAGE_BYTES);
    const input = new Tensor("uint8", rows, [rows.length / IMAGE_BYTES, IMAGE_BYTES]);
    const outputs = await session.run({ pixels: input });
    for (const name of names) {
      const values = outputOf(outputs, name).data as ArrayLike<number | bigint>;
      answers[name] = [...(answers[name] ?? []), ...Array.from(values, Number)];
    }
  }
  await session.release();
  return answers;
}

/** Largest probability of each row, in double precision. @param logits [rows, classes]. */
export function confidencesOf(logits: readonly number[]): number[] {
  return rowsOf(logits, CLASS_NAMES.length).map((row) => {
    const largest = Math.max(...row);
    return 1 / row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  });
}

/**
 * The lowest threshold, in hundredths, with which the cascade is as accurate on these images as the
 * accurate model alone, but for LOSS.
 */
export function chooseThreshold(images: readonly Confidence[]): number {
  const wanted = shareOf(images, ({ isAccurateRight }) => isAccurateRight) - LOSS;
  for (let percent = 0; percent < 100; percent++) {
    const threshold = percent / 100;
    const isRight = ({ confidence, isGateRight, isAccurateRight }: Confidence) =>
      confidence < threshold ? isAccurateRight : isGateRight;
    if (shareOf(images, isRight) >= wanted) return threshold;
  }
  return 1;
}

/** What a cascade does with images. */
export function figuresOf(images: readonly Escalation[]): Figures {
  const kept = images.filter(({ isEscalated }) => !isEscalated);
  const escalated = images.filter(({ isEscalated }) => isEscalated);
  const accuracies = (isRight: (image: Escalation) => boolean): Accuracies => ({
    accuracyOfKept: shareOf(kept, isRight),
    accuracyOfEscalated: shareOf(escalated, isRight),
    accuracyAlone: shareOf(images, isRight),
  });
  return {
    escalatedShare: escalated.length / images.length,
    gate: accuracies((image) => image.isGateRight),
    accurate: accuracies((image) => image.isAccurateRight),
    accuracy: shareOf(images, (image) =>
      image.isEscalated ? image.isAccurateRight : image.isGateRight,
    ),
  };
}
